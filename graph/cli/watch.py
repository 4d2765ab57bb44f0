"""`baton watch`: applies deadlines as they pass, and takes up runs whose process died or that were answered."""

import asyncio
import webbrowser
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Annotated

import typer

from graph.address import Address
from graph.cli.launch import existing, recall
from graph.cli.options import AsJson, Db, TeamFile
from graph.cli.screen import one_line, print_err, put_json, run_as_json
from graph.composition import compose
from graph.database import Database, open_database
from graph.recovery import Recovery
from graph.runs import Runs
from graph.settings import artifacts_of, read_settings, uploads_of
from graph.supervisor import open_supervisor
from state.errors import ThreadBusy


def watch(
    every: Annotated[float, typer.Option("--every", metavar="S", min=0.05, help="Seconds between two looks")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, and wait for what is taken up")] = False,
    in_browser: Annotated[bool, typer.Option("--open", help="Show the control room in a browser meanwhile")] = False,
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="Of the control room")] = 2024,
    team: TeamFile = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Keep runs going: apply deadlines that have passed, recover runs whose process died.

    Examples:
      baton watch --open
      baton watch --once --json
    """
    address = existing(db)
    room = _room(address, team, port) if in_browser and not once else nullcontext()
    asyncio.run(_watch(address, team, every, room, once=once, as_json=as_json))
    return 0


@asynccontextmanager
async def _room(db: Address, team: Path | None, port: int) -> AsyncIterator[None]:
    """The control room, in a browser; where there is none, its address is enough."""
    from graph.web.alone import served_room  # noqa: PLC0415 # an extra

    settings = read_settings()
    services = compose(settings, team=team, artifacts=artifacts_of(settings, db))

    def runs_on(database: Database) -> Runs:
        return Runs(services, database, database.leases(services.clock))

    async with (
        open_database(db, settings.synchronous) as database,
        served_room(runs_on(database), port, uploads_of(settings, db), settings.files) as url,
    ):
        print_err(f"control room: {url}")
        await asyncio.to_thread(webbrowser.open, url)
        yield


async def _watch(
    db: Address,
    team: Path | None,
    every: float,
    room: AbstractAsyncContextManager[None],
    *,
    once: bool,
    as_json: bool,
) -> None:
    async def due() -> list[str]:
        async with open_supervisor(db) as sup:
            return await sup.due()

    async def take_up(thread: str) -> None:
        with suppress(ThreadBusy):  # somebody was faster
            await _take_up(db, thread, team, as_json=as_json)

    watchman = Recovery(due, take_up, _complain)
    if once:
        await watchman.look()
        await watchman.settled()
    else:
        async with room:
            await watchman.watch(every)


async def _take_up(db: Address, thread: str, team: Path | None, *, as_json: bool) -> None:
    """Go on with a run, with what it was started with; `team` where nothing is kept of its team."""
    launch = await recall(db, thread)
    async with open_supervisor(db, team=launch.team or team, model=launch.model) as sup:
        await sup.check_team(thread)
        print_err(f"taking up {one_line(thread)}")
        run = await sup.resume(thread)
    if as_json:
        put_json(run_as_json(run))
    else:
        print_err(one_line(f"{run.status}: thread {thread}"))


def _complain(thread: str, error: Exception) -> None:
    print_err(f"baton: {one_line(': '.join(filter(None, [thread, str(error)])))}")
