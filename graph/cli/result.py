"""How a run ends on the command line: its report in a file, what could not be used, what to do next, an exit code."""

import json
import sys
from pathlib import Path
from uuid import uuid4

from rich.markdown import Markdown

from graph.address import Address
from graph.cli.console import out
from graph.cli.options import CANCELLED, COMPLETE, FAILED, HANDED_OVER, PARTIAL, WAITING
from graph.cli.screen import (
    command,
    fail,
    one_line,
    print_err,
    print_out,
    put_json,
    run_as_json,
    seconds,
    tokens_of,
    without_controls,
)
from nodes.tools.storage import Location
from state.approval import Approval
from state.plan import Plan
from state.run import Run, RunStatus
from state.text import counted

OF_RUN: dict[RunStatus, int] = {
    # `running`: another process runs it, and what was asked of it was passed on
    "complete": COMPLETE,
    "partial": PARTIAL,
    "failed": FAILED,
    "queued": COMPLETE,
    "waiting": WAITING,
    "paused": WAITING,
    "running": COMPLETE,
    "cancelled": CANCELLED,
    "handed_over": HANDED_OVER,
}


def report_result(run: Run, report: Location, *, db: Address | None, as_json: bool) -> int:
    """Say how the run stands, and write its report if it has one; the exit code."""
    for warning in run.warnings:
        print_err(f"warning: {one_line(warning)}")
    print_err(summary(run))
    is_wanted = run.has_ended or any(task.status == "done" for task in run.tasks)
    problem = _written(run, report) if run.report and is_wanted else ""
    if run.report and is_wanted and not as_json:
        _show(run.report, "" if problem else str(report))
    if as_json:
        put_json(run_as_json(run))
    code = _explained(run, db)
    if problem:
        again = command("status", run.thread_id, "--report", db=db)
        return fail(f"the report cannot be written to {report}: {problem}; `{again}` still has it", FAILED)
    return code


def summary(run: Run) -> str:
    """One line: how it stands, how much was done, what it took."""
    done = sum(task.status == "done" for task in run.tasks)
    parts = [f"{standing(run)}: thread {run.thread_id}", f"{done} of {len(run.tasks)} tasks done"]
    if tokens := tokens_of(run):
        parts.append(f"{tokens} tokens")
    if run.started_at and run.finished_at:
        parts.append(seconds(run.finished_at - run.started_at))
    return one_line(", ".join(parts))


def standing(run: Run) -> str:
    """The status, and whether what was delivered is in doubt: no plain `complete` then."""
    return f"{run.status} with {counted(len(run.doubts), 'doubt')}" if run.doubts else run.status


def write_report(path: Location, text: str) -> None:
    """The whole report or nothing, unless `path` is a device or a pipe.

    Raises:
        OSError: it cannot be written there.
    """
    if not isinstance(path, Path):
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        path.write_text(text, "utf-8")
        return
    target = path.resolve()
    part = target.parent / f".report-{uuid4().hex}"
    try:
        with part.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def show_markdown(text: str) -> None:
    """Markdown on stdout: rendered at a terminal, as it is in a pipe."""
    if sys.stdout.isatty():
        out().print(Markdown(without_controls(text)))
    else:
        print_out(text)


def _written(run: Run, path: Location) -> str:
    """Why the report could not be written; empty if it was."""
    try:
        write_report(path, run.report or "")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _show(report: str, path: str) -> None:
    if sys.stdout.isatty():
        show_markdown(report)
    if path:
        print_out(path)


def why_it_stands(run: Run) -> str:
    """Why a run does not move, in words; empty where it does, or has ended."""
    match run.waits_for:
        case "answers":
            return counted(len(run.approvals), "open question")
        case "worker":
            return "it waits for a worker"
        case "resume" if run.approvals:
            return f"{counted(len(run.approvals), 'open question')}; what else it waited for has come"
        case "resume":
            return "its questions are answered"
        case "process":
            return "the process that ran it is gone; nothing is lost"
        case "model":
            return f"{run.error}; what was finished is kept"
        case "team":
            return f"it needs agents that are not in this team: {', '.join(run.missing_agents)}"
        case "release":
            return "" if run.status == "paused" else "it is in a human's hands"
    return ""


