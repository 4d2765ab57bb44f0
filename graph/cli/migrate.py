"""`baton migrate`: makes the tables of a database, or brings them to this version; moves the runs of a file there."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from graph.address import Address
from graph.cli.options import COMPLETE, AsJson, Db
from graph.cli.screen import print_err, put_json
from graph.database import open_database
from graph.moving import Moved, move
from graph.settings import read_settings
from state.text import counted


def migrate(
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Copy the runs of this SQLite file there, too")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Make the tables of a database, or bring them to this version; any number may do so at once.

    Whoever opens a database does the same: this is for a step of its own in a deployment. With --from the runs of a
    file are copied into a PostgreSQL database, where they go on; the file stays as it is.

    Examples:
      baton migrate --db postgresql://baton@db/baton
      baton migrate --from baton.db --db postgresql://baton@db/baton
    """
    address: Address = db or read_settings().db
    moved = asyncio.run(_migrate(address, source))
    if as_json:
        put_json({"db": str(address), **(asdict(moved) if moved else {})})
    print_err(f"the tables of {address} are those of this version")
    if moved:
        what = f"{counted(moved.threads, 'thread')}, {counted(moved.checkpoints, 'checkpoint')}"
        print_err(f"copied from {source}: {what}, {counted(moved.rows, 'row')}")
    return COMPLETE


async def _migrate(address: Address, source: Path | None) -> Moved | None:
    async with open_database(address, read_settings().synchronous):
        return await move(source, address) if source else None
