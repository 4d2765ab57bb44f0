"""`baton hand-back`: the wheel goes back to the run, with what a human did meanwhile."""

from typing import Annotated

import typer

from graph.cli.job import going_on, login
from graph.cli.options import AsJson, Db, Thread
from graph.cli.planfile import STDIN, read_plan, read_results
from state.errors import BadInput


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
    by: Annotated[str | None, typer.Option("--by", metavar="WHO", help="Who says so [default: your login]")] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Give a run back after a takeover: with results for tasks, with a changed plan, or as it is."""
    if results == STDIN and plan == STDIN:
        raise BadInput("--results and --plan cannot both be read from stdin; give one of them as a file")
    made = read_results(results) if results is not None else {}
    changed = read_plan(plan) if plan is not None else None
    who = (by or "").strip() or login()
    job = going_on(thread, db, as_json=as_json)
    return job.carry_out(lambda sup, on_event: sup.hand_back(thread, made, changed, by=who, on_event=on_event))
