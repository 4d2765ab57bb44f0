"""Finish: the end of a run, whichever it is: the final phase, what was used, and the answer as a message."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from nodes.policy.phases import is_assembled
from nodes.runtime.budget import RUN, read_ledger
from nodes.runtime.context import Node, open_context
from nodes.runtime.services import Services
from nodes.runtime.trust_store import ended_rows
from state.record import TaskRecord, Usage
from state.run import Phase
from state.supervisor import SupervisorState, Update, control_of, records_of


def make_finish(services: Services) -> Node:
    """The node."""

    async def finish(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Close the run."""
        records = records_of(state)
        is_cancelled = Phase.cancelled == state["phase"] or control_of(state).driving == "cancelled"
        phase, error = verdict(records, state.get("error"), is_cancelled=is_cancelled)
        if phase is Phase.complete and not is_assembled(state.get("report")):
            phase, error = Phase.failed, "no report was put together"
        run = open_context(services, state, runtime, phase)
        used = Usage.model_validate(state.get("spent") or {}) + (await read_ledger(run.store, run.thread_id)).get(
            RUN, Usage()
        )
        now = run.services.clock.now()
        outcomes = [record.outcome for record in records if record.outcome]
        rows = [
            run.journal.row("run", {"phase": phase.value, "at": now}),
            *await ended_rows(run, outcomes, state.get("started_at", now), now),
        ]
        await run.emit(
            "run_finished", also=rows, status=phase.value, error=error, tokens=used.total_tokens, calls=used.calls
        )
        artifacts = [artifact for record in records if record.outcome for artifact in record.outcome.artifacts]
        return {
            "phase": phase.value,
            "error": error,
            "usage": used.model_dump(mode="json"),
            "artifacts": [artifact.model_dump(mode="json") for artifact in artifacts],
            "messages": [AIMessage(state.get("report") or error or "")],
            "finished_at": now,
        }

    return finish


def verdict(records: Sequence[TaskRecord], error: str | None, *, is_cancelled: bool) -> tuple[Phase, str | None]:
    """How the run ended: cancelled, failed if it gave up or nothing was delivered, else complete."""
    if is_cancelled:
        return Phase.cancelled, None
    if error:
        return Phase.failed, error
    if any(record.status == "done" for record in records):
        return Phase.complete, None
    reasons = [r.outcome.failure.message for r in records if r.outcome and r.outcome.failure]
    return Phase.failed, "no task delivered a result" + (f": {reasons[0]}" if reasons else "")
