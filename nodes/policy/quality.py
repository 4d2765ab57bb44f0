"""What review can check without a model, what it has accepted (a fingerprint of the tasks), and what stays in doubt."""

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from pydantic import JsonValue

from nodes.policy.coverage import MOST_NAMED, inputs_unused, length_fault, parts_left_out
from state.approval import POLICY
from state.channels import RunState
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


def faults_of(
    record: TaskRecord,
    *,
    sourced: bool,
    by_model: bool,
    broken: Iterable[Citation],
    policy: Policy,
    request: str = "",
    inputs: Mapping[str, str] | None = None,
) -> str:
    """What is wrong with a finished task, as feedback to its agent; empty when nothing is.

    `sourced`: the user gave sources. `by_model`: a chat model did it (functions are held to their citations alone).
    `broken`: citations that point nowhere, or quote what does not stand there. `request`: what the result alone is to
    answer; empty where others do, too. `inputs`: the results it builds on, by task id.
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
    if by_model and not labels and (made_up := unsupported(record)):
        named = ", ".join(f"“{one[:80]}”" for one in made_up[:MOST_NAMED])
        found.append(f"This does not stand where you cite it: {named}. Say only what the sources say.")
    uncertain = outcome.confidence is not None and outcome.confidence < policy.confidence_threshold
    if by_model and sourced and record.task.kind in SOURCED_KINDS and not cites and not uncertain:
        found.append("The result cites nothing. Search the sources and cite what supports each statement.")
    if by_model and outcome.text.strip():
        found += _misses(record, outcome, request, inputs or {})
    return " ".join(found)


def _misses(record: TaskRecord, outcome: Outcome, request: str, inputs: Mapping[str, str]) -> Iterator[str]:
    """What the text does not do of what it was to do; a task whose result was another's is held to its parts alone."""
    text, task = outcome.text, record.task.description
    left = dict.fromkeys([*parts_left_out(task, text), *parts_left_out(request, text)])
    if left:
        yield f"It leaves out: {'; '.join([*left][:MOST_NAMED])}. Answer each part, or say that nothing is known of it."
    if outcome.answered_by:
        return
    if unused := inputs_unused(text, inputs, f"{request}\n{task}"):
        yield f"It uses nothing of the results of {', '.join(unused[:MOST_NAMED])}. Build on them, or say why not."
    if wrong := length_fault(task, text) or length_fault(request, text):
        yield wrong


def unsure_of(record: TaskRecord, policy: Policy) -> str:
    """Why an agent is to check again what it is not sure of itself; empty where it is, or could not go on anyway."""
    least, outcome = policy.confidence_threshold, record.outcome
    if record.status != "done" or not outcome or outcome.confidence is None or outcome.limited:
        return ""
    sure = outcome.confidence
    told = f"You are not sure of it ({sure:.2f}, at least {least:.2f} is asked). Check it, or say what is unknown."
    return told if sure < least else ""


def unsupported(record: TaskRecord) -> list[str]:
    """What a cited statement quotes or counts, and what was looked for and stands nowhere."""
    claims = record.outcome.claims if record.outcome else []
    return list(dict.fromkeys(one for claim in claims if claim.citations for one in claim.unverified))


def doubts_of(
    records: Iterable[TaskRecord],
    policy: Policy,
    *,
    refused: Mapping[str, str],
    unreviewed: str,
    failing: Mapping[str, str],
    gaps: Sequence[str],
) -> list[Doubt]:
    """Why what the tasks delivered is not a plain success, in the order of the plan.

    `refused`: a reviewer's objections at the last look, by task id; some have no words. `failing`: what the checks
    found then. `unreviewed`: which results the last review has not looked at, and why. `gaps`: what the request asks
    for and nobody was given in time.
    """
    found = [Doubt(kind="unreviewed", said=unreviewed)] if unreviewed else []
    found += [Doubt(kind="gap", said=f"the request asks for more than was done: {_short(gap)}") for gap in gaps]
    for record in records:
        if record.status == "done" and record.outcome and not record.is_by_human:
            found += _doubts_of_work(record.outcome, policy, is_decided=is_decided(record))
            if not is_decided(record):
                found += _doubts_of_review(record.id, refused.get(record.id), failing.get(record.id, ""))
    return found


def _doubts_of_review(name: str, objection: str | None, failing: str) -> Iterator[Doubt]:
    """What the last look was not content with."""
    if objection == "":
        said = f"the reviewer does not accept {name}, and does not say why"
        yield Doubt(kind="refused", task_id=name, said=said)
    elif objection:
        yield Doubt(kind="refused", task_id=name, said=f"the reviewer does not accept {name}: {_short(objection)}")
    if failing:
        yield Doubt(kind="failing", task_id=name, said=f"{name} does not pass every check: {_short(failing)}")


def unaccepted(state: RunState, records: Iterable[TaskRecord]) -> dict[str, str]:
    """What a reviewer missed to the end, by the task that should have it; under "" what no task was given.

    A refusal without a reason is a doubt, and no more.
    """
    kept = {record.id for record in records if record.status == "done" and not is_decided(record)}
    found = {name: _short(why) for name, why in (state.get("refused") or {}).items() if why and name in kept}
    found |= {
        record.id: f"{_short(record.feedback)}, and could not be done again"
        for record in records
        if record.id in kept and record.outcome and record.outcome.not_improved
    }
    gaps = "; ".join(map(_short, state.get("gaps") or []))
    return {**found, "": gaps} if gaps else found


def _doubts_of_work(outcome: Outcome, policy: Policy, *, is_decided: bool) -> Iterator[Doubt]:
    name, least = outcome.task_id, policy.confidence_threshold
    yield from outcome.doubts
    if outcome.not_improved:
        said = f"{name} was sent back, and doing it again failed: {_short(outcome.not_improved)}"
        yield Doubt(kind="refused", task_id=name, said=said)
    if outcome.limited:
        yield Doubt(kind="limited", task_id=name, said=f"{outcome.agent} stopped early at {name}: {outcome.limited}")
    if outcome.decided_by == POLICY:
        said = f"nobody answered whether the result of {name} will do; when the time was up, the policy accepted it"
        yield Doubt(kind="silence", task_id=name, said=said)
    elif not is_decided and not outcome.limited and outcome.confidence is not None and outcome.confidence < least:
        said = f"{outcome.agent} is not sure of {name}: confidence {outcome.confidence:.2f}, below {least:.2f}"
        yield Doubt(kind="confidence", task_id=name, said=said)


def _short(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= LONGEST_OBJECTION else line[: LONGEST_OBJECTION - 1] + "…"


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
