"""Commands that change a run.

Each sends a typed signal, whichever process runs the run. Where nobody runs it, the command takes it up itself, so that
the signal takes effect now.
"""

import json
from collections.abc import Callable
from typing import Annotated

import typer
from pydantic import JsonValue, ValidationError

from graph.address import Address
from graph.cli.options import COMPLETE, FAILED, AsJson, By, Db, TeamFile, Thread
from graph.cli.plan_file import STDIN, read_plan, read_results
from graph.cli.session import DOOR, going_on, who
from state.approval import Answer
from state.errors import BadInput
from state.signal import Cancel, Pause, Recruit, Retire, SendMail, Signal, Takeover

Reason = Annotated[str, typer.Option("--reason", metavar="R", help="Why; it is kept in the log")]


def pause(thread: Thread, reason: Reason = "", by: By = None, db: Db = None, as_json: AsJson = False) -> int:
    """Let nothing new start, and stop what runs at its next safe point.

    Examples:
      baton pause launch --reason "wait for the figures"
    """
    return _control(thread, db, as_json=as_json, signal=Pause(by=who(by), door=DOOR, reason=reason))


def takeover(thread: Thread, reason: Reason = "", by: By = None, db: Db = None, as_json: AsJson = False) -> int:
    """Stop the run and put it into your hands.

    Examples:
      baton takeover launch --reason "the customer called"
    """
    return _control(thread, db, as_json=as_json, signal=Takeover(by=who(by), door=DOOR, reason=reason))


def cancel(  # the options are the contract
    thread: Thread,
    reason: Reason = "",
    rollback: Annotated[bool, typer.Option("--rollback", help="Undo what was done, newest first")] = False,
    by: By = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """End the run: calls in flight are ended, nothing new starts, what was finished is reported.

    Examples:
      baton cancel launch
      baton cancel launch --rollback
    """
    return _control(thread, db, as_json=as_json, signal=Cancel(by=who(by), door=DOOR, reason=reason, rollback=rollback))


def recruit(
    thread: Thread,
    role: Annotated[str, typer.Option("--role", metavar="R", help="Who is needed")],
    task: Annotated[str, typer.Option("--task", metavar="T", help="What is to be done")],
    needed_by: Annotated[
        list[str] | None, typer.Option("--for", metavar="TASK", help="A task that waits for it; repeatable")
    ] = None,
    by: By = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Add a task, and somebody of a role to do it, beside what is running.

    Examples:
      baton recruit launch --role analyst --task "Check the totals"
      baton recruit launch --role analyst --task "Check the totals" --for summary
    """
    made = _usable(lambda: Recruit(by=who(by), door=DOOR, role=role, task=task, needed_by=needed_by or []))
    return _send(thread, db, as_json=as_json, signal=made)


def retire(
    thread: Thread,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Who, see `baton team THREAD`")],
    by: By = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Take an agent out of further assignment.

    Examples:
      baton retire launch publisher
    """
    return _send(thread, db, as_json=as_json, signal=_usable(lambda: Retire(by=who(by), door=DOOR, agent=agent)))


def mail(
    thread: Thread,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say")],
    to: Annotated[str, typer.Option("--to", metavar="AGENT", help="An agent, a role, a task's id, or `all`")],
    by: By = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Send a message to an agent: it is read before the agent's next step.

    Examples:
      baton mail launch "Use the figures of 2025" --to analyst
    """
    return _send(thread, db, as_json=as_json, signal=_usable(lambda: SendMail(by=who(by), door=DOOR, to=to, text=text)))


def _send(thread: str, db: Address | None, *, as_json: bool, signal: Signal) -> int:
    """Send the signal; the exit code is the run's."""
    session = going_on(thread, db, as_json=as_json)
    return session.carry_out(lambda sup, on_event: sup.signal(thread, signal, on_event=on_event))


def _control(thread: str, db: Address | None, *, as_json: bool, signal: Signal) -> int:
    """Send the signal; 0 when the run does what it was told, also where that is to stop."""
    code = _send(thread, db, as_json=as_json, signal=signal)
    return code if code == FAILED else COMPLETE


def _usable(make: Callable[[], Signal]) -> Signal:
    try:
        return make()
    except ValidationError as error:
        wrong = "; ".join(f"{e['loc'][-1]}: {e['msg']}" for e in error.errors())
        raise BadInput(f"this cannot be sent: {wrong}") from error


def answer(
    thread: Thread,
    request: Annotated[str, typer.Argument(metavar="REQUEST", help="The open question, see `baton inbox`")],
    decision: Annotated[Answer, typer.Argument(help="What is decided")],
    message: Annotated[str, typer.Option("--message", metavar="M", help="Why, or what to do better")] = "",
    args: Annotated[str | None, typer.Option("--args", metavar="JSON", help="New arguments, for edit")] = None,
    by: By = None,
    team: TeamFile = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Answer an open question, and go on with the run.

    Examples:
      baton answer launch t1.publish approve --by ana
      baton answer launch t1.publish reject --message "not before Monday"
      baton answer launch t1.publish edit --args '{"name": "b.md"}'
    """
    said: dict[str, JsonValue] = {"type": decision, "message": message}
    if (decision == "edit") != (args is not None):
        raise BadInput("an edit, and only an edit, has new arguments: edit --args '{\"name\": …}'")
    if args is not None:
        said["args"] = _object(args)
    session = going_on(thread, db, team, as_json=as_json)
    return session.carry_out(
        lambda sup, on_event: sup.answer(thread, {request: said}, by=who(by), door=DOOR, on_event=on_event)
    )


def _object(text: str) -> JsonValue:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise BadInput(f"--args is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadInput('--args is not a JSON object; give one such as {"name": "report.md"}')
    return value


def hand_back(
    thread: Thread,
    results: Annotated[
        str | None,
        typer.Option("--results", metavar="FILE", help="Results by task id, YAML or JSON; - is stdin"),
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option("--plan", metavar="FILE", help="The plan from now on, see `baton status --plan`; - is stdin"),
    ] = None,
    by: By = None,
    team: TeamFile = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Give a run back after a takeover: with results for tasks, with a changed plan, or as it is.

    Examples:
      baton hand-back launch
      baton hand-back launch --results results.yaml --plan plan.yaml
    """
    if results == STDIN and plan == STDIN:
        raise BadInput("--results and --plan cannot both be read from stdin; give one of them as a file")
    made = read_results(results) if results is not None else {}
    changed = read_plan(plan) if plan is not None else None
    session = going_on(thread, db, team, as_json=as_json)
    return session.carry_out(
        lambda sup, on_event: sup.hand_back(thread, made, changed, by=who(by), door=DOOR, on_event=on_event)
    )
