"""Numbered sources: each label in a text becomes the number of what stands at its place."""

import re
from collections.abc import Sequence

from rapidfuzz import fuzz

from state.citation import LABEL, Citation
from state.record import TaskRecord

LONGEST_SQL = 160
"""Characters of a computation that are shown."""


class References:
    """The sources of one report, numbered in the order in which they are cited."""

    def __init__(self, records: Sequence[TaskRecord]) -> None:
        self._known: dict[str, list[tuple[str, Citation]]] = {}
        self._numbers: dict[Citation, int] = {}
        for claim in (claim for record in records if record.outcome for claim in record.outcome.claims):
            for citation in claim.citations:
                if citation.quote:  # who misquotes a place does not hide it from those who quote it
                    self._known.setdefault(citation.label, []).append((claim.text, citation))

    def numbered(self, text: str) -> str:
        """`text` with each label as a number; a label that points nowhere says so."""
        return LABEL.sub(lambda match: self._number(match, text), text)

    def listed(self) -> str:
        """The list of what was cited so far; empty if nothing was."""
        return "\n".join(_source(number, citation) for citation, number in self._numbers.items())

    def _number(self, match: re.Match[str], text: str) -> str:
        candidates = self._known.get(match.group())
        if not candidates:
            return f"(unverified: {match['file']})"
        statement = _before(text, match.start())
        _, citation = max(candidates, key=lambda known: fuzz.token_set_ratio(known[0], statement))
        return f"[{self._numbers.setdefault(citation, len(self._numbers) + 1)}]"


def _before(text: str, end: int) -> str:
    """The statement that a label at `end` belongs to: what stands before it, back to another statement's label."""
    block = text[max(text.rfind("\n\n", 0, end), text.rfind("\n- ", 0, end), 0) : end]
    pieces = [piece for piece in LABEL.split(block)[:: LABEL.groups + 1] if piece.strip(" .,;")]
    return pieces[-1] if pieces else ""


def _source(number: int, citation: Citation) -> str:
    if citation.place == "table":
        sql = " ".join(citation.quote.split())
        shown = sql if len(sql) <= LONGEST_SQL else sql[: LONGEST_SQL - 1].rstrip() + "…"
        return f"{number}. {citation.file}, computed from the table: `{shown}`"
    return f'{number}. {citation.file}, {_place(citation.exact or citation.place)}: "{citation.quote}"'


def _place(place: str) -> str:
    """`L12-L14` as `lines 12-14`."""
    word = {"L": "line", "p": "page", "r": "row"}[place[0]]
    first, _, last = place.partition("-")
    return f"{word}s {first[1:]}-{last[1:]}" if last and last != first else f"{word} {first[1:]}"
