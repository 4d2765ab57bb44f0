"""`baton team`: who there is and what each one does; `baton trust`: how far each is trusted."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import JsonValue

from graph.address import Address
from graph.cli.console import out, table
from graph.cli.launch import can_only_be_read, existing, recall
from graph.cli.options import AsJson, Db, MaybeThread
from graph.cli.screen import one_line, print_out, put_json
from graph.cli.session import who
from graph.settings import read_settings
from graph.supervisor import Supervisor, open_supervisor
from graph.team_file import open_team
from nodes.policy.oversight import OF_LEVEL
from state.agent import AgentSpec, Member
from state.errors import BadInput, TeamInvalid
from state.text import counted
from state.trust import Severity, Trust

T = TypeVar("T")

Checked = Annotated[
    Path | None, typer.Option("--check", metavar="FILE", help="Only say what is wrong with a team file")
]


def team(thread: MaybeThread = None, check: Checked = None, db: Db = None, as_json: AsJson = False) -> int:
    """List the team; with THREAD, what each agent does in that run; with --check, what is wrong with a file.

    Examples:
      baton team
      baton team launch
      baton team --check team.yaml
    """
    if check is not None:
        return _checked(check, as_json=as_json)
    if thread is None:
        _show([_described(agent) for agent in open_team(read_settings().team)], as_json=as_json)
        return 0
    launch = asyncio.run(recall(existing(db), thread))

    async def asked(sup: Supervisor) -> list[dict[str, JsonValue]]:
        specs = {spec.name: spec for spec in sup.services.team}
        return [_member(member, specs.get(member.agent)) for member in await sup.team(thread)]

    _show(_found(db, asked, launch.team), as_json=as_json)
    return 0


def _found(
    db: Address | None,
    question: Callable[[Supervisor], Awaitable[T]],
    team: str | None = None,
    *,
    for_writing: bool = False,
) -> T:
    """What `question` finds out about the agents of `team`, by default the one of the settings."""
    path = existing(db)

    async def asked() -> T:
        is_to_read = not for_writing and can_only_be_read(path)
        async with open_supervisor(path, team=team, read_only=is_to_read) as sup:
            return await question(sup)

    return asyncio.run(asked())


def _checked(file: Path, *, as_json: bool) -> int:
    """Every problem of a team file with its line; 0 if there is none, else 2."""
    try:
        agents, problems = len(open_team(file)), list[tuple[int, str]]()
    except TeamInvalid as error:
        agents, problems = 0, list(error.problems) or [(1, str(error))]
    if as_json:
        put_json({"agents": agents, "problems": [{"line": line, "message": said} for line, said in problems]})
    else:
        fine = f"{file}: {counted(agents, 'agent')}, fine"
        print_out("\n".join(f"{file}:{line}: {one_line(said)}" for line, said in problems) or fine)
    return BadInput.exit_code if problems else 0


def _described(agent: AgentSpec) -> dict[str, JsonValue]:
    return {
        "name": agent.name,
        "role": agent.role,
        "specialty": agent.specialty,
        "kinds": dict(agent.skills.kinds),
        "tools": [str(getattr(tool, "name", tool)) for tool in agent.tools],
        "workers": list(agent.workers),
    }


def _member(member: Member, agent: AgentSpec | None) -> dict[str, JsonValue]:
    known: dict[str, JsonValue] = _described(agent) if agent else {"name": member.agent, "role": member.role}
    status: dict[str, JsonValue] = {"status": member.status, "tasks": [*member.tasks], "recruited": member.recruited}
    return {**known, **status, "unread": member.unread}


def _show(agents: list[dict[str, JsonValue]], *, as_json: bool) -> None:
    if as_json:
        put_json([*agents])
        return
    columns = ["name", "role", "status", "tasks", "unread", "specialty", "tools", "kinds"]
    shown = [column for column in columns if column in agents[0]]
    listed = table(*shown)
    for agent in agents:
        listed.add_row(*(_cell(agent.get(column)) for column in shown))
    out().print(listed)


def _cell(value: JsonValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | dict) else one_line(str(value or ""))


def trust(
    agent: Annotated[str | None, typer.Argument(metavar="[AGENT]", help="Only this agent", show_default=False)] = None,
    incident: Annotated[Severity | None, typer.Option("--incident", help="Report one, of AGENT")] = None,
    note: Annotated[str, typer.Option("--note", metavar="N", help="What happened")] = "",
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Show how far agents are trusted and what is missing for the next level, or report an incident.

    Examples:
      baton trust
      baton trust publisher --incident major --note "it sent the wrong file"
    """
    if incident and agent is None:
        raise BadInput("an incident is one agent's: baton trust AGENT --incident minor|major --note N")
    if note and not incident:
        raise BadInput("a note belongs to an incident: add --incident minor|major")

    async def asked(sup: Supervisor) -> dict[str, Trust]:
        if agent and incident:
            await sup.incident(agent, incident, note, by=who(None))
        return await sup.trust()

    found = _found(db, asked, for_writing=bool(incident))
    if agent is not None and agent not in found:
        raise BadInput(f"there is no agent {agent!r}; there are: {', '.join(found)}")
    shown = [found[agent]] if agent is not None else list(found.values())
    if as_json:
        put_json([one.model_dump(mode="json") | {"success_rate": one.success_rate} for one in shown])
        return 0
    listed = table("agent", "level", "oversight", "tasks", "success", "last incident", "missing for the next level")
    for one in shown:
        listed.add_row(*_row(one))
    out().print(listed)
    return 0


def _row(one: Trust) -> list[str]:
    last = one.incidents[-1] if one.incidents else None
    when = datetime.fromtimestamp(last.at).astimezone().strftime("%Y-%m-%d") if last else ""
    about = one_line(f"{when} {last.severity} {last.note}", 80) if last else ""
    ended = one.tasks_completed + one.tasks_failed
    missing = ", ".join(one.missing) or ("nothing, after its next run" if one.level != "expert" else "")
    rate = f"{one.success_rate:.1%}" if ended else ""
    return [one_line(one.agent), one.level, OF_LEVEL[one.level], str(one.tasks_completed), rate, about, missing]
