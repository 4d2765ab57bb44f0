"""`baton run`: a request, until it is answered or a human is needed; `baton resume`: go on with it."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from graph.address import Address
from graph.cli.launch import Launch, recall, remember
from graph.cli.options import AsJson, Db, TeamFile, Thread
from graph.cli.plan_file import read_plan, read_schema
from graph.cli.session import DOOR, Session, Verb, going_on, who
from graph.settings import read_settings
from graph.steering import OnEvent
from graph.supervisor import Supervisor, checked_thread, new_thread
from state.errors import BadInput, ThreadUnknown
from state.plan import Plan
from state.policy import Oversight
from state.run import Run
from state.text import Json


def run(  # the options are the contract
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What is to be done")],
    sources: Annotated[
        list[str] | None,
        typer.Option("--sources", metavar="DIR", help="File, folder or web page to work from; repeatable"),
    ] = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="ID", help="Name of the run [default: new]")] = None,
    team: Annotated[Path | None, typer.Option("--team", metavar="FILE", help="Team file [default: built-in]")] = None,
    oversight: Annotated[Oversight | None, typer.Option("--oversight", help="How closely a human watches")] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="FILE", help="Plan to use, YAML or JSON; - is stdin")
    ] = None,
    schema: Annotated[
        str | None, typer.Option("--schema", metavar="FILE", help="JSON Schema: the answer as data, too; - is stdin")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Approve whatever is asked")] = False,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Chat model, or `offline`")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The report [default: artifacts/THREAD/report.md]")
    ] = None,
    to: Annotated[
        str, typer.Option("--to", metavar="AGENT", help="Who does all of it, by name, instead of a plan")
    ] = "",
    budget_tokens: Annotated[
        int | None, typer.Option("--budget-tokens", metavar="N", min=1, help="Tokens the run may use")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Work on a request until it is answered or a human is needed.

    On a thread whose run has ended it is a follow-up: the answers before are in view; sources, team and model stay.

    Examples:
      baton run "What do customers complain about most?" --sources docs --oversight on_the_loop
      baton run "The same question again" --sources docs --plan plan.yaml
      baton run "What do the plans cost?" --sources docs --schema plans.json --json
      baton run "Shorter, as a table" --thread launch
      baton run "Draft the launch" --team team.yaml --thread launch --budget-tokens 50000
    """
    thread_id = checked_thread(new_thread() if thread is None else thread)
    given = read_plan(plan) if plan is not None else None
    answer = read_schema(schema) if schema is not None else None
    before = _before(db, thread)
    launch = Launch(team=_absolute(team) or before.team, model=model or before.model, out=_absolute(_file(out)))
    changes: Json = {"oversight": oversight, "token_budget": budget_tokens}
    policy: Json = {key: value for key, value in changes.items() if value is not None}
    session = Session(thread_id, db, launch, as_json=as_json, yes=yes, policy=policy)
    return session.carry_out(_starting(query, sources or [], session, given, answer, to))


def _starting(
    query: str, sources: list[str], session: Session, plan: Plan | None, answer: Json | None, to: str
) -> Verb:
    async def start(sup: Supervisor, on_event: OnEvent) -> Run:
        if await _is_free(sup, session.thread_id) and sup.graph.store:
            await remember(sup.graph.store, session.thread_id, session.launch)
        thread_id = session.thread_id
        return await sup.start(query, sources, thread_id, plan=plan, answer=answer, to=to, on_event=on_event)

    return start


def _before(db: Address | None, thread: str | None) -> Launch:
    """What the thread was launched with before, for a follow-up on it."""
    address = db or read_settings().db
    is_new = isinstance(address, Path) and not address.exists()
    return Launch() if thread is None or is_new else asyncio.run(recall(address, thread))


async def _is_free(sup: Supervisor, thread_id: str) -> bool:
    """Whether a run may start there; where one is in flight, what it was launched with must stay."""
    try:
        found = await sup.view(thread_id)
    except ThreadUnknown:
        return True
    return found.has_ended


def _file(out: Path | None) -> Path | None:
    """Where the report shall go, refused before work is spent on it."""
    if out is not None and out.is_dir():
        raise BadInput(f"--out {out} is a folder; give a file")
    if out is not None and not out.absolute().parent.is_dir():
        raise BadInput(f"--out {out}: there is no folder {out.absolute().parent}; make it, or give another file")
    return out


def _absolute(path: Path | None) -> str | None:
    return str(path.absolute()) if path else None


def resume(
    thread: Thread,
    team: TeamFile = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Chat model [default: the one it was started with]")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Go on with a run after a crash, a pause, or with answers given.

    Examples:
      baton resume launch
      baton resume launch --model gpt-4o
    """
    session = going_on(thread, db, team, model, as_json=as_json)
    return session.carry_out(lambda sup, on_event: sup.resume(thread, who(None), door=DOOR, on_event=on_event))
