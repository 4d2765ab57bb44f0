"""Tables that are drawn in text.

With bars, as in Markdown; with a frame, as in reStructuredText and on terminals; with rules that say where columns are,
as in reStructuredText (docutils' reference, "Grid Tables" and "Simple Tables").
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise

from nodes.tools.document import Listing
from nodes.tools.passages import place

COLUMNS = 500
RULED = 2_000
"""Lines of a table between rules, at most."""
RULE = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
"""The line below the names of the columns, in Markdown."""
_BAR = re.compile(r"(?<!\\)\|")
_FRAME = re.compile(r"\+(?:[-=]+\+)+")
_RULES = re.compile(r"=+(?:[ ]+=+)+")

Row = tuple[int, int, list[str]]
"""First and last line, from 1, and the cells."""


def drawn(cells: Sequence[str]) -> str:
    """A row of a table as a line of text, the way `tables_in` reads it."""
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"


def named_columns(names: Sequence[str], width: int) -> list[str]:
    """A name for each column: what stands above it, or its number."""
    return [_name(names, column) for column in range(width)]


def tables_in(lines: Sequence[str], unit: str) -> Iterator[Listing]:
    """The tables among lines of text; `unit` is what the lines are to whoever looks for a place."""
    number, is_code = 1, False
    while number <= len(lines):
        bare = lines[number - 1].strip()
        is_code ^= bare.startswith(("```", "~~~"))
        rows: list[Row] = []
        end = number
        if not is_code and _FRAME.fullmatch(bare):
            end = _end(lines, number, lambda line: line.startswith(("+", "|")))
            rows = _framed(lines, number, end)
        elif not is_code and _RULES.fullmatch(bare):
            end = _last_rule(lines, number)
            rows = _ruled(lines, number, end)
        elif not is_code and _begins(lines, number):
            end = _end(lines, number, lambda line: "|" in line) if number < len(lines) else number
            end = next((at - 1 for at in range(number + 1, end + 1) if _is_ruled(lines, at)), end)
            rows = [(at, at, _cells(lines[at - 1])) for at in range(number, end + 1)]
        yield from _listing(rows, unit)
        number = end + 1


def _listing(rows: Sequence[Row], unit: str) -> Iterator[Listing]:
    if not rows:
        return
    (first, last, head), *body = rows
    kept = [row for row in body if len(row[2]) == len(head) and any(row[2])]
    kept = [row for row in kept if not all(re.fullmatch(r":?-+:?", cell) for cell in row[2])]
    if kept and 1 < len(head) <= COLUMNS:
        texts = [[cell or None for cell in cells] for *_, cells in kept]
        places = [place(unit, begin, end) for begin, end, _ in kept]
        yield Listing("", named_columns(head, len(head)), texts, places, place(unit, first, last))


def _begins(lines: Sequence[str], number: int) -> bool:
    """Whether a table with bars begins: with bars at its edges, or with a rule below."""
    bare = lines[number - 1].strip()
    return "|" in bare and (bare[0] == bare[-1] == "|" or _is_ruled(lines, number))


def _is_ruled(lines: Sequence[str], number: int) -> bool:
    below = lines[number].strip() if number < len(lines) else ""
    return "|" in below and bool(RULE.fullmatch(below)) and not RULE.fullmatch(lines[number - 1].strip())


def _end(lines: Sequence[str], number: int, holds: Callable[[str], bool]) -> int:
    """The last of the lines from `number` on of which it holds."""
    return next((at for at in range(number, len(lines)) if not holds(lines[at].strip())), len(lines))


def _cells(line: str) -> list[str]:
    inside = line.strip().removeprefix("|")
    inside = inside[:-1] if inside.endswith("|") and not inside.endswith("\\|") else inside
    return [" ".join(cell.replace("\\|", "|").split()) for cell in _BAR.split(inside)]


def _framed(lines: Sequence[str], first: int, last: int) -> list[Row]:
    """A row for each part of the frame; for each line where it parts the head alone (as terminals draw it)."""
    numbers = range(first, last + 1)
    parts = [[*part] for is_text, part in groupby(numbers, lambda at: lines[at - 1].strip()[0] == "|") if is_text]
    if len(parts) <= 2 and not any(lines[at - 1].strip().startswith("+=") for at in numbers):
        parts = [[at] for part in parts for at in part]
    return [_merged([(at, at, _cells(lines[at - 1])) for at in part]) for part in parts]


def _ruled(lines: Sequence[str], first: int, last: int) -> list[Row]:
    """Between rules; a line whose first cell is empty goes on with the row above."""
    starts = [match.start() for match in re.finditer(r"=+", lines[first - 1])]
    rows: list[Row] = []
    for number in range(first + 1, last):
        line = lines[number - 1].rstrip()
        if not line.strip() or not line.strip("= -"):
            continue
        cells = [" ".join(line[begin:end].split()) for begin, end in pairwise([*starts, None])]
        if rows and not cells[0]:
            rows[-1] = _merged([rows[-1], (number, number, cells)])
        else:
            rows.append((number, number, cells))
    return rows


def _last_rule(lines: Sequence[str], number: int) -> int:
    """Where a table that begins with a rule ends: the third rule, or the second where a blank line follows it."""
    last = min(len(lines), number + RULED)
    same = [at for at in range(number + 1, last + 1) if _RULES.fullmatch(lines[at - 1].strip())]
    is_without_head = len(same) == 1 or (same and (same[0] == len(lines) or not lines[same[0]].strip()))
    return (same[0] if is_without_head else same[1]) if same else number


def _merged(rows: Sequence[Row]) -> Row:
    width = min(len(cells) for *_, cells in rows)
    cells = [" ".join(filter(None, (row[2][column] for row in rows))) for column in range(width)]
    return rows[0][0], rows[-1][1], cells


def _name(names: Sequence[str], column: int) -> str:
    name = " ".join(names[column].split()) if column < len(names) else ""
    return name or f"column_{column + 1}"
