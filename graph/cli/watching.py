"""Watching a run from the command line: JSON lines, a live tree, or a plain line for each event."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime

from pydantic import JsonValue
from rich.live import Live

from graph.cli.progress import Progress
from graph.cli.screen import err, one_line, put_json, say
from graph.cli.tree import draw
from graph.steering import OnEvent
from graph.supervisor import Supervisor
from nodes.runtime.journal import Json
from state.errors import BatonError
from state.event import Event

REFRESH_S = 0.25


@asynccontextmanager
async def watching(sup: Supervisor, thread_id: str, *, as_json: bool) -> AsyncIterator[OnEvent]:
    """What to call with each event."""
    if as_json:
        yield put_json
    elif sys.stderr.isatty():
        async with _live_tree(sup, thread_id) as hear:
            yield hear
    else:
        yield _plain_lines(thread_id)


def _plain_lines(thread_id: str) -> OnEvent:
    """The thread's name once it has begun, then a line for each event."""
    head = iter([f"thread {thread_id}"])

    def hear(event: Json) -> None:
        for line in (*head, line_of(Event.model_validate(event))):
            say(line)

    return hear


def line_of(event: Event) -> str:
    """An event as a line: `07:12:01 task_finished t1 researcher status=done tokens=312`."""
    at = datetime.fromtimestamp(event.ts).astimezone().strftime("%H:%M:%S")
    what = event.phase if event.kind == "phase_entered" else None
    words = [at, event.kind, what, event.task_id, event.agent, *map(_detail, event.data.items())]
    return one_line(" ".join(word for word in words if word))


def _detail(item: tuple[str, JsonValue]) -> str:
    """`key=value`, where the value is short enough to say something on a line."""
    key, value = item
    if isinstance(value, dict | list) or value is None or value == "":
        return ""
    return f"{key}={value if isinstance(value, int | float) else one_line(str(value), 120)}"


@asynccontextmanager
async def _live_tree(sup: Supervisor, thread_id: str) -> AsyncIterator[OnEvent]:
    """A tree that is drawn anew four times a second; new plans and routes are looked up when a phase is entered."""
    progress = Progress(thread_id)
    stale = asyncio.Event()
    stale.set()

    def hear(event: Json) -> None:
        heard = Event.model_validate(event)
        progress.hear(heard)
        is_new = heard.kind == "phase_entered" or (heard.task_id and heard.task_id not in progress.tasks)
        if is_new and not heard.is_nested:
            stale.set()

    live = Live(console=err(), auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
    drawing = asyncio.create_task(_draw_on(live, sup, progress, stale))
    try:
        yield hear
    finally:
        drawing.cancel()
        with suppress(asyncio.CancelledError):
            await drawing
        stale.set()
        await _draw(live, sup, progress, stale)
        live.stop()


async def _draw_on(live: Live, sup: Supervisor, progress: Progress, stale: asyncio.Event) -> None:
    while True:
        await _draw(live, sup, progress, stale)
        await asyncio.sleep(REFRESH_S)


async def _draw(live: Live, sup: Supervisor, progress: Progress, stale: asyncio.Event) -> None:
    """Draw what is known, once there is something: what is refused at the start leaves no empty tree behind."""
    if progress.started_at is None:
        return
    if stale.is_set():
        stale.clear()
        with suppress(BatonError):  # not there yet; the next phase is another occasion
            progress.look(await sup.view(progress.thread_id))
    live.start()
    live.update(draw(progress, sup.services.clock.now(), live.console.height), refresh=True)
