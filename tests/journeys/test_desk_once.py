"""What a function does to the outside world by itself is done once, asked about where a tool would be, and undone."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, JsonValue

from graph.supervisor import Supervisor
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief, Limits
from state.errors import BadInput, ToolRefused
from state.run import Run
from state.side_effect import Effect
from state.signal import Cancel, Pause
from tests.journeys.doom import THREAD
from tests.journeys.steered import happened
from tests.runs import agent, opened, plan

Acting = Callable[[Desk], Any]
LEFT = "- **Left for a human:**"


class Outside:
    """The outside world: what was published there and taken back, in order; `fails` are the next errors it raises."""

    def __init__(self, *fails: Exception) -> None:
        self.log: list[str] = []
        self.fails = list(fails)

    async def publish(self, name: str, count: int = 1) -> str:
        if self.fails:
            raise self.fails.pop(0)
        self.log.append(f"published {count} {name}")
        return f"{name} is out"

    def take_back(self) -> BaseTool:
        @tool
        async def take_back(name: str, result: str) -> str:
            """Take it back."""
            self.log.append(f"took back {name}: {result}")
            return f"{name} is back"

        return take_back


def does(act: Acting, **fields: Any) -> AgentSpec:
    """A function agent that does one thing, and says what is on record of it."""

    async def work(brief: Brief, desk: Desk) -> JsonValue:
        made = await act(desk)
        return {"status": made.status, "reply": made.reply} if isinstance(made, Effect) else made

    return agent(work, **fields)


def publishes(world: Outside, **how: Any) -> AgentSpec:
    return does(lambda desk: desk.once("publish", world.publish, {"name": "a.md"}, **how), tools=[world.take_back()])


async def started(sup: Supervisor) -> Run:
    return await sup.start("Q", thread_id=THREAD, plan=plan("a"))


async def answered(sup: Supervisor, run: Run, answer: JsonValue) -> Run:
    return await sup.answer(THREAD, {run.approvals[0].id: answer}, by="ana")


@pytest.mark.parametrize(
    ("answer", "log", "result"),
    [
        (True, ["published 1 a.md"], {"status": "done", "reply": "a.md is out"}),
        (
            {"type": "edit", "args": {"name": "b.md", "count": "3"}},
            ["published 3 b.md"],
            {"status": "done", "reply": "b.md is out"},
        ),
        (
            {"type": "reject", "message": "too early"},
            [],
            {
                "status": "refused",
                "reply": "ana did not allow this: too early",
            },
        ),
    ],
    ids=["approve", "edit", "reject"],
)
async def test_a_sensitive_action_of_a_function_waits_for_a_human_in_the_loop(
    answer: JsonValue, log: list[str], result: dict[str, str]
) -> None:
    world = Outside()
    async with opened(publishes(world)) as sup:
        waiting = await started(sup)
        [asked] = waiting.approvals
        assert (waiting.status, world.log) == ("waiting", [])
        assert (asked.action, asked.args, asked.risk) == ("publish", {"name": "a.md"}, "high")
        assert asked.reason == "sensitive operation requires approval: publish"
        run = await answered(sup, waiting, answer)

    assert (run.status, world.log, run.tasks[0].result) == ("complete", log, result)


async def test_a_no_ends_the_task_where_the_policy_says_so() -> None:
    world = Outside()
    async with opened(publishes(world), on_reject="fail") as sup:
        run = await answered(sup, await started(sup), "no: too early")

    assert (run.status, run.tasks[0].error, world.log) == ("failed", "ana did not allow publish: too early", [])


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"title": "b.md"}, "'title' was unexpected"),
        ({"name": "b.md", "colour": "red"}, "'colour' was unexpected"),
        ({"name": 3}, "name: 3 is not of type 'string'"),
    ],
)
async def test_an_edit_that_the_function_cannot_be_called_with_leaves_the_question_open(
    args: dict[str, JsonValue], problem: str
) -> None:
    world = Outside()
    async with opened(publishes(world)) as sup:
        waiting = await started(sup)
        with pytest.raises(BadInput, match=problem):
            await answered(sup, waiting, {"type": "edit", "args": args})
        assert (await sup.view(THREAD)).approvals == waiting.approvals

    assert world.log == []


class Size(BaseModel):
    """Of a parcel."""

    width: int


async def loose(to: int, when: "no such name", one: Outside, more: Any = 1) -> JsonValue:  # type: ignore[valid-type]  # noqa: F722
    return [to, when, str(one), more]


async def test_an_annotation_that_says_nothing_or_the_wrong_thing_keeps_no_edit_from_being_used() -> None:
    given: dict[str, JsonValue] = {"to": "bob", "when": "soon", "one": "this"}
    async with opened(does(lambda desk: desk.once("send", loose, given))) as sup:
        waiting = await started(sup)
        run = await answered(sup, waiting, {"type": "edit", "args": {"to": "eve", "more": "x"}})

    assert run.tasks[0].result == {"status": "done", "reply": ["eve", "soon", "this", "x"]}


async def pack(to: str, n: int = 1, tags: list[str] | None = None, size: Size | None = None) -> JsonValue:
    return {"to": to, "n": n, "tags": tags, "size": size}  # type: ignore[dict-item]


PACKED: dict[str, JsonValue] = {"to": "bob", "n": 1, "tags": None, "size": None}


@pytest.mark.parametrize(
    ("edit", "packed", "problem"),
    [
        ({"n": "3"}, {"n": 3}, ""),
        ({"tags": "a, b", "n": 2}, {"n": 2, "tags": ["a", "b"]}, ""),
        ({"size": '{"width": 4}'}, {"size": {"width": 4}}, ""),
        ({"size": {"width": "4"}}, {"size": {"width": 4}}, ""),
        ({"n": "abc"}, {}, "n: 'abc' is not of type 'integer'"),
        ({"n": "3.7"}, {}, "n: '3.7' is not of type 'integer'"),
        ({"n": None}, {}, "n: None is not of type 'integer'"),
        ({"tags": [1]}, {}, "tags: "),
        ({"size": {"height": 4}}, {}, "size: "),
    ],
)
async def test_an_edit_has_to_fit_what_the_functions_parameters_say_that_were_not_given(
    edit: dict[str, JsonValue], packed: dict[str, JsonValue], problem: str
) -> None:
    async with opened(does(lambda desk: desk.once("send", pack, {"to": "bob"}))) as sup:
        waiting = await started(sup)
        if problem:
            with pytest.raises(BadInput, match=problem):
                await answered(sup, waiting, {"type": "edit", "args": edit})
            return
        run = await answered(sup, waiting, {"type": "edit", "args": edit})

    assert run.tasks[0].result == {"status": "done", "reply": {**PACKED, **packed}}


@pytest.mark.parametrize(
    ("oversight", "action", "risk", "asks"),
    [
        ("in_command", "count", None, True),
        ("in_the_loop", "count", None, False),
        ("in_the_loop", "publish", "low", True),
        ("on_the_loop", "publish", None, False),
        ("in_the_loop", "count", "medium", False),
        ("in_the_loop", "count", "high", True),
        *((mode, "count", "critical", True) for mode in ("in_command", "in_the_loop", "on_the_loop")),
    ],
)
async def test_who_is_asked_is_for_the_mode_the_action_and_the_risk_to_say(
    oversight: str, action: str, risk: Any, asks: bool
) -> None:
    done: list[str] = []
    worker = does(lambda desk: desk.once(action, lambda: done.append("done"), risk=risk))
    async with opened(worker, oversight=oversight) as sup:
        run = await started(sup)
        while run.approvals and run.approvals[0].action != action:  # in command, the plan and the task wait, too
            run = await answered(sup, run, True)
        assert ([question.action for question in run.approvals], done) == (([action], []) if asks else ([], ["done"]))
        if asks:
            await answered(sup, run, True)

    assert done == ["done"]


async def test_what_is_done_without_asking_is_on_record_where_it_would_be_asked_about_otherwise() -> None:
    world = Outside()
    async with opened(publishes(world), oversight="on_the_loop") as sup:
        run = await started(sup)
        entries, broken = await sup.audit(THREAD)

    assert (run.status, world.log, broken) == ("complete", ["published 1 a.md"], "")
    assert [(entry.kind, entry.action, entry.args) for entry in entries] == [("noted", "publish", {"name": "a.md"})]


async def test_what_failed_is_done_again_by_the_next_try_and_what_was_done_is_not() -> None:
    world, log = Outside(), []

    async def both(desk: Desk) -> Effect:
        await desk.once("announce", lambda: log.append("announced"))
        return await desk.once("publish", world.publish, {"name": "a.md"})

    world.fails = [ConnectionError("the line dropped")]
    async with opened(does(both)) as sup:
        run = await answered(sup, await started(sup), True)  # once: trying again is for the policy to say

    assert (run.status, run.tasks[0].attempts) == ("complete", 2)
    assert (log, world.log) == (["announced"], ["published 1 a.md"])


async def test_what_failed_and_was_done_again_at_once_counts_once_in_every_later_try() -> None:
    world = Outside(ConnectionError("the line dropped"))

    async def stubborn(desk: Desk) -> dict[str, Any]:
        for _ in range(3):
            try:
                await desk.once("upload", world.publish, {"name": "a.md"})
                break
            except ConnectionError:
                continue
        return {"result": "Perhaps.", "confidence": 0.1}

    async with opened(does(stubborn)) as sup:
        waiting = await started(sup)
        assert [question.action for question in waiting.approvals] == ["accept result"]
        again = await answered(sup, waiting, "no: do it again")
        run = await answered(sup, again, True)

    assert (run.status, world.log) == ("complete", ["published 1 a.md"])


async def test_the_same_done_twice_in_one_try_is_done_twice() -> None:
    world = Outside()

    async def twice(desk: Desk) -> list[str]:
        made = [await desk.once("upload", world.publish, {"name": "a.md"}) for _ in range(2)]
        return [effect.id for effect in made]

    async with opened(does(twice)) as sup:
        run = await started(sup)

    assert world.log == ["published 1 a.md"] * 2
    assert len(set(run.tasks[0].result)) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("do", "reply"),
    [
        (lambda: {"n": [1, None]}, {"n": [1, None]}),
        (lambda: None, None),
        (lambda: (1, 2), [1, 2]),
        (lambda: Path("x"), "x"),
        (lambda: asyncio.sleep(0, "slept"), "slept"),
        (int, 0),
    ],
    ids=["json", "nothing", "a tuple", "an object", "a coroutine", "made in C"],
)
async def test_whatever_the_function_returns_is_kept_as_plain_json(do: Any, reply: JsonValue) -> None:
    async with opened(does(lambda desk: desk.once("upload", do))) as sup:
        run = await started(sup)

    assert run.tasks[0].result == {"status": "done", "reply": reply}


async def test_what_was_cut_off_by_the_time_limit_is_asked_about() -> None:
    begun: list[str] = []

    async def hangs() -> str:
        begun.append("begun")
        if len(begun) == 1:
            await asyncio.Event().wait()
        return "there"

    worker = does(lambda desk: desk.once("upload", hangs), limits=Limits(timeout_s=0.6))
    async with opened(worker) as sup:
        waiting = await started(sup)
        [asked] = waiting.approvals
        assert (asked.reason, asked.risk) == ("it may have happened: the work broke off while it was done", "high")
        run = await answered(sup, waiting, True)

    assert (begun, run.tasks[0].result) == (["begun"] * 2, {"status": "done", "reply": "there"})


async def test_what_asks_or_refuses_before_it_does_anything_is_not_in_doubt() -> None:
    world = Outside(ToolRefused("not on Sundays"))

    async def act(desk: Desk) -> Effect:
        async def ask_and_publish(name: str) -> str:
            await desk.ask("really")
            return await world.publish(name)

        return await desk.once("upload", ask_and_publish, {"name": "a.md"}, undo="take_back")

    async with opened(does(act, tools=[world.take_back()])) as sup:
        waiting = await started(sup)
        assert [question.action for question in waiting.approvals] == ["really"]
        run = await answered(sup, waiting, True)
        assert (run.status, run.tasks[0].error) == ("failed", "not on Sundays")
        run = await sup.start("Q", thread_id="again", plan=plan("a"))
        run = await sup.answer("again", {run.approvals[0].id: True})

    assert (run.status, world.log) == ("complete", ["published 1 a.md"])


async def test_nothing_is_begun_while_the_run_is_paused() -> None:
    world = Outside()

    async def act(desk: Desk) -> Effect:
        if not pauses:
            pauses.append(await sup.signal(THREAD, Pause()))
            await happened(sup, "control_changed")
        return await desk.once("upload", world.publish, {"name": "a.md"})

    pauses: list[Run] = []
    async with opened(does(act)) as sup:
        paused = await started(sup)
        assert (paused.status, world.log) == ("paused", [])
        run = await sup.resume(THREAD)

    assert (run.status, world.log) == ("complete", ["published 1 a.md"])


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (lambda desk: desk.once("publish", print, risk="severe"), "there is no risk 'severe'; give one of low, medium"),
        (lambda desk: desk.once("publish", print, {"file": Path("x")}), "the arguments are not plain JSON: file: "),
        (lambda desk: desk.once("publish", lambda name: name), "missing a required argument: 'name'"),
        (lambda desk: desk.once("publish", lambda: 1, {"name": "a"}), "got an unexpected keyword argument 'name'"),
    ],
    ids=["risk", "arguments", "too few", "too many"],
)
async def test_a_mistake_in_the_call_fails_the_task_before_anybody_is_asked(act: Acting, why: str) -> None:
    async with opened(does(act)) as sup:
        run = await started(sup)

    assert (run.status, run.tasks[0].attempts) == ("failed", 1)
    assert why in (run.tasks[0].error or "")


async def test_what_a_delegated_function_does_is_asked_about_and_done_once() -> None:
    world = Outside()
    worker = publishes(world).model_copy(update={"name": "pub", "role": "publisher"})

    async def lead(brief: Brief, desk: Desk) -> str:
        return await desk.delegate("pub", "Publish it.")

    async with opened(agent(lead, workers=["pub"]), worker) as sup:
        waiting = await started(sup)
        assert [question.path for question in waiting.approvals] == [["ada", "pub"]]
        run = await answered(sup, waiting, True)

    assert (run.status, world.log) == ("complete", ["published 1 a.md"])


async def rolled_back(sup: Supervisor) -> str:
    """What the report says of a run that was cancelled after everything was done."""
    run = await started(sup)
    while run.status == "waiting" and run.approvals[0].action != "wait":
        run = await answered(sup, run, True)
    assert run.status == "waiting"
    run = await sup.signal(THREAD, Cancel(rollback=True, by="ana"))
    return (run.report or "").split("## Rolled back\n\n")[1].split("\n\n##")[0]


@pytest.mark.parametrize(
    ("undo", "told", "taken"),
    [
        ("take_back", "- `publish` (name: a.md) was undone: a.md is back", ["took back a.md: a.md is out"]),
        ("", f"{LEFT} `publish` (name: a.md) has no undo", []),
        ("nowhere", f"{LEFT} `publish` (name: a.md) has no undo: there is no tool 'nowhere'", []),
    ],
    ids=["by a tool", "no undo", "no such tool"],
)
async def test_a_rollback_undoes_what_a_function_did_with_the_tool_that_it_names(
    undo: str, told: str, taken: list[str]
) -> None:
    world = Outside()

    async def act(desk: Desk) -> str:
        await desk.once("publish", world.publish, {"name": "a.md"}, undo=undo)
        return (await desk.ask("wait")).type

    async with opened(does(act, tools=[world.take_back()])) as sup:
        report = await rolled_back(sup)

    assert (report, world.log) == (told, ["published 1 a.md", *taken])


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            ConnectionError("the line dropped"),
            f"{LEFT} `upload` (name: a.md) may or may not have happened: ConnectionError: the line dropped",
        ),
        (ToolRefused("not on Sundays"), "Nothing had been done to the outside world."),
    ],
    ids=["failed", "refused"],
)
async def test_a_rollback_leaves_what_failed_to_a_human(error: Exception, told: str) -> None:
    world = Outside(*[error] * 9)

    async def act(desk: Desk) -> str:
        with suppress(ConnectionError, ToolRefused):
            await desk.once("upload", world.publish, {"name": "a.md"}, undo="take_back")
        return (await desk.ask("wait")).type

    async with opened(does(act, tools=[world.take_back()])) as sup:
        report = await rolled_back(sup)

    assert report == told
