"""Delegating: who may, to whom, with what; and what comes back."""

from typing import Any

import pytest
from langchain_core.messages import ToolMessage

from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk, Refusal
from state.agent import AgentSpec, Brief
from state.errors import ToolRefused
from state.event import Event
from tests.runs import Turns, agent, opened, plan


def delegate(worker: str, task: str = "Look.", call: str = "c1", **more: str) -> dict[str, Any]:
    return {"name": "delegate_to_agent", "args": {"worker_agent": worker, "task": task, **more}, "id": call}


def lead(*workers: str, name: str = "lead", **fields: Any) -> AgentSpec:
    return AgentSpec(name=name, role="generalist", workers=list(workers), **fields)


def worker(name: str, **fields: Any) -> AgentSpec:
    return AgentSpec(name=name, role=f"{name}-role", specialty=f"{name}s things", **fields)


def told(model: ScriptedModel, of: str = "lead") -> list[str]:
    """What the tools told an agent before its last call."""
    calls = [call for call in model.calls if f"You are {of}," in str(call.messages[0].text)]
    return [str(message.text) for message in calls[-1].messages if isinstance(message, ToolMessage)]


def kinds(events: list[Event]) -> list[tuple[str, str | None]]:
    return [(event.kind, event.agent) for event in events if event.kind.startswith("delegation")]


def script(**by_agent: list[Any]) -> ScriptedModel:
    return ScriptedModel({f"You are {name}," if name else "": steps for name, steps in by_agent.items()}, usage=(10, 1))


async def test_a_worker_does_its_part_under_its_constraints_and_the_lead_goes_on() -> None:
    model = script(
        lead=[delegate("eve", "Count the ships.", constraints="Only red ones."), "There are 3 ships."],
        eve=["3 ships.\nConfidence: 0.9"],
    )
    async with opened(lead("eve"), worker("eve", tools=["calculate"]), model=model, max_iterations=0) as sup:
        run = await sup.start("How many?", plan=plan("a"))
        events = await sup.events(run.thread_id)

    assert (run.status, run.tasks[0].result) == ("complete", "There are 3 ships.")
    assert told(model) == ["3 ships."]
    asked = model.calls[1]
    assert "Count the ships." in str(asked.messages[1].text)
    assert "<constraints>\nOnly red ones.\n</constraints>" in str(asked.messages[1].text)
    assert asked.tools == ["calculate"]
    assert kinds(events) == [("delegation_started", "lead"), ("delegation_completed", "lead")]
    ended = events[[event.kind for event in events].index("delegation_completed")]
    assert ended.data == {
        "worker": "eve",
        "task": "Count the ships.",
        "depth": 1,
        "status": "done",
        "tokens": 11,
        "duration_s": 0.0,
        "result": "3 ships.",
    }
    [part] = run.delegations
    assert (part.task_id, part.agent, part.worker, part.status) == ("a", "lead", "eve", "done")
    assert (part.task, part.constraints, part.result) == ("Count the ships.", "Only red ones.", "3 ships.")
    assert (part.confidence, part.tokens) == (0.9, 11)
    assert (run.usage.calls, run.usage.total_tokens, run.tasks[0].tokens) == (3, 33, 33)


async def test_the_tool_names_the_roster_and_takes_no_other_name() -> None:
    model = script(lead=[delegate("zoe"), "Then alone."])
    seen: list[Any] = []
    bind = model.bind_tools

    def bind_tools(tools: Any, **more: Any) -> Any:
        seen.extend(tools)
        return bind(tools, **more)

    object.__setattr__(model, "bind_tools", bind_tools)
    async with opened(lead("eve", "bob"), worker("eve"), worker("bob"), worker("zoe"), model=model,
                      max_iterations=0) as sup:  # fmt: skip
        await sup.start("Q", plan=plan("a"))

    assert "- eve (eve-role): eves things" in seen[0].description
    schema = seen[0].tool_call_schema.model_json_schema()
    assert schema["properties"]["worker_agent"]["enum"] == ["eve", "bob"]
    assert "tool_call_id" not in schema["properties"]
    assert "worker_agent: Input should be 'eve' or 'bob'" in told(model)[0]


