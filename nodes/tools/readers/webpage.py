"""HTML: what a browser would show, line for line.

The standard tokenizer says at which line each bit of text stands (a tree, as BeautifulSoup builds it, knows that of
elements only), so line 12 of the extracted text is what line 12 of the file shows. Text that goes on behind inline
markup without a line break of its own stays in its line, wherever the markup ends; a line that shows nothing within a
block is empty, without a line end. Within one line of the file, cells are set apart by a tab, and other blocks by a
vertical tab: a line break that counts for no line. What a browser shows by layout is written out: `2<sup>16</sup>` as
`2^16`, list items with their mark or number, in the line where their text begins.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from nodes.tools.document import BREAK, Document, Listing
from nodes.tools.passages import Heading, place
from nodes.tools.readers.decoding import decode, lines_of
from nodes.tools.readers.drawn import COLUMNS, named_columns
from nodes.tools.readers.plain import line_document

SILENT = {"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select", "textarea", "button"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
INLINE = {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "font", "i", "kbd", "label", "mark", "q"}
INLINE |= {"s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "img", "ins", "del"}
INLINE |= {"acronym", "big", "nobr", "strike"}
HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = {"ul", "ol", "menu"}
RAISED = re.compile(r"\s*(?!(?:st|nd|rd|th|er|ère|e|o|a|TM|SM|®|™)\s*$)[-+−\w().,*/]{1,12}\s*", re.IGNORECASE)
"""What is an exponent or a note's number when raised; ordinals (`1st`) and marks stay as they are."""
CELLS = {"td", "th"}
ROWS = {"table", "thead", "tbody", "tfoot", "tr", "caption"}
SPANNED = 1_000
"""Rows or columns that one cell may take (HTML, section 4.9.11, bounds them at 65,534 and 1,000)."""
UNSEEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def read_html(file: str, data: bytes) -> Document:
    """A web page.

    Raises:
        Unreadable: it is not text, or it shows nothing.
    """
    source = decode(data)
    count = len(lines_of(source))
    seen = _Visible(count)
    seen.take(source)
    if seen.silenced:
        seen = _Visible(count, trust_hidden=False)
        seen.take(source)
    tables = [found for table in seen.tables for found in table.listing()]
    return line_document(file, seen.lines(), seen.headings, "html", inner=tables)


@dataclass
class _Cell:
    """A cell as it is written: which columns and rows it takes, and its text so far."""

    is_head: bool
    columns: int
    rows: int
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


@dataclass
class _Row:
    """A row with the first and last line that it takes."""

    first: int
    last: int
    cells: list[_Cell] = field(default_factory=list)


@dataclass
class _Table:
    """A table as it is read, row by row."""

    rows: list[_Row] = field(default_factory=list)

    def listing(self) -> Iterator[Listing]:
        """Its rows, a cell over several in each; the names are in the last row of heads, or else in the first."""
        laid: list[tuple[_Row, list[str]]] = []
        below: dict[int, tuple[int, str]] = {}
        for row in self.rows:
            cells = self._laid(row, below)
            if len(row.cells) > 1 or (row.cells and len(row.cells) == len(cells)):  # one over all is a caption
                laid.append((row, cells))
        heads = [all(cell.is_head for cell in row.cells) for row, _ in laid]
        above = max(heads.index(False) - 1, 0) if False in heads else 0
        names, body = (laid[above][1] if laid else []), laid[above + 1 :]
        width = max((len(cells) for _, cells in laid), default=0)
        if body and 1 < width <= COLUMNS:
            rows = [[*(cell or None for cell in cells), *[None] * (width - len(cells))] for _, cells in body]
            places = [place("L", row.first, row.last) for row, _ in body]
            head = laid[above][0]
            yield Listing("", named_columns(names, width), rows, places, place("L", head.first, head.last))

    @staticmethod
    def _laid(row: _Row, below: dict[int, tuple[int, str]]) -> list[str]:
        """The cells by column; `below` has those from above that reach further, with how many rows they still take."""
        cells: list[str] = []
        todo = list(row.cells)
        while (todo or len(cells) in below) and len(cells) <= COLUMNS:
            if len(cells) in below:
                left, text = below.pop(len(cells))
                if left > 1:
                    below[len(cells)] = (left - 1, text)
                cells.append(text)
                continue
            cell = todo.pop(0)
            for _ in range(cell.columns):
                if cell.rows > 1:
                    below[len(cells)] = (cell.rows - 1, cell.text)
                cells.append(cell.text)
        return cells


