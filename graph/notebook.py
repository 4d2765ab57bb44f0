"""A run in a notebook's cell, drawn as it goes: `run = await live(sup, "…", sources=["docs"])`.

What stands still draws itself: a run, a plan, a question, a team, trust and the graph, as the last line of a cell.
"""

import asyncio
from contextlib import suppress
from typing import Any

from graph.supervisor import Supervisor, new_thread
from state.errors import BatonError, ExtraMissing
from state.run import Run
from state.text import Json

try:
    from IPython.display import HTML, display
except ModuleNotFoundError as missing:
    raise ExtraMissing("progress in a cell", "notebook") from missing

EVERY_S = 0.25
"""Seconds between two drawings, at least."""


async def live(sup: Supervisor, query: str, **given: Any) -> Run:
    """Start a run, as `sup.start` does with the same arguments, and draw it in this cell until it ends or waits."""
    thread_id = str(given.pop("thread_id", None) or new_thread())
    begin: Any = display  # IPython has no types
    shown = begin(HTML(""), display_id=True)  # type: ignore[no-untyped-call]
    news = asyncio.Event()

    def hear(_: Json) -> None:
        news.set()

    async def draw_on() -> None:
        while await news.wait():
            news.clear()
            with suppress(BatonError):  # not there yet
                _draw(shown, await sup.view(thread_id))
            await asyncio.sleep(EVERY_S)

    drawing = asyncio.create_task(draw_on())
    try:
        run = await sup.start(query, thread_id=thread_id, on_event=hear, **given)
    finally:
        drawing.cancel()
        with suppress(asyncio.CancelledError):
            await drawing
    _draw(shown, run)
    return run


def _draw(shown: Any, run: Run) -> None:
    if shown is not None:  # outside of a notebook there is no cell
        shown.update(run)
