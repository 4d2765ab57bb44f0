"""`baton log`: what happened in a run, from any point, and as it happens."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from graph.cli.launches import existing
from graph.cli.options import AsJson, Db, Thread
from graph.cli.screen import put, put_json
from graph.cli.watching import line_of
from graph.supervisor import open_supervisor
from state.run import RunStatus

LOOK_EVERY_S = 0.25
AT_WORK: frozenset[RunStatus] = frozenset({"running"})


def log(
    thread: Thread,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the run ends or waits")] = False,
    first: Annotated[int, typer.Option("--from", metavar="N", min=1, help="Begin with event number N")] = 1,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Print the events of a run, in order."""
    asyncio.run(_print(existing(db), thread, first, follow=follow, as_json=as_json))
    return 0


async def _print(db: Path, thread: str, first: int, *, follow: bool, as_json: bool) -> None:
    after = first - 1
    async with open_supervisor(db) as sup:
        while True:
            run = await sup.view(thread)
            is_over = not follow or run.status not in AT_WORK
            for event in await sup.events(thread, after):
                after = event.seq
                if as_json:
                    put_json(event.model_dump(mode="json"))
                else:
                    put(f"{event.seq:>5} {line_of(event)}")
            if is_over:
                return
            await asyncio.sleep(LOOK_EVERY_S)
