"""The `baton` command: from words to a command, and from whatever went wrong to one line and an exit code.

To add a command: write a function in a file of `graph.cli`, and list it in `COMMANDS`. Its docstring is its help; lines
below `Examples:` are shown as they are. A command's file is imported when the command is run.
"""

import ast
import gc
import inspect
import io
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from graph.cli.options import BROKEN_PIPE, FAILED, INTERRUPTED, USAGE
from graph.cli.screen import fail, print_out
from state.errors import BatonError

COMMANDS = {
    "run": "graph.cli.run",
    "resume": "graph.cli.run",
    "status": "graph.cli.look",
    "runs": "graph.cli.look",
    "log": "graph.cli.look",
    "history": "graph.cli.history",
    "inbox": "graph.cli.look",
    "answer": "graph.cli.steer",
    "trust": "graph.cli.team",
    "watch": "graph.cli.watch",
    "worker": "graph.cli.worker",
    "pause": "graph.cli.steer",
    "takeover": "graph.cli.steer",
    "hand-back": "graph.cli.steer",
    "cancel": "graph.cli.steer",
    "team": "graph.cli.team",
    "tools": "graph.cli.tools",
    "policy": "graph.cli.policy",
    "init": "graph.cli.init",
    "recruit": "graph.cli.steer",
    "retire": "graph.cli.steer",
    "mail": "graph.cli.steer",
    "serve": "graph.cli.serve",
    "export": "graph.cli.export",
    "graph": "graph.cli.drawing",
    "prune": "graph.cli.prune",
    "doctor": "graph.cli.doctor",
    "migrate": "graph.cli.migrate",
}
"""Every command, in the order of the overview, with the file that has its function."""

QUIET = ("langchain_core.callbacks", "apprise", "psycopg", "opentelemetry", "procrastinate")
"""Libraries whose warnings the terminal does not repeat: a question that stops a callback is asked, and that a message
reached nobody, or that a connection was lost, is said by Baton. A collector of traces that is away stops nothing."""

ABOUT = """\
A supervisor for work that several agents do: it plans a request, gives each task to the agent that fits,
keeps a human in command, and answers once.

Exit codes: 0 complete, 1 failed, 2 usage or bad input, 3 waiting for a human (or paused), 4 cancelled, 5 handed over,
6 partial (something is missing).
"""
EXAMPLES = "\n\nExamples:\n"


def function_of(name: str) -> str:
    """What a command's function is called: `hand_back` for `hand-back`."""
    return name.replace("-", "_")


def load(name: str) -> Any:
    """The command, as Typer makes it of its function; imports its file."""
    function: Callable[..., int] = getattr(import_module(COMMANDS[name]), function_of(name))
    if not gc.isenabled():  # the process begins: what it has imported stays, and is not looked through any more
        gc.freeze()
        gc.enable()
    about, _, examples = inspect.cleandoc(function.__doc__ or "").partition(EXAMPLES)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=about, epilog=f"\b\nExamples:\n{examples}")(function)  # \b: as it is, not as a paragraph
    return typer.main.get_command(app)


class _Unloaded(TyperCommand):
    """A command that nobody has run yet: its name and, read from its source, the line about it."""

    def get_short_help_str(self, limit: int = 45) -> str:  # noqa: ARG002 # the terminal folds what is too long
        """The first line of its function's docstring."""
        file = find_spec(COMMANDS[str(self.name)])
        tree = ast.parse(Path(str(file and file.origin)).read_text("utf-8"))
        wanted = function_of(str(self.name))
        functions = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == wanted)
        return (ast.get_docstring(next(functions)) or "").partition("\n")[0]


class _CommandGroup(TyperGroup):
    """The group of all commands; sees an interrupt and a closed pipe before Typer makes something of them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: _Unloaded(name) for name in COMMANDS}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the words name, loaded, and the words that are left for it."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, load(name) if name and found else found, rest

    def invoke(self, ctx: typer.Context) -> int:  # type: ignore[override] # Typer's own type is its private one
        """Run the command; its exit code."""
        try:
            code: int = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt as error:
            return fail(str(error) or "interrupted", INTERRUPTED)
        except BrokenPipeError:
            _close_quietly()
            return BROKEN_PIPE
        return code


def _say_version(wanted: bool) -> None:
    if wanted:
        print_out(f"baton {version('baton')}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
]


def make_app() -> typer.Typer:
    """The Typer application."""
    app = typer.Typer(
        cls=_CommandGroup,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )

    @app.callback(help=ABOUT)
    def baton(version: Version = False) -> None:
        """Options of the command as a whole."""

    return app


def main(args: Sequence[str] | None = None) -> int:
    """The console script: runs one command and returns its exit code. Nothing leaves here as a traceback.

    Without `args` the process is its own: no garbage is looked for before its command is imported.
    """
    if args is None:
        gc.disable()
    _accept_any_text()
    for library in QUIET:
        logging.getLogger(library).addHandler(logging.NullHandler())
    given = list(sys.argv[1:] if args is None else args)
    try:
        return int(make_app()(given or ["--help"], prog_name="baton", standalone_mode=False) or 0)
    except BatonError as error:
        return fail(str(error), error.exit_code)
    except typer.TyperException as error:
        wrong = error.format_message().replace("Value error, ", "").rstrip(".")
        return fail(f"{wrong}; see `baton {_named(given)}--help`", USAGE)
    except typer.Abort:
        return fail("interrupted", INTERRUPTED)
    except Exception as error:  # noqa: BLE001 # the last resort: a defect is one line too
        if os.environ.get("BATON_DEBUG"):
            traceback.print_exc()
        text = f"this should not have happened: {type(error).__name__}: {error}"
        return fail(f"{text} (BATON_DEBUG=1 shows where)", FAILED)
    finally:
        gc.unfreeze()  # where something is left as the process ends, DuckDB's extension complains of it at length


def _named(given: Sequence[str]) -> str:
    return f"{given[0]} " if given and given[0] in COMMANDS else ""


def _accept_any_text() -> None:
    """What a terminal's encoding cannot show is escaped; it does not end a run."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _close_quietly() -> None:
    """What is still buffered goes nowhere, so that Python does not complain about the pipe when it ends."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 # os.devnull is a name, not always a path
        try:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        except OSError:
            return
