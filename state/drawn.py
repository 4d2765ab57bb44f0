"""What nouns look like in a notebook: a heading, a drawing of tasks, a table; as HTML and as Markdown, offline.

A noun says what there is to see (`Sight`); how that is drawn is here, once. All text is escaped: it may come from
models, documents and strangers. No script, no font, no address: what is drawn is in the notebook itself.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from state import prose

COLORS = {
    "done": "#2e7d32",
    "complete": "#2e7d32",
    "running": "#1565c0",
    "failed": "#c62828",
    "parked": "#b26a00",
    "waiting": "#b26a00",
    "partial": "#b26a00",
    "paused": "#6a1b9a",
    "handed_over": "#6a1b9a",
}
"""By status; anything else is grey."""
GREY = "#757575"
WIDTH, HEIGHT, GAP_X, GAP_Y = 168, 44, 44, 14
"""Pixels of a box, and between boxes."""
SHORT = 16
"""Characters up to which a cell stays on one line."""
MOST_BOXES = 60
"""Boxes that are drawn; a longer plan has its table."""
LABEL = 24
"""Characters on a line of a box."""
SHOWN = re.compile(r"^!\[([^\]\n]*)\]\(([^()\s]+)\)$", re.MULTILINE)
"""A picture in a text, on a line of its own."""


@dataclass(frozen=True)
class Box:
    """One task, or one node."""

    id: str
    status: str = ""
    below: str = ""
    """A second, smaller line."""
    after: Sequence[str] = ()
    """Ids of the boxes that lead to it."""


@dataclass(frozen=True)
class Sight:
    """What there is to see of one noun."""

    title: str
    status: str = ""
    facts: Sequence[str] = ()
    """Lines below the title."""
    boxes: Sequence[Box] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    text: str = ""
    """What it says at length, Markdown as it was written."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """What that shows, by the names that it has for them, as `data:` addresses."""


class Drawn:
    """A noun that draws itself as the last line of a cell."""

    def _sight(self) -> Sight:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return as_html(self._sight())

    def _repr_markdown_(self) -> str:
        return as_markdown(self._sight())


def as_html(sight: Sight) -> str:
    """The sight as HTML."""
    badge = f' <span style="color:{_color(sight.status)}">{escape(sight.status)}</span>' if sight.status else ""
    parts = [f"<div><strong>{escape(sight.title)}</strong>{badge}</div>"]
    parts += [f'<div style="color:{GREY}">{escape(fact)}</div>' for fact in sight.facts]
    if 1 < len(sight.boxes) <= MOST_BOXES:
        parts.append(f'<div style="overflow-x:auto">{as_svg(sight.boxes)}</div>')
    if sight.rows:
        head = "".join(
            f'<th style="text-align:left;padding:2px 12px 2px 0">{escape(column)}</th>' for column in sight.columns
        )
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in sight.rows)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    parts += _text(sight.text, sight.pictures)
    return f"<div>{''.join(parts)}</div>"


def as_markdown(sight: Sight) -> str:
    """The sight as Markdown, for pages that show no HTML."""
    parts = [f"**{_plain(sight.title)}**" + (f" ({_plain(sight.status)})" if sight.status else "")]
    parts += [_plain(fact) for fact in sight.facts]
    if sight.rows:
        lines = [sight.columns, ["---"] * len(sight.columns), *sight.rows]
        parts.append("\n".join(f"| {' | '.join(map(_plain, line))} |" for line in lines))
    if sight.text:
        parts.append(sight.text)
    return "\n\n".join(parts)


def as_svg(boxes: Sequence[Box]) -> str:
    """Boxes in columns, each right of what leads to it; what closes a circle is drawn, and moves nothing."""
    column = _columns(boxes)
    places: dict[str, tuple[int, int]] = {}
    filled: dict[int, int] = {}
    for box in boxes:
        row = filled.get(column[box.id], 0)
        filled[column[box.id]] = row + 1
        places[box.id] = (8 + column[box.id] * (WIDTH + GAP_X), 8 + row * (HEIGHT + GAP_Y))
    wide = 16 + (max(column.values(), default=0) + 1) * (WIDTH + GAP_X) - GAP_X
    high = 16 + max(filled.values(), default=1) * (HEIGHT + GAP_Y) - GAP_Y
    lines = [_arrow(places[before], places[box.id]) for box in boxes for before in box.after if before in places]
    drawn = [_box(box, *places[box.id]) for box in boxes]
    marker = f'<path d="M0 0L8 4L0 8z" fill="{GREY}"/>'
    size = 'viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
    arrow = f'<marker id="to" {size} orient="auto">{marker}</marker>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        f'role="img" aria-label="{len(boxes)} boxes" font-family="sans-serif" style="max-width:100%;height:auto">'
        f"<defs>{arrow}</defs>"
        f"{''.join(lines)}{''.join(drawn)}</svg>"
    )


def _columns(boxes: Sequence[Box]) -> Mapping[str, int]:
    """How far right each box stands: one more than the furthest that leads to it and comes before it in the list."""
    column: dict[str, int] = {}
    for box in boxes:
        column[box.id] = 1 + max((column[before] for before in box.after if before in column), default=-1)
    return column


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    half = HEIGHT // 2
    if start[0] >= end[0]:  # back, or in one column: below both
        x1, y1, x2, y2 = start[0] + WIDTH // 2, start[1] + HEIGHT, end[0] + WIDTH // 3, end[1] + HEIGHT
        bend = max(y1, y2) + GAP_Y - 3
        path = f"M{x1} {y1}C{x1} {bend} {x2} {bend} {x2} {y2}"
    else:
        x1, y1, x2, y2 = start[0] + WIDTH, start[1] + half, end[0], end[1] + half
        path = f"M{x1} {y1}"
        if x2 - x1 > GAP_X:  # past other boxes: between their rows
            x1, lane, turn = x1 + GAP_X, start[1] + HEIGHT + GAP_Y // 2, x1 + GAP_X // 2
            path += f"C{turn} {y1} {turn} {lane} {x1} {lane}H{x2 - GAP_X}"
            x1, y1 = x2 - GAP_X, lane
        path += f"C{x1 + GAP_X // 2} {y1} {x2 - GAP_X // 2} {y2} {x2} {y2}"
    return f'<path d="{path}" fill="none" stroke="{GREY}" marker-end="url(#to)"/>'


def _box(box: Box, x: int, y: int) -> str:
    color = _color(box.status)
    said = escape(" · ".join(filter(None, [box.id, box.status, box.below])))
    return (
        f'<g><title>{said}</title><rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{color}" '
        f'fill-opacity="0.12" stroke="{color}"/>'
        f'<text x="{x + 10}" y="{y + 18}" font-size="13" fill="currentColor">{escape(_short(box.id))}</text>'
        f'<text x="{x + 10}" y="{y + 35}" font-size="11" fill="{color}">'
        f"{escape(_short(' '.join(filter(None, [box.status, box.below]))))}</text></g>"
    )


def _text(text: str, pictures: Mapping[str, str]) -> Iterator[str]:
    """Text with its pictures where they stand, each with its words below it."""
    at = 0
    for found in SHOWN.finditer(text):
        words, name = found.groups()
        if name in pictures:
            yield prose.as_html(text[at : found.start()])
            yield (
                f'<figure style="margin:1em 0"><img src="{escape(pictures[name])}" alt="{escape(words)}" '
                f'style="max-width:100%;background:#fff"/><figcaption style="color:{GREY}">{escape(words)}'
                "</figcaption></figure>"
            )
            at = found.end()
    yield prose.as_html(text[at:])


def _cell(text: str) -> str:
    wrap = ";white-space:nowrap" if len(text) < SHORT else ""
    return f'<td style="text-align:left;vertical-align:top;padding:2px 12px 2px 0{wrap}">{escape(text)}</td>'


def _color(status: str) -> str:
    return COLORS.get(status, GREY)


def _short(text: str) -> str:
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def _plain(text: str) -> str:
    """Text that ends no cell and begins no markup."""
    line = " ".join(text.split())
    for sign in "\\`*_[]<>|#":
        line = line.replace(sign, f"\\{sign}")
    return line


def spent_time(start: float | None, end: float | None) -> str:
    """Seconds between two moments, as they are written in a table; empty where one is missing."""
    return f"{end - start:.1f} s" if start is not None and end is not None else ""
