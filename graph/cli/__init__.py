"""The `baton` command: one file for each command in `commands`, registered in `door`."""

from graph.cli.main import main

__all__ = ["main"]
