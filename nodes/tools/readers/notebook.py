"""Jupyter notebooks: their cells, with what code printed."""

import json
from typing import Any

from nodes.tools.document import Document
from nodes.tools.passages import Heading
from nodes.tools.readers.decoding import Unreadable, decode, storable
from nodes.tools.readers.plain import headings_in, unit_document


def read_notebook(file: str, data: bytes) -> Document:
    """An ipynb file.

    Raises:
        Unreadable: it is none, or there is nothing in it.
    """
    try:
        cells = json.loads(decode(data))["cells"]
        texts = [_text(cell) for cell in cells]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable("it is no notebook of today's form (nbformat 4); save it again") from error
    above: dict[int, Heading] = {}
    heading: Heading | None = None
    for number, (cell, text) in enumerate(zip(cells, texts, strict=True), 1):
        if cell.get("cell_type") == "markdown":
            heading = next(iter(headings_in(text.split("\n")).values()), heading)
        if heading:
            above[number] = heading
    return unit_document(file, "notebook", "c", texts, above)


def _text(cell: Any) -> str:
    outputs = cell.get("outputs") or ()
    printed = (_joined(one.get("text") or (one.get("data") or {}).get("text/plain") or "") for one in outputs)
    return "\n".join([_joined(cell["source"]), *(text for text in printed if text.strip())])


def _joined(text: Any) -> str:
    return storable(text if isinstance(text, str) else "".join(map(str, text)))
