"""`baton answer`: a decision about an open question; the run goes on with it."""

import json
from typing import Annotated

import typer
from pydantic import JsonValue

from graph.cli.job import DOOR, going_on, login
from graph.cli.options import AsJson, Db, Thread
from state.approval import Answer
from state.errors import BadInput


def answer(
    thread: Thread,
    request: Annotated[str, typer.Argument(metavar="REQUEST", help="The open question, see `baton inbox`")],
    decision: Annotated[Answer, typer.Argument(help="What is decided")],
    message: Annotated[str, typer.Option("--message", metavar="M", help="Why, or what to do better")] = "",
    args: Annotated[str | None, typer.Option("--args", metavar="JSON", help="New arguments, for edit")] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="WHO", help="Who decides [default: your login]")] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Answer an open question, and go on with the run."""
    said: dict[str, JsonValue] = {"type": decision, "message": message}
    if (decision == "edit") != (args is not None):
        raise BadInput("an edit, and only an edit, has new arguments: edit --args '{\"name\": …}'")
    if args is not None:
        said["args"] = _object(args)
    who = (by or "").strip() or login()
    job = going_on(thread, db, as_json=as_json)
    return job.carry_out(
        lambda sup, on_event: sup.answer(thread, {request: said}, by=who, door=DOOR, on_event=on_event)
    )


def _object(text: str) -> JsonValue:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise BadInput(f"--args is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadInput('--args is not a JSON object; give one such as {"name": "report.md"}')
    return value
