"""JSON and JSON Lines: text by lines, and a table where it is a list of objects. Invalid JSON is just text."""

import json
from collections.abc import Sequence
from typing import Any

from nodes.tools.document import Document, Grid
from nodes.tools.readers.decoding import decode
from nodes.tools.readers.plain import text_document

COLUMNS = 500


def read_json(file: str, data: bytes) -> Document:
    """A JSON file, with its table if it has one.

    Raises:
        Unreadable: it is not text, or there is nothing in it.
    """
    text = decode(data)
    try:
        records = _records(_parse(file, text))
    except (ValueError, RecursionError):
        return text_document(file, text)
    return text_document(file, text, "json", _grid(records) if records else None)


def _parse(file: str, text: str) -> Any:
    if file.lower().endswith(".jsonl"):
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    return json.loads(text)


def _records(value: Any) -> list[dict[str, Any]]:
    """The list of objects that it is, or the only one in it (`{"data": [...]}`); else nothing."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return value
    if isinstance(value, dict):
        inner = [found for item in value.values() if isinstance(item, list) and (found := _records(item))]
        return inner[0] if len(inner) == 1 else []
    return []


def _grid(records: Sequence[dict[str, Any]]) -> Grid | None:
    header = list(dict.fromkeys(key for record in records for key in record))
    if not 0 < len(header) <= COLUMNS:
        return None
    return Grid(header, [[_cell(record.get(key)) for key in header] for record in records])


def _cell(value: Any) -> str | None:
    """As text, the way a CSV file would have it; lists and objects as JSON. Lone surrogates become `?`."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", errors="replace").decode("utf-8")
