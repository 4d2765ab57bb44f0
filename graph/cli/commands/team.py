"""`baton team`: who there is, and what each one does in a run."""

import asyncio
from collections.abc import Iterable

from pydantic import JsonValue

from graph.cli.launches import existing, recall
from graph.cli.looking import look
from graph.cli.options import AsJson, Db, MaybeThread
from graph.cli.screen import one_line, out, put_json, table
from graph.settings import read_settings
from graph.supervisor import Supervisor
from nodes.agents.team import open_team
from state.agent import AgentSpec
from state.run import Run, TaskView


def team(thread: MaybeThread = None, db: Db = None, as_json: AsJson = False) -> int:
    """List the team; with THREAD, what each agent does in that run."""
    if thread is None:
        _show(_listed(open_team(read_settings().team), None), as_json=as_json)
        return 0
    launch = asyncio.run(recall(existing(db), thread))

    async def asked(sup: Supervisor) -> tuple[list[AgentSpec], Run]:
        return list(sup.services.team), await sup.view(thread)

    agents, run = look(db, asked, launch)
    _show(_listed(agents, run), as_json=as_json)
    return 0


def status_of(agent: str, tasks: Iterable[TaskView]) -> str:
    """What an agent does in a run: `idle, running, completed` or `failed`, and `waiting` for a human."""
    own = {task.status for task in tasks if task.agent == agent}
    for status, shown in (("running", "running"), ("parked", "waiting"), ("pending", "idle"), ("done", "completed")):
        if status in own:
            return shown
    return "failed" if own & {"failed", "skipped", "cancelled"} else "idle"


def _listed(agents: Iterable[AgentSpec], run: Run | None) -> list[dict[str, JsonValue]]:
    return [_described(agent, run) for agent in agents]


def _described(agent: AgentSpec, run: Run | None) -> dict[str, JsonValue]:
    described: dict[str, JsonValue] = {
        "name": agent.name,
        "role": agent.role,
        "specialty": agent.specialty,
        "kinds": dict(agent.skills.kinds),
        "tools": [str(getattr(tool, "name", tool)) for tool in agent.tools],
        "workers": list(agent.workers),
    }
    if run:
        described["status"] = status_of(agent.name, run.tasks)
        described["tasks"] = [task.id for task in run.tasks if task.agent == agent.name]
    return described


def _show(agents: list[dict[str, JsonValue]], *, as_json: bool) -> None:
    if as_json:
        put_json([*agents])
        return
    columns = ["name", "role", "status", "tasks", "specialty", "tools", "kinds"]
    shown = [column for column in columns if column in agents[0]]
    listed = table(*shown)
    for agent in agents:
        listed.add_row(*(_cell(agent[column]) for column in shown))
    out().print(listed)


def _cell(value: JsonValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | dict) else one_line(str(value))
