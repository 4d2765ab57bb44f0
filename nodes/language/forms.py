"""Fills in a form, a JSON schema, by the names of its fields from values that have names: cells of rows, `Price: 12`.

Where the sources say different things of one field, and neither the request nor the form tells which is meant, it stays
null, and the reason names what they say. What no row and no label holds stays null.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic import JsonValue

from nodes.language.table_questions import asked
from nodes.language.table_schema import Row, Table
from nodes.language.table_words import AGGREGATES, STOP_CELLS, alike
from nodes.language.words import STOP_WORDS, keywords, words
from nodes.policy.figures import figures_in, is_for_limits, is_limit
from nodes.policy.schemas import Path, faults, parts_at, pointer, possible_types, words_of

FITS = 0.5
"""Share of the words of a field and a label together that both have, from which on the one is meant by the other."""
THOUSAND = 3
"""The scale of a `k`, which is never a unit of what is counted; `m` may be metres."""
LISTED = 3
"""Values that a reason names."""

_LIMITS = re.compile(
    r"\b(?:under|below|over|above|between|(?:more|less|\w{3,}er)\s+than|"
    r"at (?:most|least)|up to|before|after|since|until|except|excluding|without|not)\b",
    re.IGNORECASE,
)
_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
_COUNT = rf"\d{{1,3}}|{'|'.join(_COUNTS)}"
_RANKS = f"first|{AGGREGATES['max']}|{AGGREGATES['min']}"
_FIRST = re.compile(
    rf"\b(?:{_RANKS})\s+(?P<after>{_COUNT})\b|\b(?P<before>{_COUNT})\s+\w+s\s+(?:\w+\s+){{0,5}}?(?:{_RANKS})\b",
    re.IGNORECASE,
)
_TRUE, _FALSE = frozenset({"yes", "true", "ja", "y"}), frozenset({"no", "false", "nein", "n"})


@dataclass(frozen=True, slots=True)
class Said:
    """A value under a name, with its place and what stands around it."""

    label: str
    """As citations have it: `guide.md#L3`."""
    name: str
    value: str
    around: str = ""
    """The file and the heading above."""


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a table."""

    values: tuple[Said, ...]
    table: Table

    def best(self, field: str) -> Said | None:
        """What it says of a field."""
        found = max(self.values, key=lambda said: fit(field, said.name), default=None)
        return found if found and fit(field, found.name) >= FITS else None


def fit(field: str, name: str) -> float:
    """How well a name fits a field: the share of the words of both that they have in common, 0 to 1."""
    own, other = _words(field), _words(name)
    if own and "".join(own) == "".join(other):
        return 1.0
    mine = [word for word in own if any(alike(word, one) for one in other)]
    its = [word for word in other if any(alike(one, word) for one in own)]
    return (len(mine) + len(its)) / (len(own) + len(other)) if mine else 0.0