def onward(run: Run, db: Address | None) -> str:
    """The way on for a run that lies still or was not successful, with its command; empty where there is none."""
    if "resume" in run.hint:
        other = f", or with another model: {command('resume', run.thread_id, '--model', 'NAME', db=db)}"
        return f"go on with: {command('resume', run.thread_id, db=db)}{other * (run.waits_for == 'model')}"
    if run.has_ended and run.status in ("failed", "partial") and run.tasks:
        plan = command("status", run.thread_id, "--plan", db=db)
        again = command("run", "QUERY", "--plan", "plan.yaml", db=db)
        return f"try again with the same plan, or a mended one: {plan} > plan.yaml, {again}"
    if run.missing_agents:
        given = command("resume", run.thread_id, "--team", "FILE", db=db)
        return f"go on with the program that started it, or with its team file: {given}"
    return ""


def in_a_line(question: Approval, width: int = 160) -> str:
    """What is asked, with as much as fits of what would be done: `Publish a.md? {"name": "a.md", …`."""
    match question.subject:
        case "plan":
            tasks = Plan.model_validate(question.args).tasks
            about = "; ".join(f"{number}. {task.description}" for number, task in enumerate(tasks, 1))
        case "task":
            about = ""
        case _:
            about = json.dumps(question.args, ensure_ascii=False) if question.args else ""
    return one_line(f"{question.title} {about}".strip(), width)


def open_questions(run: Run, db: Address | None) -> list[str]:
    """A line for each open question, with the command that answers it."""
    ways = [command("answer", run.thread_id, question.id, "approve", db=db) for question in run.approvals]
    return [
        f"open: {in_a_line(asked)} ({asked.risk} risk, {one_line(asked.agent)}): {way}"
        for asked, way in zip(run.approvals, ways, strict=True)
    ]


def to_hand_back(run: Run, db: Address | None) -> str:
    """How whoever holds a run gives it back or ends it."""
    back, cancel = (command(verb, run.thread_id, db=db) for verb in ("hand-back", "cancel"))
    return f"give it back: {back} [--results FILE] [--plan FILE], or end it: {cancel} [--rollback]"


def _explained(run: Run, db: Address | None) -> int:
    """The exit code, after a line about what to do where there is something to do."""
    code = OF_RUN[run.status]
    if run.status == "running":
        print_err("another process runs it, and was told")
    elif run.has_ended and run.status in ("partial", "failed"):
        why = run.error or "something is missing"
        said = "; ".join(filter(None, [f"partial: {why}" if run.status == "partial" else why, onward(run, db)]))
        return fail(one_line(said), code)
    elif run.status == "handed_over":
        _show_handover(run, db)
    elif run.status == "waiting":
        for line in open_questions(run, db):
            print_err(line)
        print_err("(or reject, or edit --args JSON)")
        if way := onward(run, db):
            print_err(way)
    elif run.waits_for:
        said = "; ".join(filter(None, [why_it_stands(run), onward(run, db)]))
        return fail(one_line(f"paused: {said}" if run.status == "paused" else said), code)
    return code


def _show_handover(run: Run, db: Address | None) -> None:
    """What a human has in hand who took the wheel, and how to give it back."""
    context = run.handover or {}
    said = one_line(str(context.get("reason") or ""), 300)
    print_err(f"taken over by {one_line(str(context.get('by') or 'human'))}" + (f": {said}" if said else ""))
    print_err(f"handed over: {context.get('current_step', 0)} of {context.get('total_steps', 0)} steps done")
    print_err(f"next: {one_line(str(context.get('suggested_next_action', '')), 300)}")
    if why := context.get("failure_reason"):
        print_err(f"what went wrong: {one_line(str(why), 300)}")
    print_err(to_hand_back(run, db) if "hand-back" in run.hint else onward(run, db))
