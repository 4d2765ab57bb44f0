"""The report: one answer in Markdown, every statement with its numbered source, and honest about what is missing."""

from collections.abc import Sequence

from nodes.policy.references import References
from nodes.policy.rollback import Undone, rolled_back
from nodes.policy.synthesis import claims_of, says_the_same
from state.citation import Claim, labels_in, without_labels
from state.mode import Mode
from state.record import TaskRecord

MOST_FINDINGS = 40
"""Findings listed besides the answer itself."""


def write_report(
    query: str,
    answer: str,
    records: Sequence[TaskRecord],
    *,
    mode: Mode | None,
    models: Sequence[str],
    warnings: Sequence[str] = (),
    error: str | None = None,
    undone: Sequence[Undone] | None = None,
) -> str:
    """The whole report. `answer` carries labels; they become numbers, and the numbers' sources are listed."""
    claims = claims_of(record.outcome for record in records if record.outcome)
    references = References(records)
    body = references.numbered(answer.strip())
    more = _findings([claim for claim in claims if claim.citations and not _is_said(claim, answer)], references)
    parts = [f"# {_title(query)}"]
    if error:
        parts.append(f"**Stopped early:** {error}. What was finished is below.")
    parts.append(body or "_No task delivered a result._")
    if more:
        parts.append("## Further findings\n\n" + more)
    if undone is not None:
        parts.append("## Rolled back\n\n" + rolled_back(undone))
    if missing := _missing(records):
        parts.append("## What is missing\n\n" + missing)
    if sources := references.listed():
        parts.append("## Sources\n\n" + sources)
    parts.append("## How this was made\n\n" + _made(records, mode, models, warnings))
    return "\n\n".join(parts) + "\n"


def sinks(records: Sequence[TaskRecord]) -> list[TaskRecord]:
    """The delivered tasks that no other delivered task builds on: together they hold the answer."""
    done = [record for record in records if record.status == "done"]
    used = {other for record in done for other in record.task.depends_on}
    return [record for record in done if record.id not in used]


def joined(records: Sequence[TaskRecord]) -> str:
    """Several results as one text, each under its task."""
    texts = [(record, record.outcome.text if record.outcome else "") for record in records]
    if len(texts) == 1:
        return texts[0][1]
    return "\n\n".join(f"## {_title(record.task.description, 100)}\n\n{text}" for record, text in texts if text)


def _is_said(claim: Claim, answer: str) -> bool:
    labels = set(labels_in(answer))
    if any((c.file, c.place) in labels for c in claim.citations):
        return True
    text = without_labels(answer)
    return claim.text in text or any(says_the_same(claim.text, line) for line in text.splitlines())


def _findings(claims: Sequence[Claim], references: References) -> str:
    lines = []
    for claim in claims[:MOST_FINDINGS]:
        labels = " ".join(citation.label for citation in claim.citations)
        lines.append(references.numbered(f"- {claim.text} {labels}"))
    if len(claims) > MOST_FINDINGS:
        lines.append(f"- … and {len(claims) - MOST_FINDINGS} more, in the results of the tasks")
    return "\n".join(lines)


def _missing(records: Sequence[TaskRecord]) -> str:
    lines = []
    for record in records:
        if record.status == "done":
            continue
        failure = record.outcome.failure if record.outcome else None
        why = f": {failure.message}" if failure and failure.message else ""
        lines.append(f"- `{record.id}` ({record.status}), {_title(record.task.description, 160)}{why}")
    return "\n".join(lines)


def _made(records: Sequence[TaskRecord], mode: Mode | None, models: Sequence[str], warnings: Sequence[str]) -> str:
    done = sum(record.status == "done" for record in records)
    agents = dict.fromkeys(record.outcome.agent for record in records if record.outcome and record.outcome.agent)
    asked_model = any(record.outcome and record.outcome.usage.calls for record in records)
    lines = [f"- {done} of {len(records)} tasks done, by {', '.join(agents) or 'nobody'}"]
    if mode:
        lines.append(f"- Mode {mode.name}: {mode.reason}")
    if not asked_model:
        lines.append("- The tasks were done by functions, without a language model")
    elif list(models) == ["offline"]:
        lines.append("- No language model was used: sentences are quoted from the sources and figures are computed")
    else:
        lines.append(
            f"- Written with the model {' and '.join(models)}; what is quoted as a source stands there to the letter"
        )
    lines += [f"- Note: {warning}" for warning in warnings]
    return "\n".join(lines)


def _title(text: str, most: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
