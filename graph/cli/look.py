"""Commands that look and run nothing."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import JsonValue
from rich.text import Text

from graph.address import Address
from graph.cli.console import out, table
from graph.cli.launch import agents_in, can_only_be_read, existing, recalled
from graph.cli.options import FAILED, AsJson, Db, MaybeThread, Thread
from graph.cli.plan_file import plan_as_yaml
from graph.cli.result import (
    in_a_line,
    onward,
    open_questions,
    show_markdown,
    standing,
    summary,
    to_hand_back,
    why_it_stands,
)
from graph.cli.screen import (
    OFFLINE,
    command,
    fail,
    line_of,
    moment,
    one_line,
    print_err,
    print_out,
    put_json,
    run_as_json,
    seconds,
    tokens_of,
)
from graph.database import open_database
from graph.reading import Reading
from graph.settings import read_settings
from graph.witness import seals_of
from nodes.policy.approvals import urgency
from nodes.runtime.clock import SystemClock
from state.approval import Approval, Entry
from state.errors import BadInput, ThreadDamaged
from state.run import Run, RunStatus, TaskView

T = TypeVar("T")

PAGE = 100
"""Runs on a page, unless another number is asked for."""


def look(db: Address | None, question: Callable[[Reading], Awaitable[T]]) -> T:
    """What `question` finds out.

    Raises:
        BadInput: there is no such database.
    """

    async def asked() -> T:
        async with opened(existing(db)) as reading:
            return await question(reading)

    return asyncio.run(asked())


@asynccontextmanager
async def opened(db: Address, *, for_writing: bool = False) -> AsyncIterator[Reading]:
    """The runs of a database, to look at, for whoever has the team of the settings."""
    settings, clock = read_settings(), SystemClock()
    names = agents_in(settings.team)
    is_to_read = not for_writing and can_only_be_read(db)
    async with open_database(db, settings.synchronous, read_only=is_to_read) as database:
        yield Reading(database, database.leases(clock), clock, names, seals_of(settings))


async def seen(reading: Reading, thread_id: str) -> Run:
    """The run as it is for whoever goes on with it: with the team that is kept with it, and what is late decided."""
    run = await reading.view(thread_id)
    if reading.is_late(run) and not reading.database.is_read_only:
        await _decide_what_is_late(reading.database.address, thread_id)
        run = await reading.view(thread_id)
    if run.missing_agents:
        launch = await recalled(reading.database.store, thread_id)
        with suppress(BadInput):  # the file is gone or broken by now: what is missing stays missing
            return await reading.view(thread_id, agents_in(Path(launch.team))) if launch.team else run
    return run


async def _decide_what_is_late(db: Address, thread_id: str) -> None:
    """Let the policy decide: the way of an answer, for which everything is loaded."""
    from graph.supervisor import open_supervisor  # noqa: PLC0415 # whoever only looks needs none of it

    async with open_supervisor(db) as sup:
        await sup.view(thread_id)


def status(
    thread: Thread,
    report: Annotated[bool, typer.Option("--report", help="Only the report, in Markdown")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only the plan, in the form that `run --plan` takes")] = False,
    routes: Annotated[bool, typer.Option("--routes", help="Also who fits each task how well, and why")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Show what is true of a run now, also while another process runs it.

    Examples:
      baton status launch
      baton status launch --plan > plan.yaml
      baton status launch --report
    """
    if report and plan:
        raise BadInput("give --report or --plan, not both")
    if plan:
        used = look(db, lambda reading: reading.plan(thread))
        put_json(used) if as_json else print_out(plan_as_yaml(used))
        return 0

    run = look(db, lambda reading: seen(reading, thread))
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


