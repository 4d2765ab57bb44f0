"""Undoing what was done: with which tool, with what, and how it is told (chapter 15.12.4, cancel with rollback)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from state.effect import Effect

Undoing = Literal["undone", "stuck", "no undo", "unclear"]


class Undone(BaseModel):
    """What became of one action when the run was rolled back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str
    args: dict[str, JsonValue]
    how: Undoing
    why: str = ""


def undo_args(effect: Effect, wanted: Iterable[str]) -> dict[str, JsonValue]:
    """What the undo is called with: those of the action's arguments that it takes, and its answer as `result`."""
    offered: Mapping[str, JsonValue] = {"result": effect.reply, **effect.args}
    return {name: offered[name] for name in wanted if name in offered}


def is_left_behind(effect: Effect) -> bool:
    """Whether the action has, or may have, left something in the world."""
    return effect.status not in ("refused", "undone")


def rolled_back(undone: Sequence[Undone]) -> str:
    """The report's section: what was undone, in that order, and what is left for a human to do."""
    if not undone:
        return "Nothing had been done to the outside world."
    return "\n".join(f"- {_line(one)}" for one in undone)


def _line(one: Undone) -> str:
    shown = ", ".join(f"{name}: {_short(value)}" for name, value in one.args.items())
    what = f"`{one.tool}` ({shown})" if shown else f"`{one.tool}`"
    if one.how == "undone":
        return f"{what} was undone: {one.why}"
    left = {
        "stuck": "could not be undone",
        "no undo": "has no undo",
        "unclear": "may or may not have happened",
    }[one.how]
    return f"**Left for a human:** {what} {left}" + (f": {one.why}" if one.why else "")


def _short(value: JsonValue) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:59] + "…"
