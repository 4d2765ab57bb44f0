"""What a run was launched with on the command line, kept so that `resume` and `answer` go on with the same.

And which agents that gives it, by name: to say what a run lacks, none of them has to be imported.
"""

from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from langgraph.store.base import BaseStore
from pydantic import BaseModel, ConfigDict

from graph.address import Address
from graph.database import open_database
from graph.settings import read_settings
from graph.sqlite.connection import is_writable
from nodes.runtime.rows import space
from state.errors import BadInput


class Launch(BaseModel):
    """What is not part of a run's frozen terms, because it belongs to the process: no keys, no secrets."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    team: str | None = None
    """Path of the team file."""
    model: str | None = None
    """The model's name."""
    out: str | None = None
    """Where the report goes."""


_KEY = "command-line"


async def remember(store: BaseStore, thread_id: str, launch: Launch) -> None:
    """Keep it."""
    await store.aput(space("launches", thread_id), _KEY, launch.model_dump(mode="json"))


async def recall(db: Address, thread_id: str) -> Launch:
    """What was kept; empty for a run that was not started on the command line."""
    async with open_database(db, read_settings().synchronous, read_only=can_only_be_read(db)) as database:
        return await recalled(database.store, thread_id)


async def recalled(store: BaseStore, thread_id: str) -> Launch:
    """The same, where the database is open."""
    item = await store.aget(space("launches", thread_id), _KEY)
    return Launch.model_validate(item.value) if item else Launch()


def can_only_be_read(db: Address) -> bool:
    """Whether it is a file that nothing can be written to: it can be looked at all the same."""
    return isinstance(db, Path) and db.exists() and not is_writable(db)


def existing(db: Address | None) -> Address:
    """The database to look into.

    Raises:
        BadInput: there is none; looking does not make one.
    """
    address = db or read_settings().db
    if isinstance(address, Path) and not address.exists():
        raise BadInput(f"there is no database {address}; `baton run` makes one, or give another with --db")
    return address


def agents_in(team: Path | None) -> list[str]:
    """The names of the agents in a team file, or of the built-in team; what else is in the file is not looked at.

    Raises:
        TeamInvalid: the file is missing, or has no names; says all that is wrong.
    """
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    file = team or files("graph").joinpath("builtin.yaml")
    try:
        text = file.read_text("utf-8")
        raw = yaml.load(text, Loader=loader)  # noqa: S506
        return [str(agent["name"]) for agent in raw["agents"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, yaml.YAMLError):
        from graph.team_file import open_team  # noqa: PLC0415 # it loads every tool

        return [agent.name for agent in open_team(team)]
