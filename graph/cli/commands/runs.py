"""`baton runs`: all runs in the database."""

from datetime import datetime

from graph.cli.looking import look
from graph.cli.options import AsJson, Db
from graph.cli.screen import one_line, out, put_json, run_as_json, table
from state.run import Run


def runs(db: Db = None, as_json: AsJson = False) -> int:
    """List all runs, newest first."""
    found = look(db, lambda sup: sup.runs())
    if as_json:
        put_json([run_as_json(run) for run in found])
        return 0
    listed = table("thread", "status", "phase", "tasks", "tokens", "started", "request")
    for run in found:
        listed.add_row(*_row(run))
    out().print(listed)
    return 0


def _row(run: Run) -> list[str]:
    done = sum(task.status == "done" for task in run.tasks)
    started = datetime.fromtimestamp(run.started_at).astimezone().strftime("%Y-%m-%d %H:%M") if run.started_at else ""
    tasks, tokens = f"{done}/{len(run.tasks)}", f"{run.usage.total_tokens:,}"
    return [one_line(run.thread_id), run.status, run.phase, tasks, tokens, started, one_line(run.query, 60)]