class Form:
    """One form as it is filled in, for a request, from what is said and from the rows of tables."""

    def __init__(self, request: str, said: Sequence[Said], tables: Sequence[list[Record]]) -> None:
        self._goal = request
        self._asked = {word.lower() for word in keywords(request).values()}
        self._said = said
        self._tables = tables
        self.basis: dict[str, dict[str, JsonValue]] = {}
        """By JSON pointer: `sources` or `reason`."""

    def filled(self, schema: Any, path: Path, record: Record | None = None) -> JsonValue:
        """A value for a part of the form. `record`: what it is about, where that is settled."""
        types = possible_types(schema) - {"null"}
        if "object" in types:
            return self._object(schema, path, record)
        if "array" in types and "string" not in types:
            return self._list(schema, path, record)
        return self._value(schema, path, record)

    def _object(self, schema: Any, path: Path, record: Record | None) -> JsonValue:
        own = _properties(schema)
        record = record or self._meant(own, path)
        return {name: self.filled(part, (*path, name), record) for name, part in own.items()}

    def _list(self, schema: Any, path: Path, record: Record | None) -> JsonValue:
        items: Any = next((part["items"] for part in parts_at(schema, ()) if part.get("items")), {})
        own = _properties(items)
        if not own:
            return self._plain_list(items, path, record)
        found = self._found(own)
        if not found:
            return self._nothing(path, f"no table holds {_listed(list(own))}")
        is_unclear = _FIRST.search(self._goal) and not self._chosen(found, self._goal)[1]
        if _LIMITS.search(self._goal) or is_unclear:
            return self._nothing(path, "rules cannot tell which of the rows the request asks for")
        return [self._object(items, (*path, number), one) for number, one in enumerate(found)]

    def _plain_list(self, items: Any, path: Path, record: Record | None) -> JsonValue:
        """Texts or numbers: what stands in one cell with commas between, or in a column."""
        name = words_of(path[-1:])
        own = record.best(name) if record else self._one([s for s in self._said if fit(name, s.name) >= FITS], path)
        if own:
            made = [_fitted(one.strip(), items, name) for one in re.split(r"[,;]\s+|\s+\|\s+", own.value)]
            if None not in made:
                self.basis[pointer(path)] = {"sources": [own.label]}
                return made
        column = [said for rows in self._tables for one in rows if (said := one.best(name))]
        found = {
            value: said.label for said in reversed(column) if (value := _fitted(said.value, items, name)) is not None
        }
        if not found or record or _LIMITS.search(self._goal):
            return self._nothing(path, f"no table and no label holds {name!r}")
        values = list(reversed(found.items()))
        self.basis |= {pointer((*path, n)): {"sources": [label]} for n, (_, label) in enumerate(values)}
        return [value for value, _ in values]

    def _value(self, schema: Any, path: Path, record: Record | None) -> JsonValue:
        name = words_of(path[-1:])
        if record and (own := record.best(name)) and (value := _fitted(own.value, schema, name)) is not None:
            return self._from(own, value, path)
        if record and isinstance(path[-2], int):
            return self._nothing(path, f"nothing that fits is said of {name!r} there")
        named = [said for said in self._said if fit(name, said.name) >= FITS]
        fitting = [said for said in named if _fitted(said.value, schema, name) is not None]
        best = max((fit(name, said.name) for said in fitting), default=0.0)
        chosen = [said for said in fitting if fit(name, said.name) == best]
        if own := self._one(chosen, path):
            return self._from(own, _fitted(own.value, schema, name), path)
        told = _listed(list(dict.fromkeys(f"{said.value[:60]} [{said.label}]" for said in chosen or named)))
        if chosen:
            return self._nothing(path, f"the sources say different things: {told}")
        why = f"what is said of {name!r} does not fit: {told}" if told else ""
        return self._nothing(path, why or f"no row of a table and no label names {name!r}")

    def _one(self, found: Sequence[Said], path: Path) -> Said | None:
        """The one that is meant: where values differ, the one whose surroundings the request or the form names."""
        if len({_flat(said.value) for said in found}) <= 1:
            return found[0] if found else None
        wanted = self._asked | set(_words(words_of(path[:-1])))
        scored = [
            (len([w for w in wanted if any(alike(one, w) for one in _words(said.around))]), said) for said in found
        ]
        most = max(score for score, _ in scored)
        closest = [said for score, said in scored if score == most]
        return closest[0] if most and len({_flat(said.value) for said in closest}) == 1 else None

    def _meant(self, own: Mapping[str, Any], path: Path) -> Record | None:
        """The row that an object is about: the one that the request names, or ranks first."""
        simple = [words_of((name,)) for name, part in own.items() if not _properties(part)]
        rows = self._rows(simple, least=1)
        if not rows:
            return None
        for question in (f"{words_of(path)} {' '.join(simple)}" if path else "", self._goal):
            kept, is_ranked = self._chosen(rows, question)
            if kept and (is_ranked or len(kept) == 1):
                return kept[0]
        return None

    def _found(self, own: Mapping[str, Any]) -> list[Record]:
        """The records of a list: rows of the table that has most of its fields."""
        names = [words_of((name,)) for name in own]
        kept, is_ranked = self._chosen(self._rows(names, least=min(2, len(names))), self._goal)
        return kept[: self._first()] if is_ranked else kept

    def _rows(self, names: Sequence[str], least: int) -> list[Record]:
        """The rows of the table with most of the fields, if it has enough; of several the one that is asked of.

        Of tables with the same columns that fit as well, all, unless they speak of the same things.
        """

        def score(rows: Sequence[Record]) -> tuple[int, int]:
            held = sum(any(row.best(name) for row in rows[:LISTED]) for name in names)
            return held, len(self._asked & set(_words(rows[0].table.file)))

        best = max(self._tables, key=score, default=[])
        if not best or score(best)[0] < least:
            return []
        heads = [column.name for column in best[0].table.columns]
        like = [rows for rows in self._tables if [column.name for column in rows[0].table.columns] == heads]
        found = [row for rows in like if score(rows) == score(best) for row in rows]
        return found if len({row.values[0].value for row in found}) == len(found) else best

    def _chosen(self, rows: Sequence[Record], question: str) -> tuple[list[Record], bool]:
        """The rows with the cells that a question names, where it names any; and whether it ranks them."""
        wanted = f" {_spaced(question)} "
        named: dict[str, set[str]] = {}
        for said in (said for row in rows for said in row.values if not number_in(said.value)):
            cell = _spaced(said.value)
            if len(cell) > 1 and cell not in STOP_CELLS and f" {cell} " in wanted:
                named.setdefault(said.name, set()).add(said.value)
        kept = [row for row in rows if all(_cell(row, name) in cells for name, cells in named.items())]
        probed = [Row(col=name, cell=cell, different="b", whole="true") for name in named for cell in named[name]]
        reading = asked(question, rows[0].table, probed) if rows else None
        if not reading or reading.aggregate not in ("max", "min") or not reading.target:
            return kept, False
        amounts = [(amount, row) for row in kept if (amount := number_in(_cell(row, reading.target.name))) is not None]
        ranked = sorted(amounts, key=lambda one: one[0], reverse=reading.aggregate == "max")
        return [row for _, row in ranked], True

    def _first(self) -> int:
        """How many of a ranking the request asks for."""
        match = _FIRST.search(self._goal)
        count = (match["after"] or match["before"]).lower() if match else "1"
        return _COUNTS.get(count) or int(count)

    def _from(self, said: Said, value: JsonValue, path: Path) -> JsonValue:
        self.basis[pointer(path)] = {"sources": [said.label]}
        return value

    def _nothing(self, path: Path, reason: str) -> JsonValue:
        self.basis[pointer(path)] = {"reason": reason}
        return None


