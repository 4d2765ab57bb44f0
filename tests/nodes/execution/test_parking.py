"""Who needs a human parks; the rest goes on; with the answer the work is taken up where it stands."""

from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from pydantic import JsonValue

from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.errors import BadInput
from state.run import Run
from tests.runs import agent, opened, plan, statuses

SEND = {"name": "send_mail", "args": {"to": "bob"}, "id": "c1"}


def sender(sent: list[str]) -> BaseTool:
    @tool
    async def send_mail(to: str) -> str:
        """Send it."""
        sent.append(to)
        return f"sent to {to}"

    return send_mail


def thinker(*tools: str | BaseTool) -> AgentSpec:
    return AgentSpec(name="ada", role="generalist", tools=list(tools))


def told(model: ScriptedModel) -> list[str]:
    return [str(message.text) for message in model.calls[-1].messages if isinstance(message, ToolMessage)]


async def answered(sup: Supervisor, run: Run, answer: JsonValue) -> Run:
    return await sup.answer(run.thread_id, {run.approvals[0].id: answer}, by="ana")


@pytest.mark.parametrize(
    ("answer", "sent", "reply"),
    [
        ({"type": "approve"}, ["bob"], "sent to bob"),
        ({"type": "edit", "args": {"to": "eve"}}, ["eve"], "sent to eve"),
        (
            {"type": "reject", "message": "too early"},
            [],
            "ana did not allow this: too early; do not call it again, go on without it",
        ),
    ],
)
async def test_a_sensitive_tool_waits_for_a_human_and_then_obeys(
    answer: JsonValue, sent: list[str], reply: str
) -> None:
    calls: list[str] = []
    model = ScriptedModel([SEND, "All done."])
    async with opened(thinker(sender(calls)), model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        assert (waiting.status, statuses(waiting), calls) == ("waiting", {"a": "parked"}, [])
        question = waiting.approvals[0]
        assert (question.action, question.args, question.risk) == ("send_mail", {"to": "bob"}, "high")
        assert question.reason == "sensitive operation requires approval: send_mail"
        run = await answered(sup, waiting, answer)

    assert (run.status, run.tasks[0].result, run.approvals) == ("complete", "All done.", [])
    assert calls == sent
    assert told(model) == [reply]


async def test_what_was_used_before_the_question_still_counts_after_the_answer() -> None:
    model = ScriptedModel([SEND, "All done."], usage=(10, 1))
    async with opened(thinker(sender([])), model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        run = await answered(sup, waiting, True)

    assert waiting.usage.total_tokens == 11
    assert (run.usage.calls, run.usage.total_tokens, run.tasks[0].tokens) == (2, 22, 22)


async def test_tools_that_need_nobody_run_before_it_parks_and_not_again() -> None:
    looked: list[str] = []

    @tool
    async def look(at: str) -> str:
        """Look."""
        looked.append(at)
        return "seen"

    model = ScriptedModel([[{"name": "look", "args": {"at": "x"}, "id": "c0"}, SEND], "All done."])
    async with opened(thinker(look, sender([])), model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        assert looked == ["x"]
        await answered(sup, waiting, True)

    assert looked == ["x"]
    assert sorted(told(model)) == ["seen", "sent to bob"]


async def test_on_the_loop_nobody_is_asked() -> None:
    calls: list[str] = []
    model = ScriptedModel([SEND, "All done."])
    async with opened(thinker(sender(calls)), model=model, max_iterations=0, oversight="on_the_loop") as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, calls) == ("complete", ["bob"])


@pytest.mark.parametrize(
    ("metadata", "asks"),
    [({"cost": 1.5}, True), ({"cost": 0.5}, False), ({"risk": "critical"}, True), ({"sensitive": True}, True)],
)
async def test_a_tools_own_marks_decide_too(metadata: dict[str, Any], asks: bool) -> None:
    @tool
    async def order(what: str) -> str:
        """Order it."""
        return "ordered"

    order.metadata = metadata
    model = ScriptedModel([{"name": "order", "args": {"what": "x"}}, "Done."])
    async with opened(thinker(order), model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.status == ("waiting" if asks else "complete")


class Asking:
    """A function agent that asks before it goes on. `asked` counts how often it got past nothing at all."""

    def __init__(self) -> None:
        self.began = 0

    async def __call__(self, brief: Brief, desk: Any) -> str:
        self.began += 1
        decision = await desk.ask("launch", {"n": 1}, risk="critical")
        again = await desk.ask("land")
        return f"{decision.type} by {decision.by}, {again.type}: {again.message}"


async def test_a_function_that_asks_runs_again_with_each_answer() -> None:
    work = Asking()
    async with opened(agent(work)) as sup:
        first = await sup.start("Q", plan=plan("a"))
        assert [(q.action, q.args, q.risk) for q in first.approvals] == [("launch", {"n": 1}, "critical")]
        second = await answered(sup, first, True)
        assert [q.action for q in second.approvals] == ["land"]
        run = await answered(sup, second, "no: not there")

    assert (run.status, run.tasks[0].result) == ("complete", "approve by ana, reject: not there")
    assert work.began == 3


async def test_while_one_waits_the_others_go_on_and_what_depends_on_it_waits() -> None:
    did: list[str] = []

    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id == "ask":
            await desk.ask("launch")
        did.append(brief.task.id)
        return brief.task.id

    async with opened(agent(work)) as sup:
        waiting = await sup.start("Q", plan=plan("ask", "b", "c <- b", "after <- ask c"))
        assert statuses(waiting) == {"ask": "parked", "b": "done", "c": "done", "after": "pending"}
        run = await answered(sup, waiting, True)

    assert run.status == "complete"
    assert did == ["b", "c", "ask", "after"]


async def test_some_answers_are_enough_to_go_on_with_what_they_free() -> None:
    async def work(brief: Brief, desk: Any) -> str:
        return str((await desk.ask(f"do {brief.task.id}")).type)

    async with opened(agent(work)) as sup:
        waiting = await sup.start("Q", plan=plan("a", "b"))
        ids = {question.task_id: question.id for question in waiting.approvals}
        half = await sup.answer(waiting.thread_id, {ids["b"]: True})
        assert (half.status, statuses(half)) == ("waiting", {"a": "parked", "b": "done"})
        assert [question.id for question in half.approvals] == [ids["a"]]
        run = await sup.answer(waiting.thread_id, {ids["a"]: False})

    assert [task.result for task in run.tasks] == ["reject", "approve"]


async def test_an_answer_that_cannot_be_read_leaves_the_question_open() -> None:
    async with opened(agent(Asking())) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        with pytest.raises(BadInput, match="'perhaps' is not an answer"):
            await answered(sup, waiting, "perhaps")
        with pytest.raises(BadInput, match="no open question is called 'zoe'"):
            await sup.answer(waiting.thread_id, {"zoe": True})
        after = await sup.view(waiting.thread_id)

    assert after.approvals == waiting.approvals