async def test_several_in_one_turn_run_in_parallel() -> None:
    at_work: list[str] = []

    async def meet(brief: Brief, desk: Desk) -> str:
        at_work.append(brief.task.description)
        while len(at_work) < 3:
            await desk.pause_point()
        return f"{brief.task.description} done"

    calls = [delegate("eve", task, call=task) for task in ("one", "two", "three")]
    model = script(lead=[calls, "All met."])
    async with opened(lead("eve"), agent(meet, "eve", "other"), model=model, max_iterations=0, max_parallel=3) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.tasks[0].result == "All met."
    assert told(model) == ["one done", "two done", "three done"]


@pytest.mark.parametrize(
    ("team", "to", "task", "why"),
    [
        ([lead("eve"), worker("eve"), worker("zoe")], "zoe", "x", "'zoe' is not among your workers; they are: eve"),
        ([lead("eve"), worker("eve")], "lead", "x", "lead is yourself"),
        ([lead("eve"), worker("eve")], "eve", "  ", "the task is empty"),
        ([lead("eve"), worker("eve")], "nobody", "x", "'nobody' is not among your workers"),
    ],
)
async def test_what_may_not_be_delegated_is_refused_with_a_reason(
    team: list[AgentSpec], to: str, task: str, why: str
) -> None:
    heard: list[str] = []

    async def ask(brief: Brief, desk: Desk) -> str:
        made = await desk.delegate(to, task)
        assert isinstance(made, Refusal)
        assert not made
        heard.append(str(made))
        return "alone"

    team[0] = team[0].model_copy(update={"run": ask})
    async with opened(*team) as sup:
        run = await sup.start("Q", plan=plan("a"))
        events = await sup.events(run.thread_id)

    assert run.tasks[0].result == "alone"
    assert why in heard[0]
    assert kinds(events) == []


@pytest.mark.parametrize(
    ("depth", "chain"), [(0, ["a"]), (1, ["a", "b"]), (2, ["a", "b", "a!"]), (3, ["a", "b", "a!"])]
)
async def test_mutual_supervisors_stop(depth: int, chain: list[str]) -> None:
    """At the depth, or where the chain would become a circle, whichever comes first."""
    asked: list[str] = []
    refusals: list[str] = []

    async def passes_on(brief: Brief, desk: Desk) -> str:
        me = "b" if brief.task.description == "to b" else "a"
        other = "a" if me == "b" else "b"
        asked.append(me)
        made = await desk.delegate(other, f"to {other}")
        if not made:
            refusals.append(str(made))
        return made or "the last one"

    team = [agent(passes_on, "a", workers=["b"]), agent(passes_on, "b", "other", workers=["a"])]
    async with opened(*team, max_delegation_depth=depth) as sup:
        run = await sup.start("Q", plan=plan("t"))

    assert run.tasks[0].result == "the last one"
    assert asked == [one for one in chain if not one.endswith("!")]
    expected = "a cycle never ends" if chain[-1].endswith("!") else f"too deep, the limit is {depth}"
    assert expected in refusals[0]


async def test_a_worker_gets_the_tool_only_where_depth_is_left() -> None:
    model = script(
        lead=[delegate("mid"), "Done."],
        mid=[delegate("low", call="c2"), "Mid."],
        low=["Low."],
    )
    team = [lead("mid"), worker("mid", workers=["low"]), worker("low", workers=["mid"])]
    async with opened(*team, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))
        events = await sup.events(run.thread_id)

    assert run.tasks[0].result == "Done."
    assert [call.tools for call in model.calls[:3]] == [["delegate_to_agent"], ["delegate_to_agent"], []]
    paths = [(event.path, event.data["depth"]) for event in events if event.kind == "delegation_started"]
    assert paths == [(["lead"], 1), (["lead", "mid"], 2)]
    assert (run.tasks[0].tokens, run.usage.total_tokens) == (55, 55)


