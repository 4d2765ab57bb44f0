"""Decisions about runs that nobody executes: kept, audited and told like any other, without starting any work.

Whoever decides may not have the run's team; whoever has it goes on from there.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from graph.lease import PATIENCE_S
from graph.runs import Runs
from graph.views import at_rest, waits
from nodes.policy.answers import came_second
from nodes.runtime.context import RunContext
from nodes.runtime.journal import Journal, asked_on, read_board
from nodes.runtime.questions import Questions
from nodes.runtime.steering import Steering
from state.approval import Approval, Decision
from state.errors import BadInput
from state.phase import ENDS, Phase
from state.supervisor import SupervisorState, Terms


@dataclass(frozen=True)
class _Desk:
    """What is asked on a run, and what was decided."""

    asked: Questions
    steering: Steering
    open: Mapping[str, Approval]


async def expire(runs: Runs, thread_id: str) -> None:
    """Let the policy decide what is late.

    Raises:
        ThreadBusy: somebody runs the thread by now; he does it himself.
    """
    async with _desk(runs, thread_id, patience_s=0) as desk:
        await desk.asked.expire(list(desk.open.values()), desk.steering.decide)
        await desk.asked.announced()


async def decide(runs: Runs, thread_id: str, decisions: Mapping[str, Decision]) -> None:
    """Keep what humans decided, all of it or nothing.

    Raises:
        BadInput: somebody was faster, or something is not asked any more.
        ThreadBusy: somebody runs the thread by now.
    """
    async with _desk(runs, thread_id) as desk:
        for key in decisions:
            if first := desk.steering.decisions.get(key):
                raise BadInput(came_second(key, first))
            if key not in desk.open:
                raise no_longer_open(thread_id, key)
        for key, decision in decisions.items():
            await desk.asked.answer(desk.open[key], decision, desk.steering.decide)
        await desk.asked.announced()


def no_longer_open(thread_id: str, key: str) -> BadInput:
    """The refusal of an answer to what is not asked any more."""
    return BadInput(f"no open question is called {key!r} any more; see `baton inbox {thread_id}`")


@asynccontextmanager
async def _desk(runs: Runs, thread_id: str, patience_s: float = PATIENCE_S) -> AsyncIterator[_Desk]:
    """What is open on a run, while nobody else can change it."""
    async with runs.leases.hold(thread_id, patience_s=patience_s):
        snapshot = await runs.snapshot(thread_id)
        state = cast(SupervisorState, snapshot.values)
        steering = Steering(runs.database.store, thread_id)
        await steering.load(state.get("decisions") or {})
        asked = Questions(_context(runs, thread_id, state))
        await asked.load()
        board = await read_board(runs.database.store, thread_id)
        questions = at_rest(state, board) if waits(snapshot) else asked_on(board)  # what a dead process asked
        still = [] if state["phase"] in ENDS else [q for q in questions if q.id not in steering.decisions]
        yield _Desk(asked, steering, {question.id: question for question in still})


def _context(runs: Runs, thread_id: str, state: SupervisorState) -> RunContext:
    """The run as a door sees it that does not execute it."""
    store, terms = runs.database.store, Terms.model_validate(state.get("terms") or {})
    journal = Journal(store, thread_id, runs.services.clock)
    return RunContext(
        services=runs.services,
        store=store,
        thread_id=thread_id,
        scope="",
        policy=terms.policy,
        phase=Phase(state["phase"]),
        paths=[],
        journal=journal,
    )
