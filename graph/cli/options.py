"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Db = Annotated[Path | None, typer.Option("--db", metavar="FILE", help="The database [default: baton.db]")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout, for programs")]
Thread = Annotated[str, typer.Argument(metavar="THREAD", help="The run's thread, see `baton runs`")]
MaybeThread = Annotated[str | None, typer.Argument(metavar="[THREAD]", help="Only this run's", show_default=False)]
