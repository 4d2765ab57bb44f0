"""The `baton` command: the table of commands is in `main`, a family of commands in each of the other files."""

from graph.cli.main import main

__all__ = ["main"]
