"""`baton team`: who there is, and what each one does in a run."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from graph.cli.launches import existing, recall
from graph.cli.looking import look
from graph.cli.options import AsJson, Db, MaybeThread
from graph.cli.screen import one_line, out, put, put_json, table
from graph.settings import read_settings
from graph.supervisor import Supervisor
from nodes.agents.team import open_team
from state.agent import AgentSpec
from state.directory import Member
from state.errors import BadInput, TeamInvalid

Checked = Annotated[
    Path | None, typer.Option("--check", metavar="FILE", help="Only say what is wrong with a team file")
]


def team(thread: MaybeThread = None, check: Checked = None, db: Db = None, as_json: AsJson = False) -> int:
    """List the team; with THREAD, what each agent does in that run; with --check, what is wrong with a file."""
    if check is not None:
        return _checked(check, as_json=as_json)
    if thread is None:
        _show([_described(agent) for agent in open_team(read_settings().team)], as_json=as_json)
        return 0
    launch = asyncio.run(recall(existing(db), thread))

    async def asked(sup: Supervisor) -> list[dict[str, JsonValue]]:
        specs = {spec.name: spec for spec in sup.services.team}
        return [_member(member, specs.get(member.agent)) for member in await sup.team(thread)]

    _show(look(db, asked, launch), as_json=as_json)
    return 0


def _checked(file: Path, *, as_json: bool) -> int:
    """Every problem of a team file with its line; 0 if there is none, else 2."""
    try:
        agents, problems = len(open_team(file)), list[tuple[int, str]]()
    except TeamInvalid as error:
        agents, problems = 0, list(error.problems) or [(1, str(error))]
    if as_json:
        put_json({"agents": agents, "problems": [{"line": line, "message": said} for line, said in problems]})
    else:
        put(
            "\n".join(f"{file}:{line}: {one_line(said)}" for line, said in problems) or f"{file}: {agents} agents, fine"
        )
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
    return {**known, "status": member.status, "tasks": [*member.tasks], "recruited": member.recruited}


def _show(agents: list[dict[str, JsonValue]], *, as_json: bool) -> None:
    if as_json:
        put_json([*agents])
        return
    columns = ["name", "role", "status", "tasks", "specialty", "tools", "kinds"]
    shown = [column for column in columns if column in agents[0]]
    listed = table(*shown)
    for agent in agents:
        listed.add_row(*(_cell(agent.get(column)) for column in shown))
    out().print(listed)


def _cell(value: JsonValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | dict) else one_line(str(value or ""))
