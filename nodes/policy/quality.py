"""What review can check without a model, and what it has accepted, as a fingerprint of the tasks."""

import json
from collections.abc import Container, Iterable, Sequence
from hashlib import sha256

from pydantic import JsonValue

from state.approval import POLICY
from state.citation import Citation
from state.policy import Policy
from state.record import TaskRecord

SOURCED_KINDS = frozenset({"research", "analysis"})
"""Kinds of task whose result must say where it comes from, when there are sources."""


def is_decided(record: TaskRecord) -> bool:
    """Whether a human has accepted or replaced the result: nobody reviews what they said."""
    return record.outcome is not None and record.outcome.decided_by not in ("", POLICY)


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