@pytest.mark.parametrize(("budget", "done"), [({"max_agent_iterations": 10}, 10), ({"token_budget": 10_000}, 10)])
async def test_forty_delegations_on_a_budget_for_ten_are_ten(budget: dict[str, Any], done: int) -> None:
    results: list[str] = []

    async def many(brief: Brief, desk: Desk) -> str:
        results.extend([await desk.delegate("eve", f"part {number}") for number in range(40)])
        return f"{sum(map(bool, results))} parts"

    model = ScriptedModel([f"Part {n} is done." for n in range(40)], usage=(900, 100))
    async with opened(agent(many, "lead", workers=["eve"]), worker("eve"), model=model, max_iterations=0,
                      **budget) as sup:  # fmt: skip
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, run.tasks[0].result) == ("complete", f"{done} parts")
    assert len(model.calls) == done
    assert all(("max_agent_iterations" in text) or ("token_budget" in text) for text in results[done:])


async def test_where_delegating_is_forbidden_there_is_no_tool() -> None:
    model = script(lead=["Alone."])
    async with opened(lead("eve"), worker("eve"), model=model, max_iterations=0, delegation="forbidden") as sup:
        await sup.start("Q", plan=plan("a"))

    assert model.calls[0].tools == []


@pytest.mark.parametrize(
    ("answer", "reply"),
    [("approve", "Seen."), ("reject", "a person did not allow this; do not call it again, go on without it")],
)
async def test_each_delegation_may_need_a_human(answer: str, reply: str) -> None:
    model = script(lead=[[delegate("eve", call="x"), delegate("eve", "Look again.", call="y")], "Done."],
                   eve=["Seen.", "Seen."])  # fmt: skip
    async with opened(lead("eve"), worker("eve"), model=model, max_iterations=0, delegation="needs_approval",
                      oversight="on_the_loop") as sup:  # fmt: skip
        waiting = await sup.start("Q", plan=plan("a"))
        assert [(q.action, q.args["task"]) for q in waiting.approvals] == [
            ("delegate_to_agent", "Look."),
            ("delegate_to_agent", "Look again."),
        ]
        run = await sup.answer(waiting.thread_id, {q.id: answer for q in waiting.approvals})

    assert run.tasks[0].result == "Done."
    assert told(model) == [reply, reply]


async def test_a_function_parks_for_each_delegation_and_repeats_none() -> None:
    began: list[str] = []

    async def two(brief: Brief, desk: Desk) -> str:
        return f"{await desk.delegate('eve', 'one')}, {await desk.delegate('eve', 'two')}"

    async def work(brief: Brief, desk: Desk) -> str:
        began.append(brief.task.description)
        return f"{brief.task.description} done"

    team = [agent(two, "lead", workers=["eve"]), agent(work, "eve", "other")]
    async with opened(*team, delegation="needs_approval") as sup:
        run = await sup.start("Q", plan=plan("a"))
        for _ in range(2):
            assert run.status == "waiting"
            run = await sup.answer(run.thread_id, {run.approvals[0].id: "approve"})

    assert run.tasks[0].result == "one done, two done"
    assert began == ["one", "two"]


