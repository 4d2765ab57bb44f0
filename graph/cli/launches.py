"""What a run was started with on the command line, kept in the Store: `resume` and `answer` go on with the same."""

from pathlib import Path

from langgraph.store.base import BaseStore
from pydantic import BaseModel, ConfigDict

from graph.persistence import open_database
from graph.settings import read_settings
from nodes.runtime.rows import space
from state.errors import BadInput

_KEY = "command-line"


class Launch(BaseModel):
    """What is not part of a run's frozen terms, because it belongs to the process: no keys, no secrets."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    team: str | None = None
    """Path of the team file."""
    model: str | None = None
    """The model's name."""
    out: str | None = None
    """Where the report goes."""


async def remember(store: BaseStore, thread_id: str, launch: Launch) -> None:
    """Keep it."""
    await store.aput(space("launches", thread_id), _KEY, launch.model_dump(mode="json"))


async def recall(db: Path, thread_id: str) -> Launch:
    """What was kept; empty for a run that was not started on the command line."""
    async with open_database(db, read_settings().synchronous) as database:
        item = await database.store.aget(space("launches", thread_id), _KEY)
    return Launch.model_validate(item.value) if item else Launch()


def existing(db: Path | None) -> Path:
    """The database to look into.

    Raises:
        BadInput: there is none; looking does not make one.
    """
    path = db or read_settings().db
    if not path.exists():
        raise BadInput(f"there is no database {path}; `baton run` makes one, or give another with --db")
    return path