class _Visible(HTMLParser):
    """Gathers visible text by line. `silenced` stays set when a hidden element never ended."""

    def __init__(self, count: int, *, trust_hidden: bool = True) -> None:
        super().__init__(convert_charrefs=False)
        self.headings: dict[int, Heading] = {}
        self.silenced = ""
        self._depth = 0
        self._trust_hidden = trust_hidden
        self._rows: list[list[str]] = [[] for _ in range(count + 1)]
        self._heading: tuple[int, int, list[str]] | None = None
        self._lists: list[int | None] = []
        """For each list that is open, the number of its next item; None where items are not numbered."""
        self._mark = ""
        """Of an item that shows nothing yet."""
        self._is_raised = False
        self._is_pre = False
        self._at = 0
        """The line in which text goes on; 0 behind a tag that is not inline."""
        self._shown = 0
        """The last line that this block shows; 0 if none."""
        self._empty: set[int] = set()
        """Lines that show nothing, with text of one block before and behind them."""
        self.tables: list[_Table] = []
        """In the order in which they end."""
        self._open: list[_Table] = []
        self._cell: list[_Cell | None] = []
        """The cell in which each of them is."""

    def take(self, source: str) -> None:
        """Parses all of it; line ends are made one kind first, so that its line count is ours."""
        self.feed(re.sub(r"\r\n?", "\n", source))
        self.close()
        self._end_heading()
        while self._open:
            self._end_table()

    def lines(self) -> list[str]:
        """The visible text, one entry a line of the file, with single spaces and what sets blocks apart."""
        rows = enumerate(self._rows[1:], 1)
        return ["" if number in self._empty else _tidy("".join(row)) + "\n" for number, row in rows]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.silenced:
            self._depth += tag == self.silenced
            return
        if tag not in VOID and (tag in SILENT or (self._trust_hidden and _is_hidden(dict(attrs)))):
            self.silenced, self._depth = tag, 1
        elif tag in HEADINGS:
            self._end_heading()
            self._heading = (self.getpos()[0], HEADINGS[tag], [])
        self._is_pre = self._is_pre or tag == "pre"
        if tag not in INLINE:
            self._end_block(tag)
            self._in_table(tag, dict(attrs))
        self._is_raised = tag == "sup" or (self._is_raised and tag in INLINE)
        if tag in LISTS:
            self._put_mark()
            self._lists.append(_first_number(dict(attrs)) if tag == "ol" else None)
        elif tag == "li":
            self._put_mark()
            self._mark = self._item_mark(dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's
        if tag not in INLINE:
            self._end_block(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.silenced:
            self._depth -= tag == self.silenced
            if not self._depth:
                self.silenced = ""
            return
        self._is_raised = self._is_raised and tag != "sup"
        if tag in LISTS and self._lists:
            self._lists.pop()
        if tag in HEADINGS:
            self._end_heading()
        self._is_pre = self._is_pre and tag != "pre"
        if tag == "li":
            self._put_mark()
        if tag not in INLINE:
            self._end_block(tag)
        if self._open and tag in CELLS:
            self._cell[-1] = None
        elif self._open and tag == "table":
            self._end_table()

    def handle_data(self, data: str) -> None:
        if self.silenced:
            return
        if self._is_raised and data.strip():
            self._is_raised = False
            data = f"^{data.lstrip()}" if RAISED.fullmatch(data) else data
        for offset, part in enumerate(data.split("\n")):
            if offset or not self._at:
                self._at = self._line(offset)
            if part.strip():
                self._put_mark(self._at)
            self._rows[self._at].append(" ".join(re.split(r"[\t\v]", part)))
            if part.strip() or self._is_pre:
                if self._shown:
                    self._empty.update(range(self._shown + 1, self._at))
                self._shown = self._at
        if self._open and (cell := self._cell[-1]):
            cell.texts.append(data)
            if data.strip():
                row = self._open[-1].rows[-1]
                row.last = max(row.last, self.getpos()[0] + data.rstrip().count("\n"))
        if self._heading:
            self._heading[2].append(data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(html.unescape(f"&{name};").replace("\n", " "))

    def handle_charref(self, name: str) -> None:
        self.handle_data(html.unescape(f"&#{name};").replace("\n", " "))

    def _line(self, offset: int = 0) -> int:
        return min(self.getpos()[0] + offset, len(self._rows) - 1)

    def _put_mark(self, line: int = 0) -> None:
        """The mark of an item: at its first text, or where it ends without any."""
        self._rows[line or self._line()].append(self._mark)
        self._mark = ""

    def _end_block(self, tag: str) -> None:
        """Before or behind a tag; `_tidy` makes one of several marks of these that follow each other."""
        self._rows[self._line()].append("\n" if tag in ROWS else "\t" if tag in CELLS else BREAK)
        self._at = self._shown = 0

    def _in_table(self, tag: str, attrs: dict[str, str | None]) -> None:
        """What a tag begins of a table; cells and rows end where the next one begins."""
        line = self.getpos()[0]
        if tag == "table":
            self._open.append(_Table())
            self._cell.append(None)
        elif self._open and tag == "tr":
            self._open[-1].rows.append(_Row(line, line))
            self._cell[-1] = None
        elif self._open and tag in CELLS:
            rows = self._open[-1].rows
            if not rows:
                rows.append(_Row(line, line))
            cell = _Cell(tag == "th", _span(attrs.get("colspan")), _span(attrs.get("rowspan")))
            rows[-1].cells.append(cell)
            self._cell[-1] = cell
        elif self._open and (inside := self._cell[-1]):
            inside.texts.append(" ")

    def _end_table(self) -> None:
        self.tables.append(self._open.pop())
        self._cell.pop()

    def _item_mark(self, attrs: dict[str, str | None]) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        value = (attrs.get("value") or "").strip()
        number = int(value) if re.fullmatch(r"-?\d{1,9}", value) else number
        self._lists[-1] = number + 1
        return f"{number}. "

    def _end_heading(self) -> None:
        if self._heading:
            line, level, words = self._heading
            if text := " ".join("".join(words).split()):
                self.headings.setdefault(self._first_full(line), Heading(level, text))
            self._heading = None

    def _first_full(self, line: int) -> int:
        """The first line from `line` on that shows something: where the heading's text begins."""
        return next((n for n in range(line, len(self._rows)) if "".join(self._rows[n]).strip()), line)


def _first_number(attrs: dict[str, str | None]) -> int:
    start = (attrs.get("start") or "").strip()
    return int(start) if re.fullmatch(r"-?\d{1,9}", start) else 1


def _span(given: str | None) -> int:
    return min(int(given), SPANNED) if given and re.fullmatch(r"[1-9]\d{0,4}", given) else 1


def _is_hidden(attrs: dict[str, str | None]) -> bool:
    if "headerlink" in (attrs.get("class") or "").split():  # the ¶ behind a heading, for those who want its address
        return True
    return "hidden" in attrs or attrs.get("aria-hidden") == "true" or bool(UNSEEN.search(attrs.get("style") or ""))


def _tidy(text: str) -> str:
    """With one mark between blocks: a tab between cells of a row, also where there are blocks in them."""
    apart = re.sub(r"\s*[\n\t\v]\s*", _apart, text).strip()
    return re.sub(r"[^\S\t\v]+", " ", apart)


def _apart(marks: re.Match[str]) -> str:
    return "\t" if "\t" in marks[0] and "\n" not in marks[0] else BREAK
