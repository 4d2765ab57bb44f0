"""The same stories on a file and on PostgreSQL: several processes with one database."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

STORY = """
import asyncio, sys
from pathlib import Path
from graph.supervisor import open_supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.errors import BatonError

async def work(brief, desk):
    with open("notes", "a") as notes:
        notes.write(f"{brief.task.id}\\n")
    if brief.task.id == "slow" and not Path("free").exists():
        await asyncio.Event().wait()
    if brief.task.id == "asks":
        return (await desk.ask("launch")).type
    return "done"

async def main():
    model, team = ScriptedModel([]), [AgentSpec(name="ada", role="generalist", run=work)]
    async with open_supervisor(sys.argv[1], team, {}, model) as sup:
        if sys.argv[2] == "start":
            tasks = [{"id": name, "description": f"Do {name}."} for name in sys.argv[3:]]
            for before, task in zip(tasks, tasks[1:]):
                task["depends_on"] = [before["id"]]
            run = await sup.start("Q", thread_id="t", plan={"tasks": tasks})
        elif sys.argv[2] == "answer":
            question = (await sup.view("t")).approvals[0]
            run = await sup.answer("t", {question.id: "approve"}, by="eve")
        else:
            run = await sup.resume("t")
        finished = [event.task_id for event in await sup.events("t") if event.kind == "task_finished"]
    print(run.status, *finished)

try:
    asyncio.run(main())
except BatonError as error:
    sys.exit(str(error))
"""


def process(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", STORY, *args], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


async def said(*args: str) -> str:
    """What a process says that does this."""
    out, err = await asyncio.to_thread(process(*args).communicate)
    return (out + err).strip()


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


async def test_a_killed_run_goes_on_elsewhere_with_what_was_not_finished(address: str) -> None:
    first = process(address, "start", "quick", "slow", "last")
    await until_noted("quick", "slow")
    refused = await said(address, "resume")
    first.send_signal(signal.SIGKILL)
    await asyncio.to_thread(first.communicate)
    set_free()

    assert f"thread t is being run by process {first.pid} on" in refused
    assert await said(address, "resume") == "complete quick slow last"
    assert noted() == ["quick", "slow", "slow", "last"]


async def test_a_question_is_answered_by_another_process_than_the_one_that_asked(address: str) -> None:
    assert (await said(address, "start", "asks", "last")).split()[0] == "waiting"
    assert await said(address, "answer") == "complete asks last"
    assert noted() == ["asks", "asks", "last"]
