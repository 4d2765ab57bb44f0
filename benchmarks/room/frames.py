"""How smooth the control room is: frames while events arrive, and how fast a large run opens. Needs Debian's chromium.

    PYTHONPATH=. python benchmarks/room/frames.py [--seconds 8]

Ten runs of 50 tasks go on at once, five tasks of each at a time, while a page in chromium follows one of them and lists
all. Frames are those of `requestAnimationFrame`. What the machine does besides is in them, so an empty page is counted
at the same time, and the main thread's own processor time (chromium's `TaskDuration`) for each second and each event.
Then a run of 1,000 tasks is opened: from the address to rows on the screen.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from nodes.runtime.clock import SystemClock
from state.agent import Brief
from tests.runs import agent, opened
from tests.servers.dev import free_port
from tests.servers.room import serving, shown, start

RUNS, TASKS, AT_ONCE, MANY = 10, 50, 5, 1000
STEP_S = 0.8
"""Seconds a task takes: with five at a time about 15 events a second for each run, 150 for all."""
COUNT = """window.frames_ = [];
const frame_ = at => { frames_.push(at); requestAnimationFrame(frame_); };
requestAnimationFrame(frame_)"""
CPU = {"timeDomain": "threadTicks"}
"""Durations in the thread's own processor time: what other programs take is not in them."""
OPENED = """new MutationObserver((_, self) => {
    if (!document.querySelector(".row")) return;
    self.disconnect();
    requestAnimationFrame(() => setTimeout(() => (window.opened_ = performance.now())));
}).observe(document, {childList: true, subtree: true})"""


async def works(brief: Brief, _: Any) -> str:
    """Take some time."""
    await asyncio.sleep(STEP_S)
    return f"{brief.task.id} is done [market.md#L1]"


def tasks() -> list[str]:
    """Five layers of ten, each task after two of the layer before."""
    names = [[f"t{i}-{j}" for j in range(TASKS // 5)] for i in range(5)]
    return [
        f"{name} <- {names[i - 1][j]} {names[i - 1][(j + 1) % 10]}" if i else name
        for i, layer in enumerate(names)
        for j, name in enumerate(layer)
    ]


class Looked:
    """A page whose frames and whose main thread are counted."""

    def __init__(self, browser: Browser, url: str = "about:blank") -> None:
        self.page: Page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        self.page.goto(url)
        self._metrics: CDPSession = self.page.context.new_cdp_session(self.page)
        self._metrics.send("Performance.enable", CPU)

    def begin(self) -> None:
        """Count from here."""
        self.page.evaluate(COUNT)
        self._began, self._before = time.monotonic(), self._busy()

    def _busy(self) -> dict[str, float]:
        told = self._metrics.send("Performance.getMetrics")["metrics"]
        return {one["name"]: one["value"] for one in told}

    def end(self) -> dict[str, float]:
        """Frames a second, the gaps between them in ms, and ms of the main thread for each second."""
        after = self._busy()
        at = self.page.evaluate("frames_")
        gaps = sorted(b - a for a, b in pairwise(at))
        seconds = time.monotonic() - self._began

        def used(name: str) -> float:
            return round((after[name] - self._before[name]) * 1000 / seconds, 1)

        return {
            "frames_per_s": round((len(at) - 1) / (at[-1] - at[0]) * 1000, 1),
            "median_gap_ms": round(median(gaps), 1),
            "p99_gap_ms": round(gaps[int(len(gaps) * 0.99)], 1),
            "longest_gap_ms": round(gaps[-1], 1),
            "gaps_over_50_ms": sum(gap > 50 for gap in gaps),
            "main_thread_ms_per_s": used("TaskDuration"),
            "script_ms_per_s": used("ScriptDuration"),
            "layout_ms_per_s": used("LayoutDuration"),
            "style_ms_per_s": used("RecalcStyleDuration"),
        }


def followed(browser: Browser, url: str, seconds: float) -> dict[str, Any]:
    """Frames while ten runs go on and a page follows one, beside an empty page."""
    threads = [start(url, *tasks(), query=f"Look into lot {n}") for n in range(RUNS)]
    room, empty = Looked(browser, f"{url}/#{threads[0]}"), Looked(browser)
    room.page.locator(".card").first.wait_for()
    before = [len(shown(url, thread)["events"]) for thread in threads]
    room.begin()
    empty.begin()
    began = time.monotonic()
    room.page.wait_for_timeout(seconds * 1000)
    took = time.monotonic() - began
    counted, beside = room.end(), empty.end()
    views = [shown(url, thread) for thread in threads]
    came = [len(view["events"]) - known for view, known in zip(views, before, strict=True)]
    return {
        "runs": RUNS,
        "still_running": sum(view["run"]["status"] == "running" for view in views),
        "events_per_s": round(came[0] / took, 1),
        "events_per_s_of_all_runs": round(sum(came) / took, 1),
        "room": counted,
        "empty_page": beside,
        "frames_of_an_empty_page": round(counted["frames_per_s"] / beside["frames_per_s"], 3),
        "main_thread_ms_per_event": round(counted["main_thread_ms_per_s"] * took / max(1, came[0]), 2),
    }


def opening(browser: Browser, url: str) -> dict[str, float]:
    """Milliseconds from the address to rows on the screen, of a run of a thousand tasks: median of five."""
    thread = start(url, *(f"w{n}" for n in range(MANY - 1)), f"last <- w{MANY - 2}", policy={"max_parallel": 100})
    while shown(url, thread)["run"]["status"] == "running":
        time.sleep(0.2)
    asked = time.monotonic()
    size = len(json.dumps(shown(url, thread)))
    served = time.monotonic() - asked
    took, busy = [], []
    for _ in range(5):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        metrics = context.new_cdp_session(page)
        metrics.send("Performance.enable", CPU)
        page.add_init_script(OPENED)
        page.goto(f"{url}/#{thread}")
        while not (opened_at := page.evaluate("window.opened_")):  # the page's policy lets nobody wait for more
            page.wait_for_timeout(20)
        took.append(opened_at)
        busy.append(
            next(
                one["value"]
                for one in metrics.send("Performance.getMetrics")["metrics"]
                if one["name"] == "TaskDuration"
            )
        )
        context.close()
    return {
        "tasks": MANY,
        "opened_ms": round(median(took)),
        "slowest_ms": round(max(took)),
        "main_thread_ms": round(median(busy) * 1000),
        "server_ms": round(served * 1000),
        "kilobytes": round(size / 1000),
    }


def main() -> None:
    """Measure, and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8)
    seconds = parser.parse_args().seconds
    told: dict[str, Any] = {"cores": os.cpu_count(), "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.chdir(folder)
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        with serving(free_port(), lambda: opened(agent(works), clock=SystemClock(), max_parallel=AT_ONCE)) as url:
            told["ten_runs"] = followed(browser, url, seconds)
        Path("runs.db").unlink()
        with serving(free_port(), lambda: opened(agent(), clock=SystemClock())) as url:
            told["large_run"] = opening(browser, url)
        browser.close()
        os.chdir("/")
    json.dump(told, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
