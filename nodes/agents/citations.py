"""Checking citations: what a text quotes and which figures it gives, looked for in the sources.

A quotation is looked for in the cited place, then in the file (the line is corrected), then in all sources; what stands
nowhere is marked. The figures of a statement have to stand in the passage it cites, or in the result of its query.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from rapidfuzz import fuzz, process

from nodes.policy.figures import Evidence, is_swapped
from nodes.policy.negation import is_turned
from nodes.policy.statements import LabelAt, Quotation, Statement, statements_in
from nodes.tools.document import Located
from nodes.tools.sources import Sources
from state.agent import Brief
from state.citation import Citation, Claim
from state.conversation import Turn
from state.errors import ToolRefused
from state.quotation import Part, Wording, parts_of, says_no
from state.record import TaskRecord

PASSAGE = 4_000
"""Characters of a cited place up to which all of it is compared with a statement; of a longer one, the sentence that is
closest."""
LONGEST_QUOTE = 400
"""Characters of a source shown for a claim that quotes nothing itself."""
SEVERAL = 3
"""Words of a value from which on it is known again elsewhere in a file than where it was said to stand."""
_SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"”“’»)]))\s+|\n{2,}|\n(?=\s*[-*+|#])")


@dataclass(frozen=True, slots=True)
class Checked:
    """A text whose statements were looked up."""

    text: str
    """With its labels put right; what stands nowhere is marked `(unverified)`, a label with its file."""
    claims: list[Claim]


def claims_in(
    text: str, task_id: str, sources: Sources | None, computed: Mapping[str, str] | None = None, asked: str = ""
) -> list[Claim]:
    """The statements in `text`, in order, each with the places that bear it out (see `check`)."""
    return check(text, task_id, sources, computed, asked).claims


def check(
    text: str, task_id: str, sources: Sources | None, computed: Mapping[str, str] | None = None, asked: str = ""
) -> Checked:
    """`text` with its statements looked up. Blocking.

    Args:
        text: an answer in Markdown, with labels.
        task_id: the task it came from; empty for the answer of a run.
        sources: where to look; without any, every label is unverified and nothing else is looked at.
        computed: the SQL behind each query result, by the result's text.
        asked: the user's own words: to quote them claims nothing about the sources.
    """
    checker = _Checker(sources, computed or {}, Wording(asked))
    statements = statements_in(text)
    verdicts = [checker.verdict(statement) for statement in statements]
    for lead, verdict, before in zip(statements, verdicts[1:], verdicts, strict=False):
        if verdict.is_lent and not (lead.quotations or lead.figures):  # the quotation says it, or nothing does
            mark = _unverified if verdict.unverified else lambda _: ""
            before.edits = [(at.start, at.end, mark(at.file)) for at in lead.labels]
            before.citations = [Citation(file=at.file, place=at.place) for at in lead.labels if verdict.unverified]
    claims = [
        Claim(text=statement.text, citations=verdict.citations, task_id=task_id, unverified=verdict.unverified)
        for statement, verdict in zip(statements, verdicts, strict=True)
        if not statement.is_heading
    ]
    edits = [edit for verdict in verdicts for edit in verdict.edits]
    return Checked(_edited(text, edits), claims)


def citation_of(value: str, file: str, place: str, sources: Sources) -> Citation | None:
    """Where a value stands, to the letter, in a place or, where it has several words, in its file; None if nowhere."""
    checker, at = _Checker(sources, {}, Wording("")), LabelAt(0, 0, file, place)
    for parts in parts_of(value):
        if found := checker.at_label(parts, at, sources, denies=False):
            return found
    for parts in parts_of(value) if len(value.split()) >= SEVERAL else []:
        if (located := sources.find(parts, file)) and not located.found.denied:
            return checker.corrected(located, sources)
    return None


def asked_in(brief: Brief) -> str:
    """What the user has said, as far as an agent was told."""
    return "\n\n".join([brief.query, brief.task.description, *(m.text for m in brief.mail if m.sender == "user")])


def computations(records: Iterable[TaskRecord], earlier: Iterable[Turn] = ()) -> dict[str, str]:
    """How the figures of tasks and of earlier answers were computed, by their statement: others repeat them."""
    claims = [claim for turn in earlier for claim in turn.computed]
    claims += [claim for record in records if record.outcome for claim in record.outcome.claims]
    return {
        f"{claim.text} {citation.label}": citation.quote
        for claim in claims
        for citation in claim.citations
        if citation.place == "table" and citation.quote
    }


Edit = tuple[int, int, str]


@dataclass(slots=True)
class _Verdict:
    citations: list[Citation] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    is_lent: bool = False
    """Whether it is about a quotation whose label stands in the line before."""


@dataclass(slots=True)
class _Quoted:
    """A quotation and what became of it."""

    quotation: Quotation
    citation: Citation | None
    """Where it stands; None if nowhere."""
    label: LabelAt | None
    """The label whose place or file it stands in, if any."""


@dataclass(frozen=True, slots=True)
class _Checker:
    sources: Sources | None
    computed: Mapping[str, str]
    asked: Wording
    known: dict[tuple[str, str], list[Evidence]] = field(default_factory=dict)
    """What stands in each place that was cited, read once."""

    def verdict(self, statement: Statement) -> _Verdict:
        """What bears the statement out, and what has to be marked in the text."""
        if self.sources is None:
            bare = list(dict.fromkeys(Citation(file=at.file, place=at.place) for at in statement.labels))
            return _Verdict(bare, [], [(at.start, at.end, _unverified(at.file)) for at in statement.labels])
        quoted = [made for q in statement.quotations if (made := self._quoted(q, statement, self.sources))]
        found = [one for one in quoted if one.citation]
        missing = [one for one in quoted if not one.citation]
        if not statement.labels:
            return _unlabelled(found, missing, is_lent=bool(statement.lent and quoted))
        wrong = self._wrong_figures(statement, self.sources)
        labels: dict[LabelAt, list[Citation]] = {}
        same: dict[tuple[str, str], list[Citation]] = {}
        for at in statement.labels:
            if (at.file, at.place) not in same:
                failed = bool(missing or wrong)
                same[at.file, at.place] = self._of_label(at, statement, found, self.sources, failed=failed)
            labels[at] = same[at.file, at.place]
        return _labelled(labels, found, missing, wrong)

    def _quoted(self, quotation: Quotation, statement: Statement, sources: Sources) -> _Quoted | None:
        """Where a quotation stands; None where it claims nothing: the user's own words, a term, a short one alone."""
        labels = list({(at.file, at.place): at for at in [*statement.labels, *statement.lent]}.values())
        if not labels and (quotation.is_code or not quotation.is_long):  # code may be a proposal
            return None
        readings = [parts for reading in quotation.readings for parts in parts_of(reading)]
        if not readings or any(self.asked.find(parts) for parts in readings):
            return None
        if _named(quotation) in sources.names:
            return None
        denies = says_no(_outside(statement, quotation))
        for parts in readings:
            for at in labels:
                if citation := self.at_label(parts, at, sources, denies=denies):
                    return _Quoted(quotation, citation, at)
        for parts in readings:
            for at in labels:
                if (located := sources.find(parts, at.file)) and _counts(located, denies=denies):
                    return _Quoted(quotation, self.corrected(located, sources), at)
        for parts in readings:
            if (located := sources.find_anywhere(parts)) and _counts(located, denies=denies):
                return _Quoted(quotation, self.corrected(located, sources), None)
        return None if quotation.is_term else _Quoted(quotation, None, None)

    def at_label(self, parts: Sequence[Part], at: LabelAt, sources: Sources, *, denies: bool) -> Citation | None:
        """The citation of a label in whose place a quotation stands."""
        name = sources.resolve(at.file) or at.file
        if at.place == "table":
            label = f"[{name}#table]"
            sql = next((q for text, q in self.computed.items() if label in text and Wording(text).find(parts)), None)
            return Citation(file=name, place=at.place, quote=sql) if sql else None
        located = sources.find(parts, at.file, at.place)
        if located is None or not _counts(located, denies=denies):
            return None
        exact = located.place if at.place.startswith("L") else located.cells
        return self._cited(name, at.place, located.quote, sources, exact)

    def corrected(self, located: Located, sources: Sources) -> Citation:
        return self._cited(located.file, located.place, located.quote, sources, located.cells)

    def _cited(self, file: str, place: str, quote: str, sources: Sources, exact: str = "") -> Citation:
        section = sources.trail_at(file, exact if exact.startswith("L") else place)
        return Citation(
            file=file, place=place, quote=quote, exact=exact, section=section, address=sources.addresses.get(file, "")
        )

    def _of_label(
        self, at: LabelAt, statement: Statement, found: Sequence[_Quoted], sources: Sources, *, failed: bool
    ) -> list[Citation]:
        """What a label stands for: the quotations found there, or what it is closest to in its place."""
        mine = [one.citation for one in found if one.citation and one.label and _is_alike(one.label, at)]
        if mine:
            first = next((one for one in mine if one.place == at.place), None)  # one place, one source
            moved = [one for one in mine if one.place != at.place]
            return list(dict.fromkeys([*([first] if first else []), *moved]))
        strays = [one.citation for one in found if one.citation and one.label is None]
        if strays and at == statement.labels[0]:
            return list(dict.fromkeys(strays))
        name = sources.resolve(at.file) or at.file
        nothing = [Citation(file=name, place=at.place)]
        if failed:
            return nothing
        if at.place == "table" and name in sources.tables.by_file:
            return self._computations(statement, name) or nothing
        try:
            there = sources.text_at(name, at.place)
        except ToolRefused:
            return nothing
        quote = _closest(statement.text, there)
        located = sources.find([Part(Wording(quote).text.strip())], name, at.place) if quote else None
        exact = located.place if located and at.place[0] == "L" else sources.cells_at(name, at.place)
        return [self._cited(name, at.place, quote, sources, exact)]

    def _computations(self, statement: Statement, file: str) -> list[Citation]:
        """The queries whose results have the statement's figures, as few as it takes; most figures first."""
        label = f"[{file}#table]"
        left = set(range(len(statement.figures)))
        results = [
            (Evidence([text, sql], rounded=True), text, sql) for text, sql in self.computed.items() if label in text
        ]
        chosen: list[str] = []
        while results:
            scored = [
                (
                    sum(evidence.has(statement.figures[n], statement.sentence) for n in left),
                    fuzz.token_set_ratio(statement.text, text) if not chosen else 0,
                    -n_result,
                )
                for n_result, (evidence, text, _) in enumerate(results)
            ]
            best = max(range(len(results)), key=lambda n: scored[n])
            if chosen and not scored[best][0]:
                break
            evidence, _, sql = results.pop(best)
            chosen.append(sql)
            left = {n for n in left if not evidence.has(statement.figures[n], statement.sentence)}
            if not left:
                break
        return [Citation(file=file, place="table", quote=sql) for sql in dict.fromkeys(chosen)]

    def _wrong_figures(self, statement: Statement, sources: Sources) -> list[str]:
        """The figures of a statement that nothing it cites bears out; all of it, where it turns what stands there."""
        said, read = statement.sentence, self._read(statement, sources)
        wrong = [
            said[figure.start : figure.end]
            for figure in statement.figures
            if read and not any(evidence.has(figure, said) for evidence in read)
        ]
        if wrong or not read:
            return wrong
        near = [text if len(text) <= PASSAGE else _closest(said, text) for text in (one.text for one in read)]
        if len(statement.figures) > 1 and any(is_swapped(said, text) for text in near):
            return [said[figure.start : figure.end] for figure in statement.figures]
        if statement.quotations or any(at.place == "table" for at in statement.labels):
            return []
        return [said.strip()] if is_turned(said, _closest(said, "\n\n".join(near))) else []

    def _read(self, statement: Statement, sources: Sources) -> list[Evidence]:
        """What stands in the places that a statement cites, and what was computed from their tables."""
        places = dict.fromkeys((at.file, at.place) for at in [*statement.labels, *statement.lent])
        for file, place in places:
            if (file, place) not in self.known:
                self.known[file, place] = list(self._evidence(file, place, sources))
        return [evidence for key in places for evidence in self.known[key]]

    def _evidence(self, file: str, place: str, sources: Sources) -> Iterator[Evidence]:
        name = sources.resolve(file) or file
        if place == "table":
            texts = [f"{text}\n{sql}" for text, sql in self.computed.items() if f"[{name}#table]" in text]
            yield from (Evidence([text], rounded=True) for text in texts)
            return
        with suppress(ToolRefused):
            yield Evidence([f"{name}\n{sources.trail_at(name, place)}\n{sources.shown_at(name, place)}"])


