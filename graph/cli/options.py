"""Arguments, options and exit codes (design section 6) that commands share."""

from pathlib import Path
from typing import Annotated

import typer

from state.run import RunStatus

Db = Annotated[Path | None, typer.Option("--db", metavar="FILE", help="The database [default: baton.db]")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout, for programs")]
Thread = Annotated[str, typer.Argument(metavar="THREAD", help="The run's thread, see `baton runs`")]
TeamFile = Annotated[
    Path | None, typer.Option("--team", metavar="FILE", help="Team file [default: the one it was started with]")
]
By = Annotated[str | None, typer.Option("--by", metavar="WHO", help="Who says so [default: your login]")]
MaybeThread = Annotated[str | None, typer.Argument(metavar="[THREAD]", help="Only this run's", show_default=False)]


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

OF_RUN: dict[RunStatus, int] = {
    # `running`: another process runs it, and what was asked of it was passed on
    "complete": COMPLETE,
    "partial": PARTIAL,
    "failed": FAILED,
    "waiting": WAITING,
    "paused": WAITING,
    "running": COMPLETE,
    "cancelled": CANCELLED,
    "handed_over": HANDED_OVER,
}
