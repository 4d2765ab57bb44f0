"""Fills in the form of the prompt from its rows of tables and its labelled passages (`Price: 12`)."""

import json
import re
from collections.abc import Iterator, Sequence

from nodes.language.forms import Form, Record, Said, number_in
from nodes.language.table_schema import Column, Table
from nodes.llm.offline.answering import passages_in
from nodes.llm.offline.conversation import Arguments, Conversation
from nodes.llm.sections import Section
from state.citation import line_of, without_labels

_SAID = re.compile(
    r"^[ \t>]*(?:[-*+•][ \t]+|\d+[.)][ \t]+)?[*_\"']{0,2}(?P<key>[^\W_][^:|\n*]{0,59}?)[*_\"']{0,2}[ \t]*"
    r"(?::[*_]{0,2}(?!//)[ \t]*|[ \t]=[ \t]|[ \t][–—][ \t])(?P<value>\S.*)$"
)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+(?P<title>.+?)[ \t#]*$")
_ROW = re.compile(r"^\[(?P<label>[^\[\]\n]+)\] (?P<cells>\{.*\})$", re.MULTILINE)
_FINDING = re.compile(
    r"^- (?P<key>[^:\n]{3,120}): (?P<value>-?[\d.,]*\d)(?: \(\d+ rows?\))?\.? ?\[(?P<file>[^\[\]#\n]+)#table\]",
    re.MULTILINE,
)


def fill(talk: Conversation) -> Arguments:
    """The form of the section `schema`, filled in, with the place of each value or the reason why there is none."""
    tables = [(section, rows) for section in talk.all("rows") if (rows := _records(section))]
    form = Form(talk.request, list(_labelled(talk, tables)), [rows for _, rows in tables])
    data = form.filled(json.loads(talk.body("schema")), ())
    return {"data": data, "basis": [{"path": path, **said} for path, said in form.basis.items()]}


def _records(section: Section) -> list[Record]:
    """The rows of a table, each with its label."""
    file, rows = section.attrs.get("of", ""), list[list[Said]]()
    for found in _ROW.finditer(section.body):
        cells = json.loads(found["cells"]).items()
        rows.append([Said(found["label"], name, _bare(str(cell)), file) for name, cell in cells])
    columns: dict[str, list[str]] = {}
    for cell in (cell for row in rows for cell in row):
        columns.setdefault(cell.name, []).append(cell.value)
    table = Table(file, file, tuple(Column(name, _kind(cells)) for name, cells in columns.items()))
    return [Record(tuple(row), table) for row in rows]


def _kind(cells: Sequence[str]) -> str:
    """The type of a column: an amount where each cell is one number, with the same around it (`€12 a month`)."""
    full = [cell for cell in cells if cell]
    around = {re.sub(r"[\d.,\s]+", "", cell) for cell in full}
    return "DOUBLE" if len(around) == 1 and all(number_in(cell) is not None for cell in full) else "VARCHAR"


def _labelled(talk: Conversation, tables: Sequence[tuple[Section, list[Record]]]) -> Iterator[Said]:
    """What stands under a name in the passages, in tables of two columns, and the figures among the findings."""
    for section, rows in tables:
        pairs = [record.values for record in rows]
        if all(len(pair) == 2 for pair in pairs):
            key, value = pairs[0]
            yield Said(section.attrs.get("head", ""), key.name, value.name, key.around)
            yield from (Said(key.label, key.value, value.value, key.around) for key, value in pairs)
    for one in passages_in(talk.body("passages")):
        heading = ""
        for number, line in enumerate(one.text.split("\n")):
            if title := _HEADING.match(line):
                heading = title["title"]
            elif "|" not in line and (match := _SAID.match(line)):
                label = f"{one.file}#{line_of(one.place, one.text, number)}"
                yield Said(label, match["key"], _bare(match["value"]), f"{one.file} {heading}")
    for match in _FINDING.finditer(talk.body("result")):
        yield Said(f"{match['file']}#table", match["key"], match["value"], match["file"])


def _bare(text: str) -> str:
    plain = without_labels(text).strip().strip("*_`").strip()
    quoted = re.fullmatch(r"(?P<mark>[\"'])(?P<text>[^\"']*)(?P=mark),?", plain)  # of JSON, YAML, TOML
    return quoted["text"] if quoted else plain
