"""What a reviewer can check without a model: the exit criterion of reviewing, as far as it is a matter of fact."""

from collections.abc import Iterable

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
