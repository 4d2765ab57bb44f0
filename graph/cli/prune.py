"""`baton prune`: forgets old runs, and gives their space back."""

import asyncio
from datetime import datetime
from typing import Annotated

import typer
from pydantic import JsonValue

from graph.address import Address
from graph.cli.console import out, table
from graph.cli.launch import existing
from graph.cli.look import opened, tell
from graph.cli.options import AsJson, Db
from graph.cli.screen import one_line, print_err, put_json
from graph.pruning import DAY_S, ENDS, Old, bytes_in, find_old
from graph.pruning import prune as forget
from graph.settings import artifacts_of, read_settings
from graph.sqlite.connection import explained
from nodes.tools.storage import Location
from state.errors import BadInput
from state.run import RunStatus
from state.text import counted

KEEP_DAYS = 30.0
PRUNABLE: tuple[RunStatus, ...] = (*sorted(ENDS), "waiting", "paused", "handed_over")


def prune(
    keep_days: Annotated[
        float, typer.Option("--keep-days", metavar="N", min=0, help="Days that runs are kept")
    ] = KEEP_DAYS,
    status: Annotated[
        list[str] | None, typer.Option("--status", metavar="S", help="Only these; by default all that have ended")
    ] = None,
    audit: Annotated[bool, typer.Option("--audit", help="Forget what humans were asked and decided, too")] = False,
    files: Annotated[
        bool,
        typer.Option("--files", help="Delete their folders below artifacts, too: reports, uploads"),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Forget runs that ended long ago, and give their space back; the files of their threads stay without `--files`.

    What is remembered of a run for later plans stays: `baton history --forget THREAD`.
    Runs that have not ended go by when they began, and only if their status is named: waiting, paused, handed_over.

    Examples:
      baton prune --dry-run
      baton prune --keep-days 7 --status complete --status cancelled
      baton prune --keep-days 0 --audit --files
    """
    wanted = [_status(name) for name in status or sorted(ENDS)]
    address = existing(db)
    artifacts = artifacts_of(read_settings(), address)
    done = asyncio.run(
        _prune(address, artifacts, keep_days, wanted, with_audit=audit, with_files=files, dry_run=dry_run)
    )
    gone, kept, freed, in_files = done
    for old in kept:
        print_err(f"left alone, somebody has taken it up: {one_line(old.thread_id)}")
    if as_json:
        runs: list[JsonValue] = [{"thread_id": old.thread_id, "status": old.status, "at": old.last_at} for old in gone]
        put_json({"runs": runs, "bytes": freed, "bytes_in_files": in_files, "files": files, "dry_run": dry_run})
        return 0
    listed = table("thread", "status", "since")
    for old in gone:
        since = datetime.fromtimestamp(old.last_at).astimezone().strftime("%Y-%m-%d %H:%M")
        listed.add_row(one_line(old.thread_id), old.status, since)
    if gone:
        out().print(listed)
    told = counted(len(gone), "run")
    print_err(
        f"{told} would be forgotten" if dry_run else f"{told} forgotten, {max(freed, 0) / 1e6:,.1f} MB given back"
    )
    if in_files:
        what = f"{in_files / 1e6:,.1f} MB of their files below {artifacts}"
        would = "would be deleted" if dry_run else "deleted"
        print_err(f"{what} {would}" if files else f"{what} stay; --files deletes them, too")
    return 0


async def _prune(
    db: Address,
    artifacts: Location,
    keep_days: float,
    wanted: list[RunStatus],
    *,
    with_audit: bool,
    with_files: bool,
    dry_run: bool,
) -> tuple[list[Old], list[Old], int, int]:
    """The runs that are gone (or would be), those that were taken up meanwhile, how many bytes were given back.

    And how many the files of those that are gone have, or had.
    """
    async with opened(db, for_writing=not dry_run) as reading:
        old = await find_old(reading, reading.clock.now() - keep_days * DAY_S, wanted, tell)
        if dry_run:
            return old, [], 0, await asyncio.to_thread(bytes_in, artifacts, old)
        database = reading.database
        with explained(db):
            before, in_files = await database.size(), await asyncio.to_thread(bytes_in, artifacts, old)
            files = artifacts if with_files else None
            done = [pair async for pair in forget(reading, old, with_audit=with_audit, artifacts=files)]
            if not await database.give_space_back():
                print_err("the file is in use and keeps its size for now; prune again when no run is at work")
            freed = before - await database.size()
    gone, kept = ([one for one, is_gone in done if is_gone is which] for which in (True, False))
    in_files -= await asyncio.to_thread(bytes_in, artifacts, kept)
    return gone, kept, freed, in_files


def _status(name: str) -> RunStatus:
    for status in PRUNABLE:
        if status == name.replace("-", "_"):
            return status
    raise BadInput(f"{name!r} is no status of runs that can be pruned; there are: {', '.join(PRUNABLE)}")
