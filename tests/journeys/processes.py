"""What a second process does to a run: it answers, or cancels."""

import asyncio
import io
import json
import os
import time
from contextlib import redirect_stderr, suppress
from pathlib import Path

from graph.cli import main
from graph.cli.plan_file import read_plan
from graph.supervisor import Supervisor, open_supervisor
from state.errors import ThreadUnknown
from state.run import Run
from state.signal import Cancel
from state.text import Json
from tests.journeys.doom import THREAD, Telling, begun_or_resumed, kill_me, note, notes, opened


def cancel_with_rollback(telling: Telling, folder: Path) -> None:
    """Cancel the run, and undo what it did."""

    async def cancel() -> None:
        async with opened(telling(folder), folder) as sup:
            await sup.signal(THREAD, Cancel(rollback=True, reason="the figures are wrong", by="ana"))

    os.chdir(folder)
    asyncio.run(cancel())


def run_it(telling: Telling, folder: Path) -> None:
    """Run the story, to its end or to where it waits."""

    async def start() -> None:
        async with opened(telling(folder), folder) as sup:
            await begun_or_resumed(sup, telling(folder))

    os.chdir(folder)
    asyncio.run(start())


def answer_it(telling: Telling, folder: Path, by: str, answer: str, of: int = 1) -> None:
    """Wait until there is a question that so many have seen, and answer it; what came of it is written down."""

    async def say() -> None:
        async with opened(telling(folder), folder) as sup:
            run = await until_it_asks(sup)
            note(folder, f"{by} sees it {run.status}")
            await until_seen(folder, of)
            note(folder, f"answered at {time.time()}")
            try:
                await sup.answer(THREAD, {run.approvals[0].id: answer}, by=by)
            except ValueError as error:
                note(folder, f"{by} is told: {error}")

    os.chdir(folder)
    asyncio.run(say())


def answer_by_command(folder: Path, request: str, decision: str, by: str) -> None:
    """`baton answer` at the moment when somebody says `go`; its exit code and what it complains of are written down."""
    os.chdir(folder)
    note(folder, f"{by} is ready")
    while not (folder / "go").exists():
        time.sleep(0.001)
    with redirect_stderr(io.StringIO()) as said:
        code = main(["answer", THREAD, request, decision, "--by", by, "--json", "--db", "runs.db"])
    note(folder, json.dumps({"by": by, "code": code, "lines": said.getvalue().splitlines()}))


async def until_seen(folder: Path, of: int) -> None:
    """Wait until so many have seen the question."""
    while True:
        if sum(" sees it " in line for line in notes(folder)) >= of:
            return
        await asyncio.sleep(0.01)


async def until_it_asks(sup: Supervisor) -> Run:
    """The run, once it is there and has a question."""
    while True:
        with suppress(ThreadUnknown):
            if (run := await sup.view(THREAD)).approvals:
                return run
        await asyncio.sleep(0.01)


def run_market_until_it_asks(folder: Path, sources: Path, plan_file: Path) -> None:
    """The market analysis of chapter 15.12.8; the process dies the moment its publisher asks."""

    def hear(event: Json) -> None:
        if event["kind"] == "approval_requested":
            kill_me()

    async def start() -> None:
        certain: Json = {"confidence_threshold": 0.0}  # only publishing is to be asked about
        async with open_supervisor(folder / "baton.db", policy=certain, model="offline") as sup:
            analysis = read_plan(str(plan_file))
            await sup.start("Analyse the market.", [sources], "market", plan=analysis, on_event=hear)

    os.chdir(folder)
    asyncio.run(start())
