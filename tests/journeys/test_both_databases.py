"""The same stories on a file and on PostgreSQL: several processes with one database."""

import asyncio
import signal
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from graph.supervisor import open_supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.errors import BatonError
from tests.servers import forks


async def work(brief: Brief, desk: Any) -> str:
    note(brief.task.id)
    if brief.task.id == "slow" and not is_free():
        await asyncio.Event().wait()
    if brief.task.id == "asks":
        return str((await desk.ask("launch")).type)
    return "done"


async def does(address: str, what: str, names: tuple[str, ...]) -> str:
    """What comes of starting a run of these tasks, of answering what it asks, or of resuming it."""
    async with open_supervisor(
        address, [AgentSpec(name="ada", role="generalist", run=work)], {}, ScriptedModel([])
    ) as sup:
        if what == "start":
            tasks: list[Any] = [{"id": name, "description": f"Do {name}."} for name in names]
            for before, task in pairwise(tasks):
                task["depends_on"] = [before["id"]]
            run = await sup.start("Q", thread_id="t", plan={"tasks": tasks})
        elif what == "answer":
            question = (await sup.view("t")).approvals[0]
            run = await sup.answer("t", {question.id: "approve"}, by="eve")
        else:
            run = await sup.resume("t")
        finished = [str(event.task_id) for event in await sup.events("t") if event.kind == "task_finished"]
    return " ".join([run.status, *finished])


def process(address: str, what: str, *names: str) -> None:
    """A process that does it, and prints what came of it."""
    try:
        sys.stdout.write(asyncio.run(does(address, what, names)))
    except BatonError as error:
        sys.stdout.write(str(error))


async def said(*args: str) -> str:
    """What a process says that does this."""
    done = await asyncio.to_thread(forks.run, process, *args)
    return (done.stdout + done.stderr).strip()


def note(task: str) -> None:
    with Path("notes").open("a") as notes:
        notes.write(f"{task}\n")


def noted() -> list[str]:
    """The tasks that were begun, in order, by whichever process."""
    notes = Path("notes")
    return notes.read_text().split() if notes.exists() else []


async def until_noted(*lines: str) -> None:
    while noted() != [*lines]:  # noqa: ASYNC110 # another process writes it
        await asyncio.sleep(0.02)


def set_free() -> None:
    """Let the slow task end, the next time."""
    Path("free").touch()


def is_free() -> bool:
    return Path("free").exists()


async def test_a_killed_run_goes_on_elsewhere_with_what_was_not_finished(address: str) -> None:
    first = forks.spawn(process, address, "start", "quick", "slow", "last")
    await until_noted("quick", "slow")
    refused = await said(address, "resume")
    first.send_signal(signal.SIGKILL)
    await asyncio.to_thread(first.wait)
    set_free()

    assert f"thread t is being run by process {first.pid} on" in refused
    assert await said(address, "resume") == "complete quick slow last"
    assert noted() == ["quick", "slow", "slow", "last"]


async def test_a_question_is_answered_by_another_process_than_the_one_that_asked(address: str) -> None:
    assert (await said(address, "start", "asks", "last")).split()[0] == "waiting"
    assert await said(address, "answer") == "complete asks last"
    assert noted() == ["asks", "asks", "last"]
