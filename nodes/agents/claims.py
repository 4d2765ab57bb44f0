"""From a result's text to claims with citations: each statement, the places it names, and what stands there."""

import re
from collections.abc import Mapping

from rapidfuzz import fuzz, process

from nodes.tools.sources import Sources
from state.citation import LABEL, Citation, Claim, labels_in, without_labels
from state.errors import ToolRefused

LONGEST_QUOTE = 400
"""Characters of a source shown for a claim that quotes nothing itself."""

WORDS_OF_A_QUOTE = 5
"""From this many words on, what is in quotation marks has to stand in the source; below it is a manner of speech."""

_ONE = LABEL.pattern.replace("?P<file>", "").replace("?P<place>", "")
_LABELS = re.compile(rf"{_ONE}(?:[ \t]*{_ONE})*[.;,]?")
"""A run of labels. It begins with one: a pattern that began before it would be tried at every character."""
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_QUOTED = re.compile(r"[\"“„«](?P<quote>.{8,4000}?)[\"”“»]", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n{2,}|\n(?=\s*[-*+|#])")


def claims_in(
    text: str, task_id: str, sources: Sources | None, computed: Mapping[str, str] | None = None
) -> list[Claim]:
    """The statements in `text`, in order. `computed`: the SQL behind each query result, by the result's text."""
    claims = []
    for block in _blocks(text):
        for segment in _segments(block):
            statement = _BULLET.sub("", without_labels(segment)).strip()
            if statement and not statement.startswith("#"):
                labels = labels_in(segment)
                citations = [_citation(file, place, statement, sources, computed or {}) for file, place in labels]
                claims.append(Claim(text=statement, citations=citations, task_id=task_id))
    return claims


def _blocks(text: str) -> list[str]:
    """Paragraphs and list items; a quotation that goes over several lines stays in one piece."""
    blocks: list[list[str]] = []
    for line in text.splitlines():
        starts = not line.strip() or _BULLET.match(line) or line.lstrip().startswith(("#", "|", ">"))
        if starts or not blocks or not blocks[-1][-1].strip():
            blocks.append([line])
        else:
            blocks[-1].append(line)
    return ["\n".join(lines) for lines in blocks if lines[0].strip()]


def _segments(block: str) -> list[str]:
    """A block cut after each run of labels; what follows the last one is a segment of its own."""
    found, end = [], 0
    for match in _LABELS.finditer(block):
        found.append(block[end : match.end()])
        end = match.end()
    return [*found, block[end:]] if block[end:].strip() else found


def _citation(file: str, place: str, statement: str, sources: Sources | None, computed: Mapping[str, str]) -> Citation:
    """The citation for a label; its quote is empty where the label points nowhere or the statement misquotes."""
    if sources is None:
        return Citation(file=file, place=place)
    name = sources.resolve(file) or file
    if place == "table" and name in sources.tables.by_file:
        return Citation(file=name, place=place, quote=_computation(statement, f"[{name}#table]", computed))
    try:
        there = sources.text_at(name, place)
    except ToolRefused:
        return Citation(file=name, place=place)
    quote = _quote(statement, there)
    return Citation(file=name, place=place, quote=quote, exact=_narrowed(place, there, quote))


def _narrowed(place: str, there: str, quote: str) -> str:
    """The lines that `quote` takes within the lines of `place`; empty for pages and rows."""
    if not quote or place[0] != "L" or quote not in there:
        return ""
    first = int(place.partition("-")[0][1:]) + there[: there.index(quote)].count("\n")
    return f"L{first}-L{first + quote.count(chr(10))}"


def _computation(statement: str, label: str, computed: Mapping[str, str]) -> str:
    """The SQL whose result has most of the statement's figures; empty where no query used that table."""
    figures = _figures(statement)
    results = [(len(figures & _figures(text)), sql) for text, sql in computed.items() if label in text]
    return max(results, key=lambda found: found[0])[1] if results else ""


def _figures(text: str) -> set[str]:
    return set(_NUMBER.findall(text.replace(",", "")))


def _quote(statement: str, there: str) -> str:
    """What the statement quotes from `there`, to the letter, or else the sentence there that it is closest to."""
    quoted = [match["quote"] for match in _QUOTED.finditer(statement)]
    if found := next((quote for quote in quoted if quote in there), None):
        return found
    if any(len(quote.split()) >= WORDS_OF_A_QUOTE for quote in quoted):
        return ""
    sentences = [s.strip() for s in _SENTENCE_END.split(there) if s.strip()]
    if not sentences:
        return ""
    best = process.extractOne(statement, sentences, scorer=fuzz.token_set_ratio)
    return str(best[0])[:LONGEST_QUOTE]