def _show(run: Run, db: Address | None) -> None:
    console = out()
    console.print(Text(summary(run), style="bold"))
    console.print(Text(f"request: {one_line(run.query, 300)}"))
    mode = f", mode {run.mode.name}: {one_line(run.mode.reason)}" if run.mode else ""
    console.print(Text(f"phase: {run.phase}, round {run.iteration + 1}, model {run.model or 'unknown'}{mode}"))
    if run.advice:
        console.print(Text(f"learned: {one_line(run.advice.said, 400)}"))
    if run.error:
        console.print(Text(f"error: {one_line(run.error)}", style="red"))
    if run.waits_for != "model" and (why := why_it_stands(run)):  # that one is the error above
        console.print(Text(f"{run.status}: {one_line(why)}"))
    for warning in run.warnings:
        console.print(Text(f"warning: {one_line(warning)}", style="yellow"))
    if run.tasks:
        listed = table(
            "task", "status", "agent", "time", "tokens", "cost", "after", "description",
            least=("cost", "after", "tokens", "time", "agent"),
        )  # fmt: skip
        for task in run.tasks:
            listed.add_row(*_row(task))
        console.print(listed)
    if run.used_by:
        console.print(
            Text("used: " + "; ".join(f"{name} {used.in_words}" for name, used in sorted(run.used_by.items())))
        )
    for line in _next_steps(run, db):
        console.print(Text(line))


def _show_routes(run: Run) -> None:
    """Every score with its parts: 60 % the agent's own assessment, moved by its record, 40 % keywords."""
    listed = table(
        "task", "agent", "score", "self-assessment", "record", "keywords", "chosen because",
        least=("record", "keywords", "self-assessment"),
    )  # fmt: skip
    for task in run.tasks:
        for score in task.scores:
            why = one_line(task.route_reason) if score.agent == task.agent else ""
            parts = (score.total, score.self_assessment, score.learned, score.keywords)
            listed.add_row(task.id, score.agent, *(f"{part:.2f}" for part in parts), why)
    out().print(listed)


def _row(task: TaskView) -> list[str]:
    took = seconds(task.finished_at - task.started_at) if task.started_at and task.finished_at else ""
    tokens = f"{task.tokens:,}" if task.tokens and task.model != OFFLINE else ""
    marked = f"[{'; '.join(task.marks)}] " if task.marks else ""
    about = task.error if task.error and task.status != "done" else marked + task.description
    after = ", ".join(task.depends_on)
    cost = "unknown" if task.cost is None else f"${task.cost:.4g}" if task.cost else ""
    return [task.id, task.status, task.agent or "", took, tokens, cost, after, one_line(about, 160)]


def _next_steps(run: Run, db: Address | None) -> list[str]:
    """What can be done now, as commands."""
    if run.has_ended and run.report:
        return [f"report: {command('status', run.thread_id, '--report', db=db)}", *filter(None, [onward(run, db)])]
    steps = open_questions(run, db)
    if "hand-back" in run.hint:
        return [*steps, to_hand_back(run, db)]
    way = onward(run, db)
    return [*steps, way] if way else steps


