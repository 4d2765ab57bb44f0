"""`baton migrate`: makes the tables of a database, or brings them to this version."""

import asyncio

from graph.address import Address
from graph.cli.options import COMPLETE, AsJson, Db
from graph.cli.screen import print_err, put_json
from graph.database import open_database
from graph.settings import read_settings


def migrate(db: Db = None, as_json: AsJson = False) -> int:
    """Make the tables of a database, or bring them to this version; any number may do so at once.

    Whoever opens a database does the same: this is for a step of its own in a deployment.

    Examples:
      baton migrate --db postgresql://baton@db/baton
    """
    address: Address = db or read_settings().db
    asyncio.run(_migrate(address))
    if as_json:
        put_json({"db": str(address)})
    print_err(f"the tables of {address} are those of this version")
    return COMPLETE


async def _migrate(address: Address) -> None:
    async with open_database(address, read_settings().synchronous):
        pass
