"""The report: one answer in Markdown, deduplicated (chapter 15.9, t7), with numbered sources."""

import re
from collections.abc import Mapping, Sequence

from rapidfuzz import fuzz

from nodes.policy.budget import is_by_rules
from nodes.policy.coverage import is_length_said
from nodes.policy.headings import shifted, without_reserved, without_thoughts
from nodes.policy.synthesis import Said, claims_of, without_repeats
from nodes.policy.takeover import RollbackResult, rollback_section
from state.citation import LABEL, Citation, Claim, labels_in, without_labels
from state.record import TaskRecord, Usage
from state.run import Mode
from state.text import shortened

MOST_FINDINGS = 40
"""Findings listed besides the answer itself."""


def write_report(
    query: str,
    answer: str,
    records: Sequence[TaskRecord],
    *,
    mode: Mode | None,
    models: Sequence[str],
    claims: Sequence[Claim] = (),
    warnings: Sequence[str] = (),
    doubts: Sequence[str] = (),
    error: str | None = None,
    undone: Sequence[RollbackResult] | None = None,
    used: Mapping[str, Usage] | None = None,
    unseen: Sequence[str] = (),
    learned: str = "",
    lacks: Mapping[str, str] | None = None,
) -> str:
    """The whole report. `answer` carries labels; they become numbers, and the numbers' sources are listed.

    `claims`: the statements of the answer itself, as they were looked up. `learned`: what earlier runs had to do with
    the plan. `lacks`: what a reviewer missed to the end, by task id; under "" what no task was given.
    """
    found = claims_of(record.outcome for record in records if record.outcome)
    references = References(records, claims)
    body = references.numbered(answer.strip())
    left_out = [] if is_length_said(query) else _not_in(answer, [claim for claim in found if claim.citations])
    more = _findings(left_out, references)
    parts = [f"# {_title(query)}"]
    if error:
        parts.append(f"**Stopped early:** {error.rstrip('.')}. What was finished is below.")
    elif not_done := _not_done([record for record in records if record.task.required]):
        parts.append(f"**Not complete:** {not_done} What was finished is below.")
    elif any(name in (lacks or {}) for name in ["", *(record.id for record in records if record.task.required)]):
        parts.append("**Not complete:** the reviewer misses something, see “What is missing”.")
    parts.append(body or "_No task delivered a result._")
    if more:
        parts.append("## Further findings\n\n" + more)
    if undone is not None:
        parts.append("## Rolled back\n\n" + rollback_section(undone))
    if missing := _missing(records, lacks or {}):
        parts.append("## What is missing\n\n" + missing)
    if sources := references.listed(body):
        parts.append("## Sources\n\n" + sources)
    parts.append(
        "## How this was made\n\n"
        + _made(records, mode, models, warnings, doubts, learned)
        + _used(used or {}, records, unseen)
    )
    return "\n\n".join(parts) + "\n"


MOST_NAMED = 3
"""Tasks that the first line of a report names."""


def _not_done(required: Sequence[TaskRecord]) -> str:
    """How many of the tasks that a run cannot do without were not done, and which; nothing where all were."""
    undone = [f"“{shortened(record.task.description).rstrip('.')}”" for record in required if record.status != "done"]
    if not undone:
        return ""
    more = [f"{len(undone) - MOST_NAMED} more"] if len(undone) > MOST_NAMED else []
    *first, last = [*undone[:MOST_NAMED], *more]
    which = f"{', '.join(first)} and {last}" if first else last
    was = "was" if len(undone) == 1 else "were"
    of = f"{len(undone)} of {len(required)} required tasks {was}" if len(required) > 1 else "the task was"
    return f"{of} not done: {which}."


def sinks(records: Sequence[TaskRecord]) -> list[TaskRecord]:
    """The delivered tasks whose result no other delivered task has used: together they hold the answer.

    Used is what a task builds on, unless it was made again in a later round and the task was not.
    """
    done = [record for record in records if record.status == "done"]
    rounds = {record.id: record.outcome.iteration if record.outcome else 0 for record in done}
    used = {
        other
        for record in done
        for other in record.task.depends_on
        if record.is_by_human or rounds.get(other, 0) <= rounds[record.id]
    }
    return [record for record in done if record.id not in used]


