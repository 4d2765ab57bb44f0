"""`baton run`: a request, until it is answered or a human is needed; `baton resume`: go on with it."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from graph.address import Address
from graph.cli.launch import Launch, recall, remember
from graph.cli.options import COMPLETE, AsJson, Db, TeamFile, Thread
from graph.cli.plan_file import read_plan, read_schema
from graph.cli.screen import command, one_line, print_err, put_json, run_as_json
from graph.cli.session import DOOR, Session, Verb, going_on, who
from graph.policy_text import read_policy, set_fields
from graph.settings import read_settings
from graph.steering import OnEvent
from graph.supervisor import Supervisor, checked_thread, new_thread, open_supervisor
from graph.team_file import open_team
from nodes.intake import checked_goal
from nodes.language.requests import expression_in
from nodes.llm.choose import make_models
from nodes.tools.collect import collect
from nodes.tools.pages import GivenSources
from state.errors import BadInput, ThreadUnknown
from state.policy import Oversight
from state.run import Run
from state.text import Json


def _time(said: str) -> datetime:
    """A time as people write it; by this machine's clock unless it says a zone."""
    try:
        return datetime.fromisoformat(said)
    except ValueError:
        raise BadInput(
            f"--at {one_line(said)}: give a time as 2027-01-31, 2027-01-31 06:00 or 2027-01-31T06:00:00+01:00"
        ) from None


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
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="Policy fields, YAML or JSON; see `baton policy`")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="One policy field, or a part of it; repeatable"),
    ] = None,
    queue: Annotated[
        bool, typer.Option("--queue", help="Leave it to a worker (`baton worker`); needs PostgreSQL")
    ] = False,
    priority: Annotated[
        int, typer.Option("--priority", metavar="N", help="With --queue: the highest is begun first")
    ] = 0,
    at: Annotated[
        datetime | None, typer.Option("--at", parser=_time, metavar="TIME", help="With --queue: not before that time")
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
      baton run "Draft the launch" --policy policy.yaml --set approval_timeout_s=2h
      baton run "Compare the offers" --queue --priority 5 --at "2027-01-31 06:00:00"
    """
    if not queue and (priority or at):
        raise BadInput("--priority and --at are for runs that wait for a worker: add --queue")
    thread_id = checked_thread(new_thread() if thread is None else thread)
    given = read_plan(plan) if plan is not None else None
    answer = read_schema(schema) if schema is not None else None
    before = _before(db, thread)
    launch = Launch(team=_absolute(team) or before.team, model=model or before.model, out=_absolute(_file(out)))
    changes: Json = {"oversight": oversight, "token_budget": budget_tokens}
    fields: Json = {
        **(read_policy(policy) if policy else {}),
        **set_fields(setting or []),
        **{key: value for key, value in changes.items() if value is not None},
    }
    session = Session(thread_id, db, launch, as_json=as_json, yes=yes, policy=fields)
    asked = {"plan": given, "answer": answer, "to": to}
    if queue:
        when = {"priority": priority, "at": at.timestamp() if at else None}
        return asyncio.run(_enqueue(query, sources or [], session, asked | when))
    if _can_be_made(db or read_settings().db):  # but not for nothing
        _check_first_try(query, sources or [], session, asked)
    return session.carry_out(_starting(query, sources or [], session, asked))


async def _enqueue(query: str, sources: list[str], session: Session, asked: dict[str, Any]) -> int:
    """Put a run into the queue of its team."""
    launch, policy = session.launch, session.policy or None
    async with open_supervisor(session.db, team=launch.team, model=launch.model) as sup:
        run = await sup.enqueue(query, sources, session.thread_id, policy=policy, model=launch.model, **asked)
        if sup.graph.store:
            await remember(sup.graph.store, session.thread_id, launch)
    if session.as_json:
        put_json(run_as_json(run))
    follow = command("log", run.thread_id, "--follow", db=session.db)
    print_err(f"queued: thread {one_line(run.thread_id)}; follow it: {follow}")
    return COMPLETE


def _check_something_can_answer(query: str, sources: list[str], session: Session, asked: dict[str, Any]) -> None:
    """Refuse a first try with nothing to answer from; the offline model alone can calculate, and nothing else.

    Raises:
        BadInput: says what to give.
    """
    settings, launch = read_settings(), session.launch
    if sources or asked["plan"] or asked["to"] or launch.team or launch.model or settings.model or settings.team:
        return
    models = make_models(api_key=settings.openai_api_key, base_url=settings.openai_base_url)
    if not models.is_offline or expression_in(checked_goal(query)):
        return
    raise BadInput(
        "there is nothing to answer from: no language model (OPENAI_API_KEY, or OPENAI_BASE_URL for one of your own)"
        " and no sources (--sources DIR); `baton init` makes a project to begin with"
    )


def _check_first_try(query: str, sources: list[str], session: Session, asked: dict[str, Any]) -> None:
    """Refuse what will not be started, as the run would, before a database is made for it.

    Raises:
        BadInput: an empty request, sources that are not there, nobody of that name, or nothing to answer from.
    """
    checked_goal(query)
    collect(GivenSources.of(sources).paths)
    if asked["to"]:
        open_team(session.launch.team or read_settings().team).agent(asked["to"])
    _check_something_can_answer(query, sources, session, asked)


def _starting(query: str, sources: list[str], session: Session, asked: dict[str, Any]) -> Verb:
    async def start(sup: Supervisor, on_event: OnEvent) -> Run:
        before = await _found(sup, session.thread_id)
        if before is None:
            _check_something_can_answer(query, sources, session, asked)
        is_free = before is None or before.has_ended  # where one is in flight, what it was launched with must stay
        if is_free and sup.graph.store:
            await remember(sup.graph.store, session.thread_id, session.launch)
        thread_id = session.thread_id
        return await sup.start(query, sources, thread_id, **asked, on_event=on_event)

    return start


def _before(db: Address | None, thread: str | None) -> Launch:
    """What the thread was launched with before, for a follow-up on it."""
    address = db or read_settings().db
    is_new = isinstance(address, Path) and not address.exists()
    return Launch() if thread is None or is_new else asyncio.run(recall(address, thread))


def _can_be_made(db: Address) -> bool:
    """Whether it is a file that is not there yet, and could be."""
    return isinstance(db, Path) and not db.exists() and db.absolute().parent.is_dir()


async def _found(sup: Supervisor, thread_id: str) -> Run | None:
    """The run on the thread, if there is one."""
    try:
        return await sup.view(thread_id)
    except ThreadUnknown:
        return None


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
