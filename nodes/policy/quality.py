"""What review can check without a model, what it has accepted (a fingerprint of the tasks), and what stays in doubt."""

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from pydantic import JsonValue

from state.approval import POLICY
from state.citation import Citation
from state.policy import Policy
from state.record import Doubt, Outcome, TaskRecord

SOURCED_KINDS = frozenset({"research", "analysis"})
"""Kinds of task whose result must say where it comes from, when there are sources."""


def is_decided(record: TaskRecord) -> bool:
    """Whether a human has accepted or replaced the result: nobody reviews what they said."""
    return record.outcome is not None and record.outcome.decided_by not in ("", POLICY)


def is_to_review(record: TaskRecord, *, by_model: bool) -> bool:
    """Whether there is anything to look at: what a chat model wrote, and citations of whoever did the task."""
    return record.status == "done" and not is_decided(record) and (by_model or bool(_citations(record)))


def faults_of(record: TaskRecord, *, sourced: bool, by_model: bool, broken: Iterable[Citation], policy: Policy) -> str:
    """What is wrong with a finished task, as feedback to its agent; empty when nothing is.

    `sourced`: the user gave sources. `by_model`: a chat model did it (functions are not held to citing). `broken`:
    citations that point nowhere, or quote what does not stand there.
    """
    outcome = record.outcome
    if record.status != "done" or outcome is None:
        return ""
    found = []
    if by_model and not outcome.text.strip() and not outcome.artifacts:
        found.append("The result is empty.")
    labels = [citation.label for citation in broken]
    if labels:
        found.append(f"These citations are not in the sources: {', '.join(labels[:5])}. Cite only what tools returned.")
    cites = any(claim.citations for claim in outcome.claims)
    uncertain = outcome.confidence is not None and outcome.confidence < policy.confidence_threshold
    if by_model and sourced and record.task.kind in SOURCED_KINDS and not cites and not uncertain:
        found.append("The result cites nothing. Search the sources and cite what supports each statement.")
    return " ".join(found)


def doubts_of(
    records: Iterable[TaskRecord],
    policy: Policy,
    *,
    rounds: int,
    iteration: int,
    refused: Mapping[str, str],
    unreviewed: str,
) -> list[Doubt]:
    """Why what the tasks delivered is not a plain success, in the order of the plan.

    `rounds`: how often review might send work back; `iteration`: how often it has. Where both are the same, nobody
    has looked at what was done again in the last one. `refused`: the last objections, by task id; some have no words.
    `unreviewed`: which results the last review has not looked at, and why.
    """
    found = [Doubt(kind="unreviewed", said=unreviewed)] if unreviewed else []
    is_last = iteration > 0 and rounds <= iteration
    for record in records:
        if record.status == "done" and record.outcome and not record.is_by_human:
            found += _doubts_of_work(record.outcome, policy, is_decided=is_decided(record))
            if refused.get(record.id) == "" and not is_decided(record):
                said = f"the reviewer does not accept {record.id}, and does not say why"
                found.append(Doubt(kind="refused", task_id=record.id, said=said))
            elif is_last and record.outcome.iteration == iteration and not is_decided(record):
                found.append(_doubt_of_rework(record.id, refused.get(record.id, "")))
    return found


def _doubts_of_work(outcome: Outcome, policy: Policy, *, is_decided: bool) -> Iterator[Doubt]:
    name, least = outcome.task_id, policy.confidence_threshold
    yield from outcome.doubts
    if outcome.limited:
        yield Doubt(kind="limited", task_id=name, said=f"{outcome.agent} stopped early at {name}: {outcome.limited}")
    if outcome.decided_by == POLICY:
        said = f"nobody answered whether the result of {name} will do; when the time was up, the policy accepted it"
        yield Doubt(kind="silence", task_id=name, said=said)
    elif not is_decided and not outcome.limited and outcome.confidence is not None and outcome.confidence < least:
        said = f"{outcome.agent} is not sure of {name}: confidence {outcome.confidence:.2f}, below {least:.2f}"
        yield Doubt(kind="confidence", task_id=name, said=said)


def _doubt_of_rework(name: str, objection: str) -> Doubt:
    """Of what was done again in the last round of review."""
    if objection:
        why = objection if len(objection) <= LONGEST_OBJECTION else objection[: LONGEST_OBJECTION - 1] + "…"
        said = (
            f"{name} was sent back in the last round of review ({' '.join(why.split())}); nobody has looked at it since"
        )
        return Doubt(kind="refused", task_id=name, said=said)
    said = f"{name} was done again after the last review; nobody has looked at it since"
    return Doubt(kind="unseen", task_id=name, said=said)


LONGEST_OBJECTION = 300
"""Characters of a reviewer's objection that people are shown."""


def fingerprint(tasks: Sequence[dict[str, JsonValue]]) -> str:
    """Tells these tasks, with their outcomes, from any others: SHA-256, in hex, of their JSON with sorted keys."""
    return sha256(json.dumps(tasks, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def computed_labels(records: Iterable[TaskRecord]) -> set[str]:
    """Labels of the figures that these tasks have computed."""
    return {citation.label for record in records for citation in _citations(record) if citation.quote}


def broken_citations(record: TaskRecord, computed: Container[str]) -> list[Citation]:
    """Citations without a quote: they point nowhere, or quote what does not stand there.

    A figure that another task `computed` may be passed on with its label: its quote is the query, which stands there.
    """
    empty = [citation for citation in _citations(record) if not citation.quote]
    return [citation for citation in empty if citation.place != "table" or citation.label not in computed]


def _citations(record: TaskRecord) -> list[Citation]:
    return [citation for claim in record.outcome.claims for citation in claim.citations] if record.outcome else []
