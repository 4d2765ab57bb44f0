"""Questions of a nested run go to the one around it, one step at a time: nothing is doubled, nothing stays inside."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nodes.runtime.approvals import questions_for
from nodes.runtime.audit import Seals, read_audit
from nodes.runtime.context import RunContext
from nodes.runtime.execution import ExecutionContext, open_execution
from nodes.runtime.journal import read_events
from nodes.runtime.nesting import NestedJournal, OuterRun
from nodes.runtime.signals import send
from state.approval import Approval, Decision
from state.signal import Decide
from tests.builders import make_outcome, make_record
from tests.nodes.runtime.executions import THREAD, make_floor


def outward(prefix: str) -> Callable[[Approval], Approval]:
    return lambda asked: asked.model_copy(update={"id": f"{prefix}{asked.id}"})


def below(execution: ExecutionContext, name: str) -> RunContext:
    """A run that is nested in that of `execution`, as an agent of this name that does task t1."""
    prefix = f"t1.0.{name}/"
    nesting = OuterRun(
        journal=execution.run.journal,
        approvals=execution.approvals,
        effects=execution.effects,
        budget=execution.budget,
        signals=execution.signals,
        concurrency=execution.concurrency,
        servers=execution.run.services.servers,
        folder=Path(name),
        task_id="t1",
        agent=name,
        path=(name,),
        question_prefix=prefix,
        effect_prefix=prefix,
        as_asked_outside=outward(prefix),
        depth_limit=1,
    )
    thread = f"{execution.run.thread_id}/{name}"
    return replace(execution.run, thread_id=thread, outer=nesting, journal=NestedJournal(nesting, thread))


def question(name: str = "q1") -> Approval:
    return Approval(id=name, task_id="t1", agent="ada", action="send", reason="it asks")


async def told(execution: ExecutionContext) -> list[tuple[str, str]]:
    """The events about questions, and the lines of the audit log, of the outermost run."""
    events = [(event.kind, str(event.data["id"])) for event in await read_events(execution.run.store, THREAD)]
    entries, _ = await read_audit(execution.run.store, THREAD, Seals())
    return [*events, *((entry.kind, entry.approval) for entry in entries)]


async def test_what_is_asked_again_by_a_process_that_does_not_know_is_asked_once() -> None:
    outer = make_floor()
    middle = open_execution(below(outer, "mid"))
    for _ in range(2):
        asked = await questions_for(below(middle, "low")).ask(question())
        assert (asked.id, asked.expires_at) == ("q1", outer.run.services.clock.now() + 1800)

    name = "t1.0.mid/t1.0.low/q1"
    assert await told(outer) == [("approval_requested", name), ("requested", name)]
    assert outer.approvals.known(name) is not None


async def test_what_was_asked_inside_is_known_there_to_the_next_process() -> None:
    outer = make_floor()
    await questions_for(below(outer, "mid")).ask(question())
    after = questions_for(below(outer, "mid"))
    await after.load()

    known = after.known("q1")
    assert known is not None
    assert known.expires_at == after.deadline("q1") == outer.run.services.clock.now() + 1800


async def test_a_decision_that_is_sent_to_a_nested_run_is_one_of_the_outermost() -> None:
    outer = make_floor()
    middle = open_execution(below(outer, "mid"))
    inner = open_execution(below(middle, "low"))
    parked = make_outcome(status="parked").model_copy(update={"approvals": [question()]})
    inner.records["t1"] = make_record("t1", "parked", outcome=parked)
    await inner.approvals.ask(question())
    said = Decide(approval="q1", decision=Decision(type="approve", by="ana"))
    await send(inner.run.store, inner.run.thread_id, said, inner.run.services.clock)
    await inner.listener.look()

    name = "t1.0.mid/t1.0.low/q1"
    decisions = [execution.signals.decisions for execution in (outer, middle, inner)]
    assert [list(known) for known in decisions] == [[name], ["t1.0.low/q1"], ["q1"]]
    assert await told(outer) == [
        (kind, name) for kind in ("approval_requested", "approval_answered", "requested", "answered")
    ]
