"""What an agent gets to know: the request, what it depends on, recent mail; not the rest (supervisor guide)."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from state.brief import Brief, Mail
from state.outcome import Outcome
from state.record import TaskRecord

RECENT_MAIL = 20
"""Messages that go into a brief; the rest stays in the mailbox."""


def assemble_brief(
    query: str,
    record: TaskRecord,
    inputs: Mapping[str, Outcome],
    *,
    mail: Sequence[Mail] = (),
    iteration: int = 0,
    artifacts: int = 0,
    sources: Sequence[str] = (),
) -> Brief:
    """The scoped context for the task of `record`; `inputs` are the outcomes of its dependencies, by task id."""
    delivered: dict[str, JsonValue] = {
        other: outcome.result for other, outcome in inputs.items() if outcome.status == "done"
    }
    return Brief(
        query=query,
        task=record.task,
        inputs=delivered,
        missing=[other for other in inputs if other not in delivered],
        mail=list(mail)[-RECENT_MAIL:],
        feedback=record.feedback,
        previous=record.outcome.result if record.outcome and record.feedback else "",
        iteration=iteration,
        artifacts=artifacts,
        sources=list(sources),
    )
