"""Deadlines of questions on runs that nobody executes: applied by whoever opens the thread next, exactly once.

Looking only decides; it starts no work, since who looks may not have the run's team. `resume` goes on from there. What
a human has paused or holds stays where it is; the decision counts when it is let go on.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import cast

from graph import resting
from graph.runs import Runs
from nodes.approve import open_questions
from nodes.policy.deadlines import is_expired
from nodes.runtime.rows import read_all, space
from nodes.runtime.signals import waiting
from state.approval import Approval
from state.errors import ThreadBusy
from state.run import Run
from state.supervisor import SupervisorState

_STILL = ("waiting", "paused", "handed_over")
ANSWERED = "its questions are answered; it goes on with"


async def view(runs: Runs, thread_id: str) -> Run:
    """What is true of a run now, deadlines included.

    Raises:
        ThreadUnknown: no such thread.
    """
    run = await _dated(runs, await runs.view(thread_id))
    if run.status in _STILL and any(is_expired(q, runs.services.clock.now()) for q in run.approvals):
        with suppress(ThreadBusy):  # whoever runs it by now does it himself
            await resting.expire(runs, thread_id)
        run = await _dated(runs, await runs.view(thread_id))
    if run.status == "waiting" and not run.approvals and await can_go_on(runs, run):
        return run.model_copy(update={"status": "paused", "error": ANSWERED})
    return run


async def can_go_on(runs: Runs, run: Run) -> bool:
    """Whether a run waits where a question was decided since, or somebody has told it something."""
    if run.error == ANSWERED or run.status != "waiting":
        return run.error == ANSWERED
    if await waiting(runs.database.store, run.thread_id):
        return True
    state = await _state(runs, run.thread_id)
    decided = await runs.decisions(run.thread_id)
    return bool(state.get("tasks")) and any(question.id in decided for question in open_questions(state))


async def is_due(runs: Runs, run: Run) -> bool:
    """Whether nobody runs it and it could go on; one that somebody paused stays paused."""
    return (run.status == "paused" and run.error is not None) or await can_go_on(runs, run)


async def _state(runs: Runs, thread_id: str) -> SupervisorState:
    return cast(SupervisorState, (await runs.snapshot(thread_id)).values)


async def _dated(runs: Runs, run: Run) -> Run:
    """The run with the deadlines that its questions have now: one may have been passed on to somebody else."""
    if not run.approvals:
        return run
    known = await _known(runs, run.thread_id)
    return run.model_copy(update={"approvals": [known.get(question.id, question) for question in run.approvals]})


async def _known(runs: Runs, thread_id: str) -> Mapping[str, Approval]:
    rows = await read_all(runs.database.store, space("approvals", thread_id))
    return {row.key: Approval.model_validate(row.value) for row in rows}
