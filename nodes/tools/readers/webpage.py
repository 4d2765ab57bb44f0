"""HTML: what a browser would show, line for line.

The standard tokenizer says at which line each bit of text stands (a tree, as BeautifulSoup builds it, knows that of
elements only), so line 12 of the extracted text is what line 12 of the file shows. Within one line, blocks and
cells are set apart by a tab. What a browser shows by layout is written out: `2<sup>16</sup>` as `2^16`, list items
with their mark or number.
"""

import html
import re
from html.parser import HTMLParser

from nodes.tools.document import Document
from nodes.tools.passages import Heading
from nodes.tools.readers.decoding import decode, lines_of
from nodes.tools.readers.plain import line_document

SILENT = {"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select", "textarea", "button"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
INLINE = {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "font", "i", "kbd", "label", "mark", "q"}
INLINE |= {"s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "img", "ins", "del"}
HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = {"ul", "ol", "menu"}
RAISED = re.compile(r"\s*(?!(?:st|nd|rd|th|er|ère|e|o|a|TM|SM|®|™)\s*$)[-+−\w().,*/]{1,12}\s*", re.IGNORECASE)
"""What is an exponent or a note's number when raised; ordinals (`1st`) and marks stay as they are."""
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
    return line_document(file, seen.lines(), seen.headings, "html")


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
        self._is_raised = False

    def take(self, source: str) -> None:
        """Parses all of it; line ends are made one kind first, so that its line count is ours."""
        self.feed(re.sub(r"\r\n?", "\n", source))
        self.close()
        self._end_heading()

    def lines(self) -> list[str]:
        """The visible text, one entry a line of the file; no white space but single spaces and tabs between blocks."""
        return [_tidy("".join(row)) + "\n" for row in self._rows[1:]]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.silenced:
            self._depth += tag == self.silenced
            return
        if tag not in VOID and (tag in SILENT or (self._trust_hidden and _is_hidden(dict(attrs)))):
            self.silenced, self._depth = tag, 1
        elif tag in HEADINGS:
            self._end_heading()
            self._heading = (self.getpos()[0], HEADINGS[tag], [])
        if tag not in INLINE:
            self._put("\t")
        self._is_raised = tag == "sup" or (self._is_raised and tag in INLINE)
        if tag in LISTS:
            self._lists.append(_first_number(dict(attrs)) if tag == "ol" else None)
        elif tag == "li":
            self._put(self._item_mark(dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's
        if tag not in INLINE:
            self._put("\t")

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
        if tag not in INLINE:
            self._put("\t")

    def handle_data(self, data: str) -> None:
        if self.silenced:
            return
        if self._is_raised and data.strip():
            self._is_raised = False
            data = f"^{data.lstrip()}" if RAISED.fullmatch(data) else data
        for offset, part in enumerate(data.split("\n")):
            self._put(part.replace("\t", " "), offset)
        if self._heading:
            self._heading[2].append(data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(html.unescape(f"&{name};").replace("\n", " "))

    def handle_charref(self, name: str) -> None:
        self.handle_data(html.unescape(f"&#{name};").replace("\n", " "))

    def _put(self, text: str, offset: int = 0) -> None:
        self._rows[min(self.getpos()[0] + offset, len(self._rows) - 1)].append(text)

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


def _is_hidden(attrs: dict[str, str | None]) -> bool:
    return "hidden" in attrs or attrs.get("aria-hidden") == "true" or bool(UNSEEN.search(attrs.get("style") or ""))


def _tidy(text: str) -> str:
    blocks = (" ".join(block.split()) for block in text.split("\t"))
    return "\t".join(block for block in blocks if block)
