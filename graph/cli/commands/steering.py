"""`baton pause`, `takeover`, `cancel`, `recruit`, `retire`, `mail`: signals to a run, whichever process runs it.

Where nobody runs it, this command takes the run up, so that the signal takes effect now.
"""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from graph.cli.codes import COMPLETE
from graph.cli.job import going_on, login
from graph.cli.options import AsJson, Db, Thread
from state.errors import BadInput
from state.signal import SIGNAL, Signal

Reason = Annotated[str, typer.Option("--reason", metavar="R", help="Why; it is kept in the log")]
By = Annotated[str | None, typer.Option("--by", metavar="WHO", help="Who says so [default: your login]")]


def pause(thread: Thread, reason: Reason = "", by: By = None, db: Db = None, as_json: AsJson = False) -> int:
    """Let nothing new start, and stop what runs at its next safe point."""
    return _sent(thread, db, as_json, by, kind="pause", reason=reason)


def takeover(thread: Thread, reason: Reason = "", by: By = None, db: Db = None, as_json: AsJson = False) -> int:
    """Stop the run and put it into your hands."""
    return _sent(thread, db, as_json, by, kind="takeover", reason=reason)


def cancel(  # the options are the contract
    thread: Thread,
    reason: Reason = "",
    rollback: Annotated[bool, typer.Option("--rollback", help="Undo what was done, newest first")] = False,
    by: By = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """End the run: calls in flight are ended, nothing new starts, what was finished is reported."""
    return _sent(thread, db, as_json, by, kind="cancel", reason=reason, rollback=rollback)


def recruit(
    thread: Thread,
    role: Annotated[str, typer.Option("--role", metavar="R", help="Who is needed")],
    task: Annotated[str, typer.Option("--task", metavar="T", help="What is to be done")],
    by: By = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Add a task, and somebody of a role to do it, beside what is running."""
    return _sent(thread, db, as_json, by, kind="recruit", role=role, task=task)


def retire(
    thread: Thread,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Who, see `baton team THREAD`")],
    by: By = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Take an agent out of further assignment."""
    return _sent(thread, db, as_json, by, kind="retire", agent=agent)


def mail(
    thread: Thread,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say")],
    to: Annotated[str, typer.Option("--to", metavar="AGENT", help="An agent, a role, a task's id, or `all`")],
    by: By = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Send a message to an agent: it is read before the agent's next step."""
    return _sent(thread, db, as_json, by, kind="mail", to=to, text=text)


def _sent(thread: str, db: Path | None, as_json: bool, by: str | None, **fields: str | bool) -> int:
    """Send the signal; 0 when the run does what it was told."""
    signal = _signal({**fields, "by": (by or "").strip() or login()})
    job = going_on(thread, db, as_json=as_json)
    code = job.carry_out(lambda sup, on_event: sup.signal(thread, signal, on_event=on_event))
    return COMPLETE if code != 1 and fields["kind"] in ("pause", "takeover", "cancel") else code


def _signal(raw: dict[str, str | bool]) -> Signal:
    try:
        return SIGNAL.validate_python(raw)
    except ValidationError as error:
        wrong = "; ".join(f"{e['loc'][-1]}: {e['msg']}" for e in error.errors())
        raise BadInput(f"this cannot be sent: {wrong}") from error