def _labelled(
    labels: Mapping[LabelAt, list[Citation]],
    found: Sequence[_Quoted],
    missing: Sequence[_Quoted],
    wrong: Sequence[str],
) -> _Verdict:
    """The verdict on a statement with labels; where it is right in part, each quotation gets its own."""
    citations = list(dict.fromkeys(citation for cited in labels.values() for citation in cited))
    unverified = [one.quotation.readings[-1] for one in missing] + list(wrong)
    edits: list[Edit] = []
    if found and unverified:
        edits += [(one.quotation.end, one.quotation.end, f" {one.citation.label}") for one in found if one.citation]
        edits += [(one.quotation.end, one.quotation.end, " (unverified)") for one in missing]
        kept = [citation for one in found if (citation := one.citation)]
        citations = list(dict.fromkeys([*kept, *(c for c in citations if not c.quote)]))
        edits += [(at.start, at.end, _unverified(at.file) if wrong else "") for at in labels]
        return _Verdict(citations, unverified, edits)
    said: set[str] = set()
    for at, cited in labels.items():
        shown = [citation.label for citation in cited if citation.quote and citation.label not in said]
        repeated = any(citation.quote for citation in cited) and not shown
        said.update(shown)
        edits.append((at.start, at.end, "" if repeated else " ".join(dict.fromkeys(shown)) or _unverified(at.file)))
    strays = [one.citation for one in found if one.citation and one.citation not in citations]
    for citation in dict.fromkeys(strays):
        end = max(at.end for at in labels)
        if citation.label not in said:
            edits.append((end, end, f" {citation.label}"))
            said.add(citation.label)
        citations.append(citation)
    return _Verdict(citations, unverified, edits)


