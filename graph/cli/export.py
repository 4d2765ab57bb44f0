"""`baton export`: a run as one file, as a page that opens offline, as JSON or as Markdown."""

import json
from pathlib import Path
from typing import Annotated

import typer

from graph.cli.look import look, seen
from graph.cli.options import AsJson, Db, Thread
from graph.cli.result import write_report
from graph.cli.screen import print_err, print_out
from graph.reading import Reading
from graph.web.page import as_one_file
from graph.web.passages import passages
from graph.web.views import in_full
from state.errors import BadInput
from state.text import Json


def export(
    thread: Thread,
    html: Annotated[bool, typer.Option("--html", help="A page that opens without a network [default]")] = False,
    md: Annotated[bool, typer.Option("--md", help="The report")] = False,
    to: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to [default: stdout]")] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Write a run as one file.

    Examples:
      baton export launch --html --out launch.html
      baton export launch --json
    """
    if html + as_json + md > 1:
        raise BadInput("give one of --html, --json and --md")

    async def viewed(reading: Reading) -> Json:
        run = await seen(reading, thread)
        full = await in_full(reading, run)
        return full if as_json or md else {**full, "passages": await passages(reading, run)}

    view = look(db, viewed)
    text = _as_markdown(view) if md else json.dumps(view, ensure_ascii=False) if as_json else as_one_file(view)
    if to is None:
        print_out(text)
        return 0
    try:
        write_report(to, text)
    except OSError as error:
        raise BadInput(f"{to} cannot be written: {error.strerror or error}") from error
    print_err(f"written: {to}")
    return 0


def _as_markdown(view: Json) -> str:
    """The report, or, where there is none yet, what each task has come to."""
    run = view["run"]
    if not isinstance(run, dict):
        return ""
    if run["report"]:
        return str(run["report"])
    tasks = run["tasks"] if isinstance(run["tasks"], list) else []
    lines = [f"- {task['id']} ({task['status']}): {task['description']}" for task in tasks if isinstance(task, dict)]
    return "\n".join([f"# {run['query']}", "", f"{run['status']}", "", *lines])
