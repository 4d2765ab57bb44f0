"""Writing: a readable answer from what the other tasks found, every sentence with its label, nothing added.

Assembly: one answer from several findings; the request answered first, each thing once, labels kept.
"""

from collections.abc import Sequence
from itertools import zip_longest

from nodes.llm.offline.conversation import Call, Conversation, Reply, mail_quoted, missing_noted, with_confidence
from nodes.llm.offline.research import as_statement, best_quotes, research, searches, wanted_by_reviewer
from nodes.llm.offline.statements import Statement, bullets, deduplicated, statements_in
from nodes.llm.offline.words import joined, keywords, terms, title_of
from nodes.llm.sections import Section

LEAD = 3
"""Sentences that answer first."""
SECTION, UNSORTED = 6, 16
"""Statements of one section, at most; of findings without a heading."""
ADDED = 4
"""Quotations added because a reviewer asked for them."""
FIGURES = "Figures"
ADVICE = "Recommendations"
"""Headings of sections that are treated apart."""


def write(talk: Conversation) -> Reply:
    """Put the inputs together; look up what a reviewer missed in them; without inputs, do the research first."""
    statements = inputs_of(talk)
    if not statements:
        return research(talk)
    if calls := _lookups(talk, statements):
        return calls
    added = _added(talk, statements)
    text = composed([*added, *statements])
    sure = 0.8 if sum(bool(s.labels) for s in statements) > LEAD else 0.65
    return with_confidence(text + missing_noted(talk) + mail_quoted(talk), sure)


def inputs_of(talk: Conversation) -> list[Statement]:
    """What the inputs say, in order."""
    return [s for part in talk.all("input") for s in statements_in(part.body, part.attrs.get("task", ""))]


def composed(statements: Sequence[Statement]) -> str:
    """A lead, then a section for each heading of the inputs, figures together; nothing is said twice.

    A synthesis (a section with parts of its own) keeps what it shares with a plain section; advice repeats on purpose.
    """
    plain = deduplicated(statement for statement in statements if len(statement.trail) < 2)
    lead = leading(plain or deduplicated(statements), LEAD)
    advice = [statement for statement in statements if ADVICE in statement.trail]
    first = sorted((s for s in statements if s not in advice), key=lambda statement: len(statement.trail) < 2)
    rest = deduplicated([*lead, *first])[len(lead) :]
    parts = [" ".join(map(str, lead))]
    above = ""
    for trail, members in sections_of([*rest, *advice]):
        if len(trail) > 1 and trail[0] != above:
            parts.append(f"## {trail[0]}")
        above = trail[0] if trail else ""
        parts += [_heading(trail), bullets(members[: SECTION if trail else UNSORTED])]
    return "\n\n".join(part for part in parts if part)


def leading(statements: Sequence[Statement], most: int) -> list[Statement]:
    """The first statement of each section (agents put the best first), then the second ones, up to `most`."""
    groups: dict[tuple[object, ...], list[Statement]] = {}
    for statement in statements:
        if statement.labels:
            groups.setdefault((statement.task, statement.trail), []).append(statement)
    rounds = zip_longest(*groups.values())
    return [statement for one in rounds for statement in one if statement][:most]


def sections_of(statements: Sequence[Statement]) -> list[tuple[tuple[str, ...], list[Statement]]]:
    """The statements by their headings: plain sections first, figures next, sections with parts of their own last."""
    groups: dict[tuple[str, ...], list[Statement]] = {}
    for statement in statements:
        trail = (FIGURES,) if statement.is_computed and len(statement.trail) < 2 else statement.trail
        groups.setdefault(trail, []).append(statement)
    return sorted(
        groups.items(), key=lambda group: (len(group[0]) > 1, group[0] == (FIGURES,), _task_order(group[1][0]))
    )


def _task_order(statement: Statement) -> tuple[int, str]:
    """By task number where ids have one."""
    digits = "".join(ch for ch in statement.task if ch.isdigit())
    return (int(digits[:9]) if digits else 0, statement.task)


def _heading(trail: tuple[str, ...]) -> str:
    return f"{'#' * (min(len(trail), 3) + 1)} {trail[-1]}" if trail else ""


def _lookups(talk: Conversation, statements: Sequence[Statement]) -> list[Call]:
    """Searches for what the feedback asks for and the inputs do not speak of; once."""
    if talk.rounds or not talk.has("search") or not _lacking(talk, statements):
        return []
    return searches(talk)


def _lacking(talk: Conversation, statements: Sequence[Statement]) -> dict[str, str]:
    said = set(terms(" ".join(statement.words for statement in statements)))
    return {key: word for key, word in keywords(wanted_by_reviewer(talk)).items() if key not in said}


def _added(talk: Conversation, statements: Sequence[Statement]) -> list[Statement]:
    """What the sources say on what the reviewer missed, or that they say nothing."""
    lacking = _lacking(talk, statements)
    if not lacking:
        return []
    picks = [pick for pick in best_quotes(talk, 3 * ADDED) if pick.matched & lacking.keys()][:ADDED]
    trail = (f"On {joined(list(lacking.values())[:4])}",)
    if not picks:
        return [Statement(f"The sources say nothing on {joined(list(lacking.values())[:6])}.", (), trail)]
    return [Statement(s.text, s.labels, trail) for s in map(as_statement, picks)]


def assemble(talk: Conversation) -> str:
    """The answer, in Markdown."""
    statements = [statement for part in talk.all("finding") for statement in _statements(part)]
    if not statements:
        return "The findings are empty: no task delivered anything that answers the request."
    return composed(statements)


def _statements(part: Section) -> list[Statement]:
    """The statements of a finding, below its own headings or below what its task is called."""
    title = part.attrs.get("title") or part.attrs.get("description") or ""
    trail = (title_of(title),) if title else ()
    return [
        s if s.trail else Statement(s.text, s.labels, trail, s.task)
        for s in statements_in(part.body, part.attrs.get("task", ""))
    ]
