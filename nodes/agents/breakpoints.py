"""Breakpoints of compiled graphs (`interrupt_before`, `interrupt_after`): a human says whether the graph goes on."""

from typing import cast

from pydantic import JsonValue

from nodes.agents.job import Job
from nodes.runtime.subthread import Stand, SubThread
from state.approval import Approval
from state.errors import AgentFailed

GO_ON = "go on"
HELD = "held"
"""Under this the conversation of a parked agent keeps the checkpoint at which its graph was held."""


def held_before(job: Job, thread: SubThread, stand: Stand) -> Approval | None:
    """The question whether a graph that is found at a breakpoint may go on, as long as nobody has answered it.

    Found is one that parked there, or that was cut off in front of a step which has a breakpoint.

    Raises:
        AgentFailed: class `denied`, a human said no.
    """
    stops = thread.graph.interrupt_before_nodes
    is_in_front = stops == "*" or bool(set(stops) & set(stand.upcoming))
    if stand.has_ended or not (is_in_front or job.kept.get(HELD) == stand.checkpoint):
        return None
    question = _question(job, stand)
    said = job.floor.steering.decisions.get(question.id)
    if said and said.type == "reject":
        raise AgentFailed(f"{said.by} did not allow it to go on {said.message}".strip(), "denied")
    return None if said else question


def held_after(job: Job, thread: SubThread, stand: Stand) -> Approval | None:
    """The same for a graph that has run until it stopped."""
    graph = thread.graph
    is_held = bool(graph.interrupt_before_nodes or graph.interrupt_after_nodes) and not stand.has_ended
    return _question(job, stand) if is_held else None


def kept_place(stand: Stand) -> dict[str, JsonValue]:
    """What is kept of where it stands."""
    return {HELD: stand.checkpoint}


def _question(job: Job, stand: Stand) -> Approval:
    steps = ", ".join(stand.upcoming)
    return Approval(
        id=f"{job.asks}{stand.checkpoint}",
        task_id=job.brief.task.id,
        agent=job.spec.name,
        path=job.path,
        action=GO_ON,
        args={"next": cast(list[JsonValue], list(stand.upcoming))},
        choices=["approve", "reject"],
        reason=f"its graph has a breakpoint before it goes on with {steps}",
        description=f"**{job.spec.name}** stands at a breakpoint of its graph. Next: {steps}",
    )
