"""Finish: the end of a run, whichever it is: the final phase, what was used, and the answer as a message."""

import asyncio
from collections.abc import Sequence

from langgraph.runtime import Runtime
from langgraph.store.base import PutOp

from nodes.policy.episodes import episode_of
from nodes.policy.phases import ending
from nodes.policy.quality import unaccepted
from nodes.policy.schemas import lacking
from nodes.runtime.context import Node, RunContext, open_context
from nodes.runtime.episodes import episode_row, outlived
from nodes.runtime.journal import read_events
from nodes.runtime.listener import TOO_LATE, refuse
from nodes.runtime.observing import EndedRun, NoObserver, harmless
from nodes.runtime.rows import RUN, read_ledger
from nodes.runtime.services import Services
from nodes.runtime.signals import waiting
from nodes.runtime.story import said
from nodes.runtime.trust_store import ended_rows
from state.channels import control_of, records_of, terms_of
from state.record import Doubt, TaskRecord, Usage
from state.run import Phase
from state.supervisor import SupervisorState, Update


def make_finish(services: Services) -> Node:
    """The node."""

    async def finish(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Close the run."""
        records = records_of(state)
        terms = terms_of(state)
        reasons = {str(one["path"]): str(one["reason"]) for one in state.get("fields", [])}
        phase, error = ending(
            records,
            error=state.get("error"),
            is_cancelled=Phase.cancelled == state["phase"] or control_of(state).driving == "cancelled",
            is_at_limit=state.get("at_limit", False),
            on_reject=terms.policy.on_reject,
            report=state.get("report"),
            lacking=lacking(state.get("data"), terms.answer, reasons),
            unaccepted=unaccepted(state, records),
        )
        run = open_context(services, state, runtime, phase)
        now = run.services.clock.now()
        outcomes = [record.outcome for record in records if record.outcome]
        late, ledger, ended, gone, _ = await asyncio.gather(
            waiting(run.store, run.thread_id),
            read_ledger(run.store, run.thread_id),
            ended_rows(run, outcomes, state.get("started_at", now), now),
            _outlived(run),
            run.journal.load(),
        )
        await refuse(run, late, f"{TOO_LATE}: the run was {phase.value}")
        used = Usage.model_validate(state.get("spent") or {}) + ledger.get(RUN, Usage())
        rows = [
            run.journal.row("run", {"phase": phase.value, "at": now}),
            *ended,
            *gone,
            *_remembered(run, state, records, phase, used, now),
        ]
        for doubt in map(Doubt.model_validate, state.get("doubts", [])):
            await run.emit("result_doubted", task_id=doubt.task_id or None, doubt=doubt.kind, said=doubt.said)
        await run.emit(
            "run_finished", also=rows, status=phase.value, error=error, tokens=used.total_tokens, calls=used.calls
        )
        with harmless():
            await run.services.observer.ended(await _ended(run, state, phase, error, used, now))
        artifacts = [artifact for record in records if record.outcome for artifact in record.outcome.artifacts]
        return {
            "phase": phase.value,
            "error": error,
            "usage": used.model_dump(mode="json"),
            "artifacts": [*(artifact.model_dump(mode="json") for artifact in artifacts), *state.get("artifacts", [])],
            **_came_late(state),
            "messages": [said(state, "report", state.get("report") or error or "")],
            "finished_at": now,
        }

    return finish


def _came_late(state: SupervisorState) -> Update:
    """What clears a plan and a schema that came while the run was in flight: they are none of the next run's."""
    return dict.fromkeys(name for name in ("plan", "schema") if state.get(name) is not None)


async def _ended(
    run: RunContext, state: SupervisorState, phase: Phase, error: str | None, used: Usage, at: float
) -> EndedRun:
    events = [] if isinstance(run.services.observer, NoObserver) else await read_events(run.store, run.thread_id)
    return EndedRun(
        place=run.place(),
        query=state["goal"],
        model=terms_of(state).model,
        status=phase.value,
        error=error,
        finished_at=at,
        used=used,
        events=[event for event in events if event.ts >= run.started_at],
    )


async def _outlived(run: RunContext) -> list[PutOp]:
    """What makes room for it."""
    return await outlived(run.store) if _is_remembered(run) else []


def _is_remembered(run: RunContext) -> bool:
    """Whether later runs are to learn from this one; runs below another are part of that one."""
    return run.policy.learning != "off" and not run.outer and not run.by_hand


def _remembered(
    run: RunContext, state: SupervisorState, records: Sequence[TaskRecord], phase: Phase, used: Usage, at: float
) -> list[PutOp]:
    """What later runs can learn from this one."""
    if not _is_remembered(run):
        return []
    return [episode_row(episode_of(state, records, run.thread_id, status=phase.value, used=used, at=at))]