def joined(records: Sequence[TaskRecord]) -> str:
    """Several results as one text, nothing twice, each under its task; what the agents wrote is fitted in."""
    texts = [(record, fitted(record.outcome.text) if record.outcome else "") for record in records]
    if len(texts) == 1:
        return texts[0][1]
    titled = [f"## {_title(record.task.description, 100)}\n\n{text}" for record, text in texts if text]
    return "\n\n".join(without_repeats(titled))


BATONS = 2
"""The level of the headings of a report's parts; an agent's or the editor's own begin below it."""


def fitted(text: str) -> str:
    """A model's text as it may stand in a report: without its thoughts and what only Baton writes, headings shifted."""
    plain = without_thoughts(text)
    return shifted(without_reserved(plain) or plain, BATONS).strip()


def _not_in(answer: str, claims: Sequence[Claim]) -> list[Claim]:
    """The claims that the answer neither makes nor cites the places of."""
    labels, text = set(labels_in(answer)), without_labels(answer)
    said = Said(text.splitlines())
    return [
        claim
        for claim in claims
        if not any((c.file, c.place) in labels for c in claim.citations)
        and claim.text not in text
        and said.find(claim.text) is None
    ]


class References:
    """The sources of one report, numbered in the order in which they are cited."""

    def __init__(self, records: Sequence[TaskRecord], claims: Sequence[Claim] = ()) -> None:
        """`claims`: those of the text itself; they go before what the tasks said."""
        self._known: dict[str, list[tuple[str, list[Citation]]]] = {}
        self._numbers: dict[Citation, int] = {}
        said = [claim for record in records if record.outcome for claim in record.outcome.claims]
        for claim in [*claims, *said]:
            places: dict[str, list[Citation]] = {}
            for citation in claim.citations:
                if citation.quote:  # who misquotes a place does not hide it from those who quote it
                    places.setdefault(citation.label, []).append(citation)
            for label, citations in places.items():
                self._known.setdefault(label, []).append((claim.text, citations))

    def numbered(self, text: str) -> str:
        """`text` with each label as a number; a label that points nowhere says so."""
        return LABEL.sub(lambda match: self._number(match, text), text)

    def listed(self, body: str) -> str:
        """The list of what was cited so far; empty if nothing was. What stands quoted in `body` is not said again."""
        shown = _flat("\n".join(re.findall(r'(?m)^(?:> ?|- ")(.*)$', body)))
        return "\n".join(
            _source(number, citation, is_shown=citation.place != "table" and _flat(citation.quote) in shown)
            for citation, number in self._numbers.items()
        )

    def _number(self, match: re.Match[str], text: str) -> str:
        candidates = self._known.get(match.group())
        if not candidates:
            return f"(unverified: {match['file']})"
        statement = _before(text, match.start())
        _, citations = max(candidates, key=lambda known: fuzz.token_set_ratio(known[0], statement))
        numbers = [self._numbers.setdefault(citation, len(self._numbers) + 1) for citation in citations]
        return " ".join(f"[{number}]" for number in numbers)


def _findings(claims: Sequence[Claim], references: References) -> str:
    lines = []
    for claim in claims[:MOST_FINDINGS]:
        labels = " ".join(citation.label for citation in claim.citations)
        mark = " (unverified)" if claim.unverified and any(citation.quote for citation in claim.citations) else ""
        lines.append(references.numbered(f"- {claim.text} {labels}") + mark)
    if len(claims) > MOST_FINDINGS:
        lines.append(f"- … and {len(claims) - MOST_FINDINGS} more, in the results of the tasks")
    return "\n".join(lines)


def _missing(records: Sequence[TaskRecord], lacks: Mapping[str, str]) -> str:
    lines = [f"- asked for, and not given to anybody: {lacks['']}"] if "" in lacks else []
    for record in records:
        if record.status == "done":
            if why := lacks.get(record.id):
                lines.append(f"- `{record.id}` (not accepted), {_title(record.task.description, 160)}: {why}")
            continue
        failure = record.outcome.failure if record.outcome else None
        why = f": {failure.message}" if failure and failure.message else ""
        lines.append(f"- `{record.id}` ({record.status}), {_title(record.task.description, 160)}{why}")
    return "\n".join(lines)