def _unlabelled(found: Sequence[_Quoted], missing: Sequence[_Quoted], *, is_lent: bool) -> _Verdict:
    """The verdict on a statement without labels: its long quotations get one, or are marked."""
    marks = [(one.quotation, f" {one.citation.label}") for one in found if one.citation]
    marks += [(one.quotation, " (unverified)") for one in missing]
    return _Verdict(
        list(dict.fromkeys(one.citation for one in found if one.citation)),
        [one.quotation.readings[-1] for one in missing],
        [(quotation.end, quotation.end, mark) for quotation, mark in marks],
        is_lent,
    )


def _unverified(file: str) -> str:
    return f"(unverified: {file})"


def _edited(text: str, edits: Iterable[Edit]) -> str:
    pieces: list[str] = []
    end = 0
    for first, last, mark in sorted(edits, key=lambda edit: edit[:2]):
        piece = text[end:first]
        pieces += (piece if mark else piece.rstrip(" \t"), mark)
        end = last
    return "".join([*pieces, text[end:]])


def _is_alike(one: LabelAt, other: LabelAt) -> bool:
    return (one.file, one.place) == (other.file, other.place)


def _counts(located: Located, *, denies: bool) -> bool:
    """Whether a quotation found there says there what the statement makes of it."""
    return denies or not located.found.denied


def _outside(statement: Statement, quotation: Quotation) -> str:
    """What a statement says in its own words."""
    text = statement.text
    for one in [*statement.quotations, quotation]:
        for reading in one.readings:
            text = text.replace(reading, " ")
    return text


def _named(quotation: Quotation) -> str:
    return quotation.readings[-1].strip(" .,;:").casefold()


def _closest(statement: str, there: str) -> str:
    """The sentence of `there` that a statement is closest to, to the letter; empty if there is none."""
    sentences = _sentences(there)
    if not sentences:
        return ""
    best = process.extractOne(statement, sentences, scorer=fuzz.token_set_ratio)
    return str(best[0])[:LONGEST_QUOTE]


@lru_cache(maxsize=32)
def _sentences(there: str) -> tuple[str, ...]:
    """Cut once for all statements that cite the same place."""
    return tuple(s.strip() for s in _SENTENCE_END.split(there) if s.strip())
