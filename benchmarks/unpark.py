"""How fast an answer from another process takes effect while others are still at work.

`python benchmarks/unpark.py [TIMES] [LEVELS]`: so many times, to a question so many nested supervisors down.

One task asks and parks, another keeps working. A second process sees the question and answers it; measured is the time
from just before its answer is sent to the moment the parked agent runs again. The promise is 250 ms. Measured on
two cores: median 70 ms, worst of eight 105 ms, of which up to 100 ms are the listener's pause between two looks; two
levels down, where the nested supervisors have come to rest, median 83 ms, worst of eight 188 ms.
"""

import asyncio
import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph import AgentSpec, build_supervisor, open_supervisor
from graph.testing import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import Brief
from state.approval import Decision
from state.replies import PlanDraft, TaskDraft
from state.signal import Decide

THREAD = "t"
PROMISED_S = 0.25


def team(folder: Path, levels: int) -> list[AgentSpec]:
    """One agent, which writes down when it goes on after the answer, and the nested supervisors that it asks in."""

    async def work(brief: Brief, desk: Desk) -> str:
        mark = folder / "unparked"
        if brief.task.id == "asker":
            await desk.ask("send", {"to": "bob"}, "high")
            mark.write_text(str(time.time()))
        while not mark.exists():  # noqa: ASYNC110 # the other branch of the run tells by a file
            await asyncio.sleep(0.005)
        return "done"

    asker = ada = AgentSpec(name="ada", role="generalist", run=work)
    for level in range(levels):
        planned = ScriptedModel({lambda _: True: PlanDraft(tasks=[TaskDraft(id="asker", description="Ask.")])})
        asker = AgentSpec(name=f"unit{level}", role="unit", run=build_supervisor([asker], model=planned))
    return [ada, asker] if levels else [ada]


def plan(levels: int) -> dict[str, list[dict[str, str]]]:
    """One task asks, whoever does it; the other works on."""
    role = "unit" if levels else "generalist"
    return {"tasks": [{"id": "asker", "description": "Ask.", "role": role}, {"id": "busy", "description": "Work on."}]}


def answer(folder: Path, levels: int) -> None:
    """The second process: waits for the question, and answers it."""

    async def say() -> None:
        async with open_supervisor(folder / "runs.db", team(folder, levels), model=ScriptedModel([])) as sup:
            while not (run := await sup.view(THREAD)).approvals:  # noqa: ASYNC110 # another process asks
                await asyncio.sleep(0.01)
            decision = Decision(type="approve", by="ana")
            signal = Decide(approval=run.approvals[0].id, decision=decision)
            (folder / "sent").write_text(str(time.time()))
            await sup.signal(THREAD, signal)

    asyncio.run(say())


async def once(folder: Path, levels: int) -> float:
    """Seconds from the answer to its effect."""
    processes = multiprocessing.get_context("spawn")
    async with open_supervisor(folder / "runs.db", team(folder, levels), model=ScriptedModel([])) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id=THREAD, plan=plan(levels)))
        await asyncio.sleep(0.2)  # the thread has to be there before anybody can look at it
        other = processes.Process(target=answer, args=(folder, levels))
        other.start()
        await running
        await asyncio.to_thread(other.join)
    return float((folder / "unparked").read_text()) - float((folder / "sent").read_text())


def main(times: int, levels: int) -> int:
    """Measure, print, and say whether the promise holds."""
    found = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            found.append(asyncio.run(once(Path(folder), levels)))
    shown = {"runs": times, "levels": levels, "median": statistics.median(found), "worst": max(found)}
    texts = (
        f"{name} {f'{value * 1000:.0f} ms' if isinstance(value, float) else value}" for name, value in shown.items()
    )
    print(", ".join(texts))
    return 0 if max(found) <= PROMISED_S else 1


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*[*given, *[10, 0][len(given) :]]))