def runs(
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Runs on a page")] = PAGE,
    page: Annotated[int, typer.Option("--page", metavar="N", min=1, help="1 has the newest")] = 1,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """List the last run of each thread, newest first, page by page.

    Examples:
      baton runs
      baton runs --page 2 --limit 20 --json
    """
    before = limit * (page - 1)

    async def asked(reading: Reading) -> tuple[list[Run], bool]:
        view = partial(seen, reading)
        found = await reading.runs(view, limit=limit, offset=before, on_damaged=tell)
        return found, bool(await reading.listed(1, before + limit))

    found, are_more = look(db, asked)
    if are_more:
        print_err(f"there are older runs: {command('runs', '--page', str(page + 1), '--limit', str(limit), db=db)}")
    if as_json:
        put_json([run_as_json(run) for run in found])
        return 0
    listed = table(
        "thread", "status", "phase", "tasks", "tokens", "started", "request",
        least=("tokens", "phase", "tasks", "started"),
    )  # fmt: skip
    for run in found:
        listed.add_row(*_run_row(run))
    out().print(listed)
    return 0


def tell(damaged: ThreadDamaged) -> None:
    """Name a thread that cannot be read, beside those that can."""
    print_err(f"baton: {one_line(str(damaged), 400)}")


def _run_row(run: Run) -> list[str]:
    done = sum(task.status == "done" for task in run.tasks)
    started = moment(run.started_at, SystemClock().now()) if run.started_at else ""
    tasks, tokens = f"{done}/{len(run.tasks)}", tokens_of(run)
    return [one_line(run.thread_id), standing(run), run.phase, tasks, tokens, started, one_line(run.query, 60)]


def inbox(thread: MaybeThread = None, db: Db = None, as_json: AsJson = False) -> int:
    """List open questions, most urgent first.

    Examples:
      baton inbox
      baton inbox launch --json
    """

    async def asked(reading: Reading) -> tuple[list[tuple[str, Approval]], float]:
        view = partial(seen, reading)
        runs = [await view(thread)] if thread is not None else await reading.runs(view, only_open=True, on_damaged=tell)
        pairs = [(run.thread_id, question) for run in runs for question in run.approvals]
        return pairs, reading.clock.now()

    found, now = look(db, asked)
    found.sort(key=lambda pair: urgency(pair[1]))
    if as_json:
        put_json([{"thread_id": where, **question.model_dump(mode="json")} for where, question in found])
        return 0
    if not found:
        print_err("nothing waits for you")
        return 0
    listed = table(
        "priority", "risk", "question", "agent", "why", "decided in", "answer with",
        least=("agent", "priority", "why", "decided in"),
    )  # fmt: skip
    for where, question in found:
        how = command("answer", where, question.id, "approve", db=db)
        left = seconds(question.expires_at - now) if question.expires_at is not None else ""
        why = one_line(question.reason, 200)
        listed.add_row(question.priority, question.risk, in_a_line(question), question.agent, why, left, how)
    out().print(listed)
    return 0


LOOK_EVERY_S = 0.25
SHOWN = 300
"""Characters of a question's arguments on a line."""
AT_WORK: frozenset[RunStatus] = frozenset({"running"})


def log(
    thread: Thread,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the run ends or waits")] = False,
    first: Annotated[int, typer.Option("--from", metavar="N", min=1, help="Begin with event number N")] = 1,
    approvals: Annotated[bool, typer.Option("--approvals", help="What humans were asked and decided")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="With --approvals: whether none was changed")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Print the events of a run, in order, or the record of its approvals.

    Examples:
      baton log launch --follow
      baton log launch --approvals --verify
    """
    if verify and not approvals:
        raise BadInput("only the record of approvals can be verified: add --approvals")
    if approvals:
        return _print_approvals(db, thread, verify=verify, as_json=as_json)
    asyncio.run(_print(existing(db), thread, first, follow=follow, as_json=as_json))
    return 0


def _print_approvals(db: Address | None, thread: str, *, verify: bool, as_json: bool) -> int:
    """Who asked and who decided what, when, through which door; with `verify`, 1 where the chain is broken."""
    entries, broken = look(db, lambda reading: reading.audit(thread))
    for entry in entries:
        if as_json:
            put_json(entry.model_dump(mode="json"))
        else:
            print_out(one_line(_line(entry)))
    if verify and broken:
        return fail(f"the record of {thread} cannot be trusted: {broken}", FAILED)
    if verify:
        entered = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
        print_err(f"the record holds: {entered}, none changed, missing or moved")
    return 0


def _line(entry: Entry) -> str:
    """`3 2026-11-21 07:12:01 answered t1.0.c1 publish high by ana (command line) edit {...} -> {...}: message`."""
    at = datetime.fromtimestamp(entry.at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    about = " ".join(filter(None, [entry.approval, entry.action, entry.risk]))
    words = [f"{entry.number:>4} {at} {entry.kind} {about}"]
    if entry.kind == "steered":
        words.append(f"by {entry.by} ({entry.door})")
    if entry.decision:
        words.append(f"{entry.decision} by {entry.by} ({entry.door or 'signal'})")
    words.append(_args(entry.args))
    if entry.args_after is not None:
        words.append(f"-> {_args(entry.args_after)}")
    if told := entry.message or ("" if entry.decision else entry.reason):
        words.append(f": {told}")
    return " ".join(words)


def _args(args: dict[str, JsonValue]) -> str:
    """The arguments as JSON; `--json` has those in full that are cut here."""
    return one_line(json.dumps(args, ensure_ascii=False), SHOWN)


async def _print(db: Address, thread: str, first: int, *, follow: bool, as_json: bool) -> None:
    after = first - 1
    async with opened(db) as reading:
        while True:
            run = await seen(reading, thread)
            is_over = not follow or run.status not in AT_WORK
            for event in await reading.events(thread, after):
                after = event.seq
                if as_json:
                    put_json(event.model_dump(mode="json"))
                else:
                    print_out(f"{event.seq:>5} {line_of(event, is_offline=run.model == OFFLINE)}")
            if is_over:
                return
            await asyncio.sleep(LOOK_EVERY_S)