COUNTED = "calls made with LangChain, not those of raw clients or of threads that do not carry its context on"


def _used(used: Mapping[str, Usage], records: Sequence[TaskRecord], unseen: Sequence[str]) -> str:
    """What each agent and each task has used, and whose calls nobody could count. What rules do costs nothing."""
    by_whom = "; ".join(f"{name} {one.in_words}" for name, one in sorted(used.items()) if _is_spent(one))
    lines = [f"- Used: {by_whom}"] if by_whom else []
    made = {record.id: record.outcome.usage for record in records if record.outcome}
    by_task = "; ".join(f"`{name}` {one.in_words}" for name, one in made.items() if _is_spent(one))
    lines += [f"- Used for tasks: {by_task}"] if by_task else []
    lines += [f"- Counted are {COUNTED}"] if lines else []
    lines += [f"- Calls of {name} were not seen, and are not counted: it works elsewhere" for name in unseen]
    return "".join(f"\n{line}" for line in lines)


def _is_spent(used: Usage) -> bool:
    return bool(used) and not (is_by_rules(used) and not used.cost)


def _made(
    records: Sequence[TaskRecord],
    mode: Mode | None,
    models: Sequence[str],
    warnings: Sequence[str],
    doubts: Sequence[str],
    learned: str,
) -> str:
    done = sum(record.status == "done" for record in records)
    made = [record.outcome for record in records if record.outcome and record.outcome.agent]
    agents = dict.fromkeys(f"{one.agent} ({one.model})" if one.model else one.agent for one in made)
    models = list(dict.fromkeys([*models, *(one.model for one in made if one.model)]))
    asked_model = any(record.outcome and record.outcome.usage.calls for record in records)
    lines = [f"- {done} of {len(records)} tasks done, by {', '.join(agents) or 'nobody'}"]
    lines += [
        f"- `{one.task_id}` was not done: the result of `{one.answered_by}` answers it"
        for one in made
        if one.answered_by
    ]
    if mode:
        lines.append(f"- Mode {mode.name}: {mode.reason}")
    if learned:
        lines.append(f"- Learned: {learned}")
    if not made:
        lines.append(f"- The model was {' and '.join(models)}")
    elif not asked_model:
        lines.append("- The tasks were done by functions, without a language model")
    elif models == ["offline"]:
        lines.append("- No language model was used: sentences are quoted from the sources and figures are computed")
    else:
        lines.append(
            f"- Written with the model {' and '.join(models)}; what is quoted as a source stands there to the letter"
        )
    lines += [f"- Note: {warning}" for warning in warnings]
    lines += [f"- In doubt: {doubt}" for doubt in doubts]
    return "\n".join(lines)


def _title(text: str, most: int = 200) -> str:
    line = " ".join(text.split())
    if len(line) > most and (ends := list(re.finditer(r"(?<=\w)[:;.?!](?= )", line[:most]))):
        return line[: ends[-1].start()]
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _before(text: str, end: int) -> str:
    """The statement that a label at `end` belongs to: what stands before it, back to another statement's label."""
    block = text[max(text.rfind("\n\n", 0, end), text.rfind("\n- ", 0, end), 0) : end]
    pieces = [piece for piece in LABEL.split(block)[:: LABEL.groups + 1] if piece.strip(" .,;")]
    return pieces[-1] if pieces else ""


def _source(number: int, citation: Citation, *, is_shown: bool) -> str:
    if citation.place == "table":
        return f"{number}. {citation.shown_file}, computed from the table: {_sql(citation.quote)}"
    section = f'section "{citation.section}", ' if citation.section else ""
    quote = "" if is_shown else f': "{citation.quote}"'
    return f"{number}. {citation.address or citation.shown_file}, {section}{citation.shown_place}{quote}"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _sql(sql: str) -> str:
    """The whole of a query, so that a reader can repeat it: in one line, where that does not change it."""
    line = " ".join(sql.split())
    if sql.strip() == line or not re.search(r"['\"`]|--|/\*", sql):
        return f"`{line}`" if "`" not in line else f"`` {line} ``"
    return "\n\n   ```sql\n" + "\n".join(f"   {row}" for row in sql.strip().splitlines()) + "\n   ```"