async def test_a_worker_that_asks_parks_the_lead_and_goes_on_with_the_answer() -> None:
    began: list[str] = []

    async def work(brief: Brief, desk: Desk) -> str:
        began.append("eve")
        return f"eve may: {(await desk.ask('launch', {'n': 1})).type}"

    model = script(lead=[[delegate("eve", call="x"), delegate("bob", call="y")], "Done."], bob=["Bob."])
    team = [lead("eve", "bob"), agent(work, "eve", "other"), worker("bob")]
    async with opened(*team, model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        [question] = waiting.approvals
        assert (question.action, question.args, question.path) == ("launch", {"n": 1}, ["lead", "eve"])
        run = await sup.answer(waiting.thread_id, {question.id: "approve"})
        events = await sup.events(run.thread_id)

    assert run.tasks[0].result == "Done."
    assert sorted(told(model)) == ["Bob.", "eve may: approve"]
    assert began == ["eve", "eve"]
    assert [kind for kind, _ in kinds(events)].count("delegation_started") == 2
    assert [kind for kind, _ in kinds(events)].count("delegation_completed") == 2


async def test_a_worker_that_fails_is_an_event_and_a_reply_and_not_the_end() -> None:
    async def work(brief: Brief, desk: Desk) -> str:
        raise KeyError("ships")

    model = script(lead=[delegate("eve"), "Without ships."])
    async with opened(lead("eve"), agent(work, "eve", "other"), model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))
        events = await sup.events(run.thread_id)

    assert run.tasks[0].result == "Without ships."
    assert "eve did not deliver" in told(model)[0]
    assert "KeyError: 'ships'" in told(model)[0]
    [ended] = [event for event in events if event.kind == "delegation_completed"]
    assert (ended.data["status"], ended.data["reason"]) == ("failed", "KeyError: 'ships'")


@pytest.mark.parametrize(
    ("to", "result"),
    [
        ("bob", "By bob: Count again."),
        ("zoe", "not delegated: 'zoe' is not among your workers; they are: eve, bob"),
        ("lead", "not delegated: lead is yourself; do it, or give it to one of: eve, bob"),
    ],
)
async def test_a_human_may_give_it_to_another_worker_and_to_nobody_else(to: str, result: str) -> None:
    async def passes(brief: Brief, desk: Desk) -> str:
        return str(await desk.delegate("eve", "Count."))

    def works(name: str) -> Any:
        async def work(brief: Brief, desk: Desk) -> str:
            return f"By {name}: {brief.task.description}"

        return work

    team = [agent(passes, "lead", workers=["eve", "bob"]), *(agent(works(n), n, "other") for n in ("eve", "bob"))]
    async with opened(*team, worker("zoe"), delegation="needs_approval") as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        edit: Any = {"type": "edit", "args": {"worker_agent": to, "task": "Count again."}}
        run = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: edit})

    assert run.tasks[0].result == result


async def test_a_worker_that_a_human_chose_goes_on_when_it_was_answered() -> None:
    async def passes(brief: Brief, desk: Desk) -> str:
        return str(await desk.delegate("eve", "Count."))

    async def asks(brief: Brief, desk: Desk) -> str:
        return f"Bob may: {(await desk.ask('count')).type}"

    team = [agent(passes, "lead", workers=["eve", "bob"]), agent(name="eve", role="other"), agent(asks, "bob", "other")]
    async with opened(*team, delegation="needs_approval") as sup:
        first = await sup.start("Q", plan=plan("a"))
        edit: Any = {"type": "edit", "args": {"worker_agent": "bob"}}
        second = await sup.answer(first.thread_id, {first.approvals[0].id: edit})
        assert [question.action for question in second.approvals] == ["count"]
        run = await sup.answer(first.thread_id, {second.approvals[0].id: "approve"})

    assert run.tasks[0].result == "Bob may: approve"


async def test_who_works_for_another_agent_gets_no_tool_to_hand_over() -> None:
    model = script(lead=[delegate("eve"), "Done."], eve=["Seen."])
    team = [lead("eve", handoffs=["bob"]), worker("eve", handoffs=["bob"]), worker("bob")]
    async with opened(*team, model=model, max_iterations=0) as sup:
        await sup.start("Q", plan=plan("a"))

    assert [call.tools for call in model.calls] == [
        ["delegate_to_agent", "transfer_to_agent"],
        [],
        ["delegate_to_agent", "transfer_to_agent"],
    ]


