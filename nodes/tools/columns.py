"""Names and types of table columns, from what stands in a file. Pure."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Literal

ColumnType = Literal["BOOLEAN", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]
NOTHING = {"", "-", "–", "—", "na", "n/a", "null", "none", "nan"}
"""Cells that mean "no value" in a column of numbers or dates; in a column of text they are text."""
WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})")
"""No leading zeros: `00123` is a code, not a number."""
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?")


def infer(cells: Sequence[str | None]) -> ColumnType:
    """The narrowest type that all cells of a column have; VARCHAR when there are none."""
    values = {cell for cell in cells if cell is not None and cell.lower() not in NOTHING}
    if not values:
        return "VARCHAR"
    if all(value.lower() in ("true", "false") for value in values):
        return "BOOLEAN"
    plain = [value.replace(",", "") if THOUSANDS.fullmatch(value) else value for value in values]
    if all(WHOLE.fullmatch(value) for value in plain):
        return "BIGINT"
    if all(NUMBER.fullmatch(value) for value in plain):
        return "DOUBLE"
    if all(DAY.fullmatch(value) and _is_date(value) for value in values):
        return "DATE"
    if all(MOMENT.fullmatch(value) and _is_time(value) for value in values):
        return "TIMESTAMP"
    return "VARCHAR"


def cleaned(cell: str | None, kind: ColumnType) -> str | None:
    """The cell in the form that a cast to `kind` takes."""
    if cell is None or kind == "VARCHAR":
        return cell
    if cell.lower() in NOTHING:
        return None
    return cell.replace(",", "") if kind in ("BIGINT", "DOUBLE") else cell


def identifier(text: str, taken: set[str], reserved: frozenset[str] = frozenset()) -> str:
    """A name that needs no quotes in SQL, made from `text`; not in `taken` (lower case), to which it is added."""
    name = re.sub(r"\W+", "_", text.strip()).strip("_") or "column"
    if name[0].isdigit():
        name = f"c_{name}"
    if name.lower() in reserved:
        name += "_"
    chosen, number = name, 2
    while chosen.lower() in taken:
        chosen, number = f"{name}_{number}", number + 1
    taken.add(chosen.lower())
    return chosen


def _is_date(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_time(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True
