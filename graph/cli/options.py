"""Arguments, options and exit codes (design section 6) that commands share."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from graph.address import address_of

_THREADS = "SELECT key FROM store WHERE prefix = 'runs' ORDER BY json_extract(value, '$.started_at') DESC"
"""The index of runs (`nodes.runtime.rows`), read without the libraries that write it: a shell waits for this."""


def threads(ctx: typer.Context, incomplete: str) -> list[str]:
    """The threads of the database whose names begin so, newest first; for the shell, so nothing is made or said."""
    path = ctx.params.get("db") or address_of(os.environ.get("BATON_DB", "baton.db"))
    if not isinstance(path, Path):  # a server is not asked while somebody types
        return []
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute(_THREADS).fetchall()
    except sqlite3.Error:
        return []
    return [thread for (thread,) in rows if thread.startswith(incomplete)]


Db = Annotated[
    Any,  # `Address | None`, but Typer takes no unions
    typer.Option("--db", parser=address_of, metavar="FILE", help="The database, or postgresql://… [default: baton.db]"),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout, for programs")]
Thread = Annotated[
    str, typer.Argument(metavar="THREAD", help="The run's thread, see `baton runs`", autocompletion=threads)
]
TeamFile = Annotated[
    Path | None, typer.Option("--team", metavar="FILE", help="Team file [default: the one it was started with]")
]
By = Annotated[str | None, typer.Option("--by", metavar="WHO", help="Who says so [default: your login]")]
MaybeThread = Annotated[
    str | None, typer.Argument(metavar="[THREAD]", help="Only this run's", show_default=False, autocompletion=threads)
]


COMPLETE = 0
FAILED = 1
USAGE = 2
WAITING = 3
CANCELLED = 4
HANDED_OVER = 5
PARTIAL = 6
INTERRUPTED = 130
"""128 + SIGINT, as a shell says it."""
BROKEN_PIPE = 141
"""128 + SIGPIPE: whoever read our output has left (`| head`)."""