async def test_a_function_that_works_for_another_agent_cannot_hand_over_and_reads_why() -> None:
    async def work(brief: Brief, desk: Desk) -> str:
        try:
            desk.transfer("bob")
        except ToolRefused as error:
            return str(error)

    model = script(lead=[delegate("eve"), "Done."])
    team = [lead("eve"), agent(work, "eve", "other", handoffs=["bob"]), worker("bob")]
    async with opened(*team, model=model, max_iterations=0) as sup:
        await sup.start("Q", plan=plan("a"))

    assert told(model) == ["the task is not yours to hand over: lead waits for your result; finish it yourself"]


async def test_what_workers_delivered_is_in_the_report_of_a_run_whose_limit_stops_their_lead() -> None:
    async def breaks(brief: Brief, desk: Desk) -> str:
        raise KeyError("ships")

    calls = [delegate("eve", "one", call="x"), delegate("bob", "two", call="y"), delegate("eve", "three", call="z")]
    model = script(lead=[calls, "Never said."], eve=["3 ships.", "4 boats."])
    team = [lead("eve", "bob"), worker("eve"), agent(breaks, "bob", "other")]
    async with opened(*team, model=model, max_iterations=0, max_agent_iterations=3) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.status == "partial"
    assert "(max_agent_iterations) is reached" in str(run.error)
    said, _, why = str(run.tasks[0].result).partition("\n\n(The agent stopped early: ")
    assert sorted(said.split("\n\n")) == ["3 ships.", "4 boats."]  # who of the two asks the model first is open
    assert why.startswith("the run's limit of 3")
    assert "3 ships." in str(run.report)
    assert "4 boats." in str(run.report)
    assert "did not deliver" not in str(run.tasks[0].result)


async def test_an_event_tells_the_beginning_of_what_a_worker_answered_and_the_run_all_of_it() -> None:
    async def passes(brief: Brief, desk: Desk) -> str:
        return f"{len(await desk.delegate('eve', 'Write.'))} and {await desk.delegate('bob', 'Write.')}"

    async def writes(brief: Brief, desk: Desk) -> str:
        return "x" * 5000

    team = [agent(passes, "lead", workers=["eve", "bob"]), agent(writes, "eve", "other")]
    async with opened(*team, agent(Turns(TypeError("no pen")), "bob", "other")) as sup:
        run = await sup.start("Q", plan=plan("a"))
        told = [event.data for event in await sup.events(run.thread_id) if event.kind == "delegation_completed"]

    assert run.tasks[0].result == "5000 and TypeError: no pen"
    assert [(part.worker, part.status, part.error) for part in run.delegations] == [
        ("eve", "done", None),
        ("bob", "failed", "TypeError: no pen"),
    ]
    assert (told[0]["result"], run.delegations[0].result) == ("x" * 500, "x" * 5000)
    assert "result" not in told[1]


@pytest.mark.parametrize("how", ["tool", "desk"])
async def test_silence_never_allows_a_delegation_whatever_the_policy_makes_of_its_risk(how: str) -> None:
    async def passes(brief: Brief, desk: Desk) -> str:
        return str(await desk.delegate("eve", "Look."))

    model, eve, clock = script(lead=[delegate("eve"), "Done alone."]), Turns("Seen."), HeldClock()
    boss = lead("eve") if how == "tool" else agent(passes, "lead", workers=["eve"])
    policy: Any = {"delegation": "needs_approval", "on_timeout": {"default": "approve"}, "max_iterations": 0}
    async with opened(boss, agent(eve, "eve", "other"), model=model, clock=clock, **policy) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        clock.time = waiting.approvals[0].expires_at or 0.0
        run = await sup.resume(waiting.thread_id)

    assert (run.status, eve.briefs) == ("complete", [])
    assert "rejected by policy" in (told(model)[0] if how == "tool" else str(run.tasks[0].result))
