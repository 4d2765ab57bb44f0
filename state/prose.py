"""Markdown as HTML for a notebook, of texts that nobody vouches for: headings, lists, quotations, tables, bold, code.

Everything is escaped first, and only these marks become tags. Addresses stay text: nothing in a report is a link, and
nothing is fetched because somebody looks at it.
"""

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby

HEADING = re.compile(r"(#{1,6})\s+(.+)")
ITEM = re.compile(r"\s*(?:[-*]|(\d{1,9})[.)])\s+(.*)")
RULE = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?\s*)?")
FENCE = re.compile(r"\s*(`{3,}|~{3,})")
INLINE = re.compile(r"(`+)(.+?)\1|\*\*(?=\S)(.+?)(?<=\S)\*\*")
CELL = re.compile(r"(?<!\\)\|")
QUOTED = "margin:0 0 0 4px;padding-left:12px;border-left:3px solid #bdbdbd"
TOP, SMALLEST = 3, 4
"""A text stands below headings of the page, so its own begin at this level, and go to that one."""


def as_html(text: str) -> str:
    """The text as HTML; what is no Markdown stands there as it was written."""
    return "".join(_blocks(text.splitlines()))


def _blocks(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        kind, end = _kind(lines[at]), at + 1
        if kind == "fence":
            mark = FENCE.match(lines[at])
            while end < len(lines) and mark and not lines[end].strip().startswith(mark[1]):
                end += 1
            yield f'<pre style="white-space:pre-wrap">{escape(chr(10).join(lines[at + 1 : end]))}</pre>'
            at = end + 1
            continue
        if kind != "heading":
            while end < len(lines) and _kind(lines[end]) in (kind, "more" if kind == "item" else kind):
                end += 1
        yield _block(kind, lines[at:end])
        at = end


def _kind(line: str) -> str:
    if not line.strip():
        return "blank"
    if FENCE.match(line):
        return "fence"
    if HEADING.fullmatch(line):
        return "heading"
    if line.startswith(">"):
        return "quotation"
    if ITEM.fullmatch(line):
        return "item"
    if line.lstrip().startswith("|"):
        return "table"
    return "more" if line.startswith("  ") else "text"


def _block(kind: str, lines: list[str]) -> str:
    match kind:
        case "blank":
            return ""
        case "heading":
            found = HEADING.fullmatch(lines[0])
            level = min(TOP + len(found[1]) - 1, SMALLEST) if found else TOP
            return f"<h{level}>{_inline(found[2] if found else lines[0])}</h{level}>"
        case "quotation":
            inside = as_html("\n".join(line[1:].removeprefix(" ") for line in lines))
            return f'<blockquote style="{QUOTED}">{inside}</blockquote>'
        case "item":
            return _list(lines)
        case "table":
            return _table(lines)
    return f"<p>{'<br/>'.join(map(_inline, lines))}</p>"


def _list(lines: list[str]) -> str:
    """Items of one list; a line that begins with spaces and no mark belongs to the one above."""
    items: list[tuple[str, list[str]]] = []
    for line in lines:
        found = ITEM.fullmatch(line)
        if found:
            items.append((found[1] or "", [found[2]]))
        else:
            items[-1][1].append(line.strip())
    parts = []
    for is_numbered, some in groupby(items, lambda item: bool(item[0])):
        several = [*some]
        inside = "".join(f"<li>{'<br/>'.join(map(_inline, text))}</li>" for _, text in several)
        parts.append(f'<ol start="{several[0][0]}">{inside}</ol>' if is_numbered else f"<ul>{inside}</ul>")
    return "".join(parts)


def _table(lines: list[str]) -> str:
    rows = [CELL.split(line.strip().strip("|")) for line in lines if not RULE.fullmatch(line.strip())]
    has_head = len(lines) > 1 and bool(RULE.fullmatch(lines[1].strip()))
    made = []
    for number, row in enumerate(rows):
        tag = "th" if has_head and number == 0 else "td"
        cells = "".join(f"<{tag}>{_inline(cell.strip())}</{tag}>" for cell in row)
        made.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(made)}</table>"


def _inline(text: str) -> str:
    """Bold and code; everything between them escaped."""
    parts, at = [], 0
    for found in INLINE.finditer(text):
        parts.append(escape(text[at : found.start()]))
        parts.append(
            f"<strong>{_inline(found[3])}</strong>" if found[3] else f"<code>{escape(found[2].strip())}</code>"
        )
        at = found.end()
    return "".join([*parts, escape(text[at:])])
