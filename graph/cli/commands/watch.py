"""`baton watch`: applies deadlines as they pass, and takes up runs whose process died or that were answered."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from graph.cli.launches import existing, recall
from graph.cli.options import AsJson, Db
from graph.cli.screen import one_line, put_json, run_as_json, say
from graph.supervisor import open_supervisor
from state.errors import BatonError, ThreadBusy


def watch(
    every: Annotated[float, typer.Option("--every", metavar="S", min=0.05, help="Seconds between two looks")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, and wait for what is taken up")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Keep runs going: apply deadlines that have passed, recover runs whose process died."""
    asyncio.run(_watch(existing(db), every, once=once, as_json=as_json))
    return 0


async def _watch(db: Path, every: float, *, once: bool, as_json: bool) -> None:
    """Look again and again; each run is taken up on its own, so that a long one keeps no other waiting."""
    at_work: dict[str, asyncio.Task[None]] = {}
    while True:
        async with open_supervisor(db) as sup:
            due = await sup.due()
        for thread in due:
            if thread not in at_work or at_work[thread].done():
                at_work[thread] = asyncio.create_task(_take_up(db, thread, as_json=as_json))
        if once:
            await asyncio.gather(*at_work.values())
            return
        await asyncio.sleep(every)


async def _take_up(db: Path, thread: str, *, as_json: bool) -> None:
    """Go on with a run, with what it was started with; what goes wrong with it is said, and the watch goes on."""
    say(f"taking up {one_line(thread)}")
    try:
        launch = await recall(db, thread)
        async with open_supervisor(db, team=launch.team, model=launch.model) as sup:
            run = await sup.resume(thread)
    except ThreadBusy:
        return
    except BatonError as error:
        say(f"baton: {one_line(thread)}: {one_line(str(error))}")
        return
    if as_json:
        put_json(run_as_json(run))
    else:
        say(one_line(f"{run.status}: thread {thread}"))
