"""`baton status`: what is true of a run now, its report, or its plan."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from graph.cli.ending import show_markdown, summary
from graph.cli.looking import look
from graph.cli.options import AsJson, Db, Thread
from graph.cli.planfile import plan_as_yaml
from graph.cli.screen import action_of, command, one_line, out, put, put_json, run_as_json, seconds, table
from state.errors import BadInput
from state.run import Run, TaskView


def status(
    thread: Thread,
    report: Annotated[bool, typer.Option("--report", help="Only the report, in Markdown")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only the plan, in the form that `run --plan` takes")] = False,
    routes: Annotated[bool, typer.Option("--routes", help="Also who fits each task how well, and why")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Show what is true of a run now, also while another process runs it."""
    if report and plan:
        raise BadInput("give --report or --plan, not both")
    if plan:
        used = look(db, lambda sup: sup.plan(thread))
        put_json(used) if as_json else put(plan_as_yaml(used))
        return 0
    run = look(db, lambda sup: sup.view(thread))
    if report:
        _report(run, as_json=as_json)
    elif as_json:
        put_json(run_as_json(run))
    else:
        _show(run, db)
        if routes:
            _show_routes(run)
    return 0


def _report(run: Run, *, as_json: bool) -> None:
    if not run.report:
        raise BadInput(f"thread {run.thread_id} has no report (it is {run.status}); `baton status` says more")
    if as_json:
        put_json({"type": "baton.report", "thread_id": run.thread_id, "report": run.report})
    else:
        show_markdown(run.report)


def _show(run: Run, db: Path | None) -> None:
    console = out()
    console.print(Text(summary(run), style="bold"))
    console.print(Text(f"request: {one_line(run.query, 300)}"))
    mode = f", mode {run.mode.name}: {one_line(run.mode.reason)}" if run.mode else ""
    console.print(Text(f"phase: {run.phase}, round {run.iteration + 1}, model {run.model or 'unknown'}{mode}"))
    if run.error:
        console.print(Text(f"error: {one_line(run.error)}", style="red"))
    for warning in run.warnings:
        console.print(Text(f"warning: {one_line(warning)}", style="yellow"))
    if run.tasks:
        listed = table("task", "status", "agent", "time", "tokens", "after", "description")
        for task in run.tasks:
            listed.add_row(*_row(task))
        console.print(listed)
    for line in _next_steps(run, db):
        console.print(Text(line))


def _show_routes(run: Run) -> None:
    """Every score with its parts: 60 % the agent's own assessment, 40 % keywords."""
    listed = table("task", "agent", "score", "self-assessment", "keywords", "chosen because")
    for task in run.tasks:
        for score in task.scores:
            why = one_line(task.route_reason) if score.agent == task.agent else ""
            parts = (score.total, score.self_assessment, score.keywords)
            listed.add_row(task.id, score.agent, *(f"{part:.2f}" for part in parts), why)
    out().print(listed)


def _row(task: TaskView) -> list[str]:
    took = seconds(task.finished_at - task.started_at) if task.started_at and task.finished_at else ""
    tokens = f"{task.tokens:,}" if task.tokens else ""
    marked = f"[{'; '.join(task.marks)}] " if task.marks else ""
    about = task.error if task.error and task.status != "done" else marked + task.description
    after = ", ".join(task.depends_on)
    return [task.id, task.status, task.agent or "", took, tokens, after, one_line(about, 160)]


def _next_steps(run: Run, db: Path | None) -> list[str]:
    """What can be done now, as commands."""
    if run.status == "complete":
        return [f"report: {command('status', run.thread_id, '--report', db=db)}"]
    ways = [command("answer", run.thread_id, question.id, "approve", db=db) for question in run.approvals]
    steps = [f"open: {action_of(q)} ({q.risk} risk): {way}" for q, way in zip(run.approvals, ways, strict=True)]
    if run.status == "paused" or (run.status == "failed" and run.phase != "failed"):
        steps.append(f"go on: {command('resume', run.thread_id, db=db)}")
    if run.status == "handed_over":
        steps.append(f"give it back: {command('hand-back', run.thread_id, db=db)} [--results FILE] [--plan FILE]")
    return steps
