"""The `baton` command: from words to a command, and from whatever went wrong to one line and an exit code.

To add a command: write a function in a file of `graph.cli`, and list it in `COMMANDS`.
"""

import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence

import typer
from typer.core import TyperGroup

from graph.cli.look import graph, inbox, log, runs, status
from graph.cli.options import BROKEN_PIPE, FAILED, INTERRUPTED, USAGE
from graph.cli.run import resume, run
from graph.cli.screen import fail
from graph.cli.steer import answer, cancel, hand_back, mail, pause, recruit, retire, takeover
from graph.cli.team import team, trust
from graph.cli.watch import watch
from state.errors import BatonError

COMMANDS: tuple[Callable[..., int], ...] = (
    *(run, resume, status, runs, log, inbox, answer, trust, watch),
    *(pause, takeover, hand_back, cancel, team, recruit, retire, mail, graph),
)

ABOUT = """\
A supervisor for work that several agents do: it plans a request, gives each task to the agent that fits,
keeps a human in command, and answers once.

Exit codes: 0 complete, 1 failed, 2 usage or bad input, 3 waiting for a human (or paused), 4 cancelled, 5 handed over,
6 partial (something is missing).
"""


class _CommandGroup(TyperGroup):
    """The group of all commands; sees an interrupt and a closed pipe before Typer makes something of them."""

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


def make_app() -> typer.Typer:
    """The Typer application."""
    app = typer.Typer(
        cls=_CommandGroup, help=ABOUT, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
    )
    for command in COMMANDS:
        app.command()(command)
    return app


def main(args: Sequence[str] | None = None) -> int:
    """The console script: runs one command and returns its exit code. Nothing leaves here as a traceback."""
    _accept_any_text()
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


def _named(given: Sequence[str]) -> str:
    known = {command.__name__.replace("_", "-") for command in COMMANDS}
    return f"{given[0]} " if given and given[0] in known else ""


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
