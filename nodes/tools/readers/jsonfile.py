"""JSON and JSON Lines: text by lines, and a table where it is a list of objects, or objects by name, or by column.

Invalid JSON is just text.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any

from nodes.tools.document import Document, Grid, Listing
from nodes.tools.passages import place
from nodes.tools.readers.decoding import decode, lines_of
from nodes.tools.readers.drawn import COLUMNS
from nodes.tools.readers.plain import text_document

TRIED = 50
"""Lists that are looked at for the one that is the table."""
NAMED = 3
"""Objects that stand under names of their own, at least, for them to be the rows of a table."""
_BEGIN = re.compile(r"\[\s*(?=\{)|\{\s*(?=\")")
_BETWEEN = re.compile(r"\s*,?\s*(?:\"(?:[^\"\\]|\\.)*\"\s*:\s*)?")


def read_json(file: str, data: bytes) -> Document:
    """A JSON file, with its table if it has one.

    Raises:
        Unreadable: it is not text, or there is nothing in it.
    """
    text = decode(data)
    try:
        names, records = _records(_parse(file, text))
    except (ValueError, RecursionError):
        return text_document(file, text)
    document = text_document(file, text, "json", _grid(names, records) if records else None)
    if document.grid is None:
        return document
    places = [place("L", *lines) for lines in _lines(file, text, records)]
    listing = Listing(file, document.grid.header, document.grid.rows, places, *places[:1])
    return replace(document, inner=[listing] if places else [])


def _lines(file: str, text: str, records: Sequence[dict[str, Any]]) -> list[tuple[int, int]]:
    """The first and last line of each record, as lines are counted in the file; nothing where they are not found."""
    ends = list(accumulate(map(len, lines_of(text))))
    decoder = json.JSONDecoder()
    starts = [0] if file.lower().endswith(".jsonl") else [m.end() for m in islice(_BEGIN.finditer(text), TRIED)]
    for start in starts:
        end, found = start, list[tuple[int, int]]()
        while len(found) < len(records):
            gap = _BETWEEN.match(text, end)
            at = gap.end() if gap else end
            try:
                value, end = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                break
            if value == records[len(found)]:
                found.append((bisect_right(ends, at) + 1, bisect_right(ends, end - 1) + 1))
            elif not gap or ":" not in gap[0]:  # among objects by name are some that are no rows
                break
        if len(found) == len(records):
            return found
    return []


def _parse(file: str, text: str) -> Any:
    if file.lower().endswith(".jsonl"):
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    return json.loads(text)


def _records(value: Any) -> tuple[list[str], list[dict[str, Any]]]:
    """The names and the objects of a list of objects, of objects by name, or of the only ones in it; else nothing.

    A list has no names. `{"data": [...]}` is the list, `{"ada": {"born": 1815}, ...}` are objects by name.
    """
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return [], value
    if not isinstance(value, dict):
        return [], []
    rows = {name: item for name, item in value.items() if not name.startswith("_")}
    if len(rows) >= NAMED and all(isinstance(item, dict) and item for item in rows.values()):
        if all(item.keys() == {str(at) for at in range(len(item))} for item in rows.values()):
            longest = max(rows.values(), key=len)
            return [], [{name: item.get(at) for name, item in rows.items()} for at in longest]
        if set.intersection(*(set(item) for item in rows.values())):
            return [*rows], [*rows.values()]
    inner = [_records(item) for item in value.values()]
    lists = [found for item, found in zip(value.values(), inner, strict=True) if found[1] and isinstance(item, list)]
    named = [found for found in inner if found[0]]
    if chosen := lists or named:
        return chosen[0] if len(chosen) == 1 else ([], [])
    return [], []


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """The record with what an object in it says as fields of their own: `medals gold`."""
    parts = (
        {f"{key} {name}": one for name, one in part.items()} if isinstance(part, dict) else {key: part}
        for key, part in record.items()
    )
    return {key: one for fields in parts for key, one in fields.items()}


def _grid(names: Sequence[str], records: Sequence[dict[str, Any]]) -> Grid | None:
    """The table of records; the names of those that have any are its first column."""
    records = [_flat(record) for record in records]
    header = list(dict.fromkeys(key for record in records for key in record))
    if names:
        column = next(one for one in ("name", "key", "entry", "") if one not in header)
        records = [{column: name, **record} for name, record in zip(names, records, strict=True)]
        header.insert(0, column)
    if not 0 < len(header) <= COLUMNS:
        return None
    return Grid(header, [[_cell(record.get(key)) for key in header] for record in records])


def _cell(value: Any) -> str | None:
    """As text, the way a CSV file would have it; lists and objects as JSON. Lone surrogates become `?`."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", errors="replace").decode("utf-8")
