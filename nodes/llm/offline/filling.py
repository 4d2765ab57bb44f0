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
    form = Form(talk.request, list(_labelled(talk)), list(_tables(talk)))
    data = form.filled(json.loads(talk.body("schema")), ())
    return {"data": data, "basis": [{"path": path, **said} for path, said in form.basis.items()]}


def _tables(talk: Conversation) -> Iterator[list[Record]]:
    """The rows of each table."""
    for section in talk.all("rows"):
        file = section.attrs.get("of", "")
        rows = list(_rows_of(section))
        names = dict.fromkeys(name for _, cells in rows for name in cells)
        columns = tuple(Column(name, _kind([cells.get(name, "") for _, cells in rows])) for name in names)
        table = Table(file, file, columns)
        found = [Record(tuple(Said(label, *c, file) for c in cells.items()), table) for label, cells in rows]
        if found:
            yield found


def _rows_of(section: Section) -> Iterator[tuple[str, dict[str, str]]]:
    """The label of each row, with its cells by column."""
    for match in _ROW.finditer(section.body):
        try:
            yield match["label"], {name: _bare(str(cell)) for name, cell in json.loads(match["cells"]).items()}
        except (ValueError, RecursionError):
            continue


def _kind(cells: Sequence[str]) -> str:
    """The type of a column: an amount where each cell is one number, with the same around it (`€12 a month`)."""
    full = [cell for cell in cells if cell]
    around = {re.sub(r"[\d.,\s]+", "", cell) for cell in full}
    return "DOUBLE" if full and len(around) == 1 and all(number_in(cell) is not None for cell in full) else "VARCHAR"


def _labelled(talk: Conversation) -> Iterator[Said]:
    """What stands under a name in the passages, in tables of two columns, and the figures among the findings."""
    for section in talk.all("rows"):
        pairs = [(label, [*cells.items()]) for label, cells in _rows_of(section)]
        if pairs and all(len(cells) == 2 for _, cells in pairs):
            (_, ((key, _), (value, _))) = pairs[0]
            yield Said(section.attrs.get("head", ""), key, value, section.attrs.get("of", ""))
            for label, ((_, key), (_, value)) in pairs:
                yield Said(label, key, value, section.attrs.get("of", ""))
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