def _properties(schema: Any) -> Mapping[str, Any]:
    return {name: one for part in parts_at(schema, ()) for name, one in part.get("properties", {}).items()}


def _cell(row: Record, name: str) -> str:
    return next((said.value for said in row.values if said.name == name), "")


def _words(text: str) -> list[str]:
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).replace("_", " ")
    return [word.lower() for word in words(plain) if word.lower() not in STOP_WORDS]


def _spaced(text: str) -> str:
    return " ".join(word.lower() for word in words(text))


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def _listed(items: Sequence[str]) -> str:
    return ", ".join(items[:LISTED]) + (" …" if len(items) > LISTED else "")


def number_in(text: str) -> Decimal | None:
    """The one number in a text."""
    found = figures_in(text)
    if len(found) != 1:
        return None
    is_unit = found[0].is_unit and found[0].scale != THOUSAND
    return found[0].options[0].scaleb(0 if is_unit else found[0].scale)


def _fitted(text: str, schema: Any, name: str = "") -> JsonValue:
    """A text as a value of a field, if it has a name, that fits the schema; None where it does not."""
    types = possible_types(schema) - {"null"}
    made: list[JsonValue] = []
    plain = _flat(text).strip(" .")
    if "boolean" in types and plain in _TRUE | _FALSE:
        made.append(plain in _TRUE)
    number = number_in(text) if {"number", "integer"} & types else None
    if number is not None and (is_for_limits(name) or not is_limit(text, number)):
        made.append(int(number) if number == number.to_integral_value() else float(number))
    if "string" in types:
        choices = [one for part in parts_at(schema, ()) for one in part.get("enum", [])]
        made += [one for one in choices if isinstance(one, str) and _flat(one) == plain]
        made += [text.strip(), text.strip().rstrip(".")]
    return next((value for value in made if value not in ("", None) and not faults(value, schema)), None)
