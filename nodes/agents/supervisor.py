"""A Baton supervisor as an agent of another one.

It has its own scope: plan, mail and recruits of its own, on a thread below the outer one. What people see and decide is
the outer one's (`nodes.runtime.nesting`): journal, questions, side effects, budget, depth, control and room. The outer
lease covers it: nobody else can start its thread, because only the outer run knows it.
"""

from typing import Any

from nodes.agents.graph import onwards
from nodes.agents.interrupts import as_asked_outside, questions_of
from nodes.agents.invocation import Invocation
from nodes.agents.results import outcome_of
from nodes.policy.report import joined, sinks
from nodes.runtime.calling import Parked
from nodes.runtime.context import nested_folder
from nodes.runtime.durable import GraphPosition, GraphThread, open_graph_thread
from nodes.runtime.nesting import OuterRun
from state.errors import AgentFailed
from state.record import Artifact, Doubt, Outcome, TaskRecord, Usage
from state.run import Phase
from state.text import as_text

LONGEST_INPUT = 20_000
"""Characters of each input that go into the inner request."""


async def run_nested(invocation: Invocation) -> Outcome:
    """One try of a nested supervisor.

    Raises:
        Parked: some of its agents wait for a human, or the outer run is paused.
        AgentFailed: it failed, or is nested deeper than the policy of a supervisor around it allows.
    """
    limit = invocation.execution.run.depth_limit
    left = limit - len(invocation.chain)
    if left <= 0:
        deep = f"the limit of {limit} (max_delegation_depth, counted through nesting) is reached"
        raise AgentFailed(f"supervisor {invocation.spec.name} is nested too deep: {deep}", "limit")
    graph = invocation.spec.run.copy(update={"store": invocation.execution.run.store})
    thread = open_graph_thread(invocation.execution, graph, invocation.thread, context=_nesting(invocation, left - 1))
    invocation.execution.concurrency.release()  # its agents take the room
    try:
        position = await _to_its_end(invocation, thread)
    finally:
        await invocation.execution.concurrency.acquire()
    return _outcome(invocation, position)


def _nesting(invocation: Invocation, depth_limit: int) -> OuterRun:
    execution = invocation.execution
    return OuterRun(
        journal=execution.run.journal,
        approvals=execution.approvals,
        effects=execution.effects,
        budget=execution.budget,
        signals=execution.signals,
        concurrency=execution.concurrency,
        servers=execution.run.services.servers,
        folder=nested_folder(execution.run.folder, invocation.charged_task),
        task_id=invocation.charged_task,
        agent=invocation.spec.name,
        path=tuple(invocation.path),
        question_prefix=invocation.question_prefix,
        effect_prefix=invocation.effect_prefix,
        as_asked_outside=lambda question: as_asked_outside(question, invocation),
        depth_limit=depth_limit,
    )


async def leave_board(invocation: Invocation, outcome: Outcome) -> None:
    """Take a nested supervisor off the board whose try is over; where it goes on in another one, it shows itself."""
    if outcome.status != "parked":
        await invocation.execution.run.journal.wipe(f"{invocation.charged_task}/{invocation.question_prefix}")


async def _to_its_end(invocation: Invocation, thread: GraphThread) -> GraphPosition:
    """Run it until nothing inside can go on: what was answered while it came to rest is taken up at once."""
    while True:
        try:
            return await onwards(invocation, thread, _given(invocation))
        except Parked:
            if invocation.execution.signals.is_stopping or not await _is_answered(invocation, thread):
                raise


async def _is_answered(invocation: Invocation, thread: GraphThread) -> bool:
    position = await thread.position()
    asked = questions_of(position.questions, invocation) if position else []
    return bool(asked) and all(question.is_answered(invocation.execution.signals.decisions) for question in asked)


def _given(invocation: Invocation) -> dict[str, Any]:
    """The inner request: the task, what it builds on, what has to be respected; and the same sources."""
    brief = invocation.brief
    parts = [brief.task.description]
    parts += [f"Result of {task_id}:\n{as_text(result)[:LONGEST_INPUT]}" for task_id, result in brief.inputs.items()]
    parts += [f"Respect: {brief.constraints}"] if brief.constraints else []
    parts += [f"The last version was sent back: {brief.feedback}"] if brief.feedback else []
    return {"query": "\n\n".join(parts), "sources": invocation.execution.run.paths}


def _outcome(invocation: Invocation, position: GraphPosition) -> Outcome:
    """What the inner run delivered; what it used is on the outer ledger already."""
    values = position.values
    used = Usage.model_validate(values.get("usage") or {})
    if values.get("phase") not in (Phase.complete, Phase.partial) or values.get("at_limit"):
        kind = "limit" if invocation.execution.budget.exhausted else "permanent"
        raise AgentFailed(f"{values.get('error') or 'it was ' + str(values.get('phase'))}", kind)  # type: ignore[arg-type]
    records = [TaskRecord.model_validate(task) for task in values.get("tasks") or []]
    made = outcome_of(joined(sinks(records)) or values.get("report"), invocation.spec.name, invocation.brief)
    known = [
        record.outcome.confidence for record in records if record.outcome and record.outcome.confidence is not None
    ]
    artifacts = [Artifact.model_validate(one) for one in values.get("artifacts") or []]
    changes = {
        "usage": used,
        "artifacts": artifacts,
        "confidence": min(known) if known else None,
        "doubts": [_as_doubted_outside(Doubt.model_validate(one), invocation) for one in values.get("doubts") or []],
    }
    return made.model_copy(update=changes)


def _as_doubted_outside(doubt: Doubt, invocation: Invocation) -> Doubt:
    task_id = invocation.brief.task.id
    return doubt.model_copy(update={"task_id": task_id, "said": f"in {task_id}: {doubt.said}"})
