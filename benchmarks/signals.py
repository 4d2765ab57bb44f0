"""How soon a run hears a signal: from another process (at most 250 ms is promised), and from its own.

python benchmarks/signals.py [SIGNALS]
"""

import asyncio
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph import AgentSpec, Plan, Supervisor, Task, open_supervisor
from graph.testing import ScriptedModel
from nodes.runtime.desk import Desk
from nodes.runtime.signals import read_log
from state.agent import Brief
from state.signal import SendMail

THREAD = "measured"
LAST = "that is all"
AT_MOST_MS = 250.0


async def reads(brief: Brief, desk: Desk) -> str:  # noqa: ARG001 - an agent takes both
    """Work until the last message has come."""
    while LAST not in [mail.text for mail in desk.inbox()]:  # noqa: ASYNC110 - agents get no event
        await asyncio.sleep(0.005)
    return "done"


def team() -> list[AgentSpec]:
    """The one who reads."""
    return [AgentSpec(name="ada", role="generalist", run=reads)]


async def _send(db: Path, count: int, *, last: bool) -> None:
    async with open_supervisor(db, team(), model=ScriptedModel([])) as sup:
        await send(sup, count, last=last)


async def send(sup: Supervisor, count: int, *, last: bool) -> None:
    """So many messages, at intervals that fit no poll."""
    for number in range(count):
        text = LAST if last and number == count - 1 else f"message {number}"
        await sup.signal(THREAD, SendMail(to="ada", text=text))
        await asyncio.sleep(0.037)


def send_from_elsewhere(db: Path, count: int) -> None:
    """What the other process does."""
    asyncio.run(_send(db, count, last=False))


async def measured(db: Path, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds from sending to hearing: from another process, and from this one."""
    plan = Plan(tasks=[Task(id="a", description="Read.")])
    async with open_supervisor(db, team()) as sup:
        run = asyncio.create_task(sup.start("Measure.", thread_id=THREAD, plan=plan))
        await asyncio.sleep(0.3)
        other = multiprocessing.get_context("spawn").Process(target=send_from_elsewhere, args=(db, count))
        other.start()
        await asyncio.to_thread(other.join)
        await send(sup, count, last=True)
        await run
        store = sup.graph.store
        if store is None:
            raise SystemExit("there is no store")
        heard = {key: float(str(entry["at"])) for key, entry in await read_log(store, THREAD)}
    waits = [(at - int(key.split("-")[0]) / 1_000_000) * 1000 for key, at in heard.items()]
    return waits[:count], waits[count:]


def main() -> None:
    """Measure and print median and worst."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        far, near = asyncio.run(measured(Path(folder) / "runs.db", count))
    print(f"another process: median {median(far):.1f} ms, worst {max(far):.1f} ms (at most {AT_MOST_MS:.0f})")
    print(f"this process:    median {median(near):.1f} ms, worst {max(near):.1f} ms")
    print(f"{count} signals each, {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
