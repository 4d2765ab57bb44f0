"""`baton trust`: how far each agent is trusted, what its next level needs, and reporting an incident."""

from datetime import datetime
from typing import Annotated

import typer

from graph.cli.job import login
from graph.cli.looking import look
from graph.cli.options import AsJson, Db
from graph.cli.screen import one_line, out, put_json, table
from graph.supervisor import Supervisor
from nodes.policy.oversight import OF_LEVEL
from state.errors import BadInput
from state.trust import Severity, Trust


def trust(
    agent: Annotated[str | None, typer.Argument(metavar="[AGENT]", help="Only this agent", show_default=False)] = None,
    incident: Annotated[Severity | None, typer.Option("--incident", help="Report one, of AGENT")] = None,
    note: Annotated[str, typer.Option("--note", metavar="N", help="What happened")] = "",
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Show how far agents are trusted and what is missing for the next level, or report an incident."""
    if incident and agent is None:
        raise BadInput("an incident is one agent's: baton trust AGENT --incident minor|major --note N")
    if note and not incident:
        raise BadInput("a note belongs to an incident: add --incident minor|major")

    async def asked(sup: Supervisor) -> dict[str, Trust]:
        if agent and incident:
            await sup.incident(agent, incident, note, by=login())
        return await sup.trust()

    found = look(db, asked)
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
