"""Codebooks: what a text beside a table says of its columns.

A definition list, bullets, headings, a data dictionary as Markdown or CSV: in all of them the name of a column begins a
line, and what it is follows. A text in the folder of a table is its codebook if it explains half of the columns; of
any other it is taken what the codes of a column mean, as of a table that begins with a column of its name (sites, say).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from textwrap import shorten

from nodes.tools.document import BREAK, Document
from nodes.tools.tables import Table

CHARS = 80
"""What is told of a column, at most; twice that where it may say what cells mean, three times of the table."""
TOGETHER = 6_000
"""Of all columns of all tables, roughly: the more there are, the less is told of each."""
LEAST = 20
"""Fewer characters tell nothing."""
KEYS = 40
"""Rows of a table that says what codes mean, at most."""
KEY_CHARS = 1_200
"""Of what codes mean, at most; it is told whole or not at all."""
LINES = 4_000
"""Of a text that is looked at."""
_BEGINNINGS = re.compile(r"^[^\w\n]*(\w+)", re.MULTILINE)
_DEFINED = r"^[^\w\n]{{0,12}}({})[`*_\"”]*(?: ?\([^()\n]*\))?(?:[ \t]*([:|,\t])|[ \t]+[-–—][ \t]|  |[ \t]*$)"
_CODES = re.compile(r"\b[\w.]{1,6} ?= ?[^\W\d]")
_MEANING = re.compile(r"meaning|name|title|label|description|what", re.IGNORECASE)
_MARKS = re.compile(r"[`*\"“”\\|#]+|_{2,}|[-=~+^]{2,}|\(?https?:\S+")


def codebooks(documents: Sequence[Document], tables: Mapping[str, Table]) -> dict[str, str]:
    """What is said of tables and their columns, by file: `; guide.md: "Prices of 2026", price "in euros"`."""
    headers = {document.file: document.grid.header for document in documents if document.grid}
    folders: dict[str, dict[str, str]] = {file.rpartition("/")[0]: {} for file in tables}
    for one in documents:
        if len(one.units) <= LINES and (texts := folders.get(one.file.rpartition("/")[0])) is not None:
            texts[one.file] = "\n".join(map(str.rstrip, one.units)).replace(BREAK, "\n")
    begun = {at: {*_BEGINNINGS.findall(text.lower())} for texts in folders.values() for at, text in texts.items()}
    found: dict[str, tuple[bool, int, str, dict[str, str]]] = {}
    codes: dict[str, dict[str, str]] = {}
    for file, table in tables.items():
        columns, texts = zip(headers[file], table.columns, strict=True), folders[file.rpartition("/")[0]]
        known = [(said, name) for said, (name, _) in columns if re.search(r"[^\W\d_]", said)]
        names = {said.lower(): name for both in known for said, name in (both, (both[1], both[1]))}
        first = {re.findall(r"\w+", name)[0] for name in names}
        near = [at for at in texts if at != file and first & begun[at]]
        stem = PurePosixPath(file).stem
        read = [
            (PurePosixPath(at).stem == stem, len(said), at, said) for at in near if (said := _read(texts[at], names))
        ]
        is_half = {at: 2 * len(first & begun[at]) >= len(first) for at in near}
        enough = [one for one in read if is_half[one[2]] and 2 * one[1] > max(4, len(known) + 1)]
        found |= {file: max(enough, key=lambda one: one[:2])} if enough else {}
        for *_, at, said in read if not enough else ():
            means = {name: text for name, text in said.items() if name and len(_CODES.findall(text)) > 1}
            if means:
                codes.setdefault(file, {})[at] = _told(means, KEY_CHARS)
    for file, at, column, meant in _keys(documents, tables):
        codes.setdefault(file, {})[at] = f'{column} "{meant}"'
    most = min(CHARS, TOGETHER // max(1, sum(count for _, count, *_ in found.values())))
    told = {file: f"; {at}: {_told(said, most)}" for file, (*_, at, said) in found.items() if most >= LEAST}
    for file, by_text in codes.items():
        told[file] = told.get(file, "") + "".join(f"; {at}: {said}" for at, said in by_text.items())
    return told


def _keys(documents: Sequence[Document], tables: Mapping[str, Table]) -> Iterator[tuple[str, str, str, str]]:
    """Tables with a column whose codes another table beside them names: both files, the column, the codes."""
    for one in documents:
        grid = one.grid if one.file in tables else None
        if not grid or len(grid.rows) > KEYS or len(grid.header) < 2:
            continue
        at = next((n for n, name in enumerate(grid.header) if n and _MEANING.fullmatch(name.strip())), 0)
        pairs = {row[0]: _plain(re.sub(r"\([^()]*\)|[=;\"]", " ", row[at] or "")) for row in grid.rows if row[0]}
        said = "; ".join(f"{code} = {means}" for code, means in pairs.items() if re.fullmatch(r"[\w.]{1,8}", code))
        is_key = at and len(pairs) == len(grid.rows) == said.count(" = ") and len(said) <= KEY_CHARS
        for file, table in tables.items() if is_key else ():
            is_beside = file != one.file and file.rpartition("/")[0] == one.file.rpartition("/")[0]
            same = [
                name for name, kind in table.columns if name.lower() == grid.header[0].lower() and kind == "VARCHAR"
            ]
            if is_beside and same:
                yield file, one.file, same[0], said


def _read(text: str, names: Mapping[str, str]) -> dict[str, str]:
    """What a text says of each column, and above them all; nothing where it has columns again and again."""
    either = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    starts = list(re.finditer(_DEFINED.format(either), text, re.MULTILINE | re.IGNORECASE))
    found: dict[str, tuple[str, int]] = {}
    for start, end in zip(starts, [*(after.start() for after in starts[1:]), len(text)], strict=False):
        said, name = text[start.end() : end].strip(" \t\n:-=~^"), names.get(start[1].lower(), "")
        said = max(said.split("\n")[0].split("|"), key=len) if start[2] in ("|", ",") else said
        said = _plain(re.split(r"\n\s*\n", said, maxsplit=1)[0])
        is_said = re.search(r"[^\W\d_]{2}", said) and said.strip(" .").lower() != start[1].lower()
        if name and is_said and len(said) > len(found.get(name, ("", 0))[0]):
            found[name] = said, start.start()
    is_records = len(starts) > 2 * len({start[1].lower() for start in starts})
    above = text[: min((at for _, at in found.values()), default=0)]
    return {} if is_records else {"": _plain(above), **{name: said for name, (said, _) in found.items()}}


def _told(said: Mapping[str, str], most: int) -> str:
    lengths = [most * (2 if re.search("[=;]", text) else 1 if name else 3) for name, text in said.items()]
    texts = [shorten(text, length, placeholder=" …") for text, length in zip(said.values(), lengths, strict=True)]
    return ", ".join(f'{name} "{text}"'.strip() for name, text in zip(said, texts, strict=True))


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text[: 10 * CHARS]).split())
