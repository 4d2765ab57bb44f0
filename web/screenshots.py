"""Makes a picture of every state of the control room: `PYTHONPATH=. python web/screenshots.py DATABASE FOLDER`.

DATABASE has the threads `market-finished` and `market-waiting`, as `make serve` makes it (it is copied, not changed);
the other runs are made here, by agents that are functions. `docs/` has some of the pictures: FOLDER `docs` makes them.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from graph.supervisor import open_supervisor
from graph.web.page import as_one_file
from tests.servers.dev import free_port
from tests.servers.room import does, serving, shown, start

IN_DOCS = ("done", "asks", "dark", "narrow", "source", "hand-back", "cancel")
REPORT = "Compare the agent frameworks, and say which one to build on"
Steps = Callable[[Page], Any]


def nothing(_: Page) -> None:
    """Look at what opens."""


class Camera:
    """Takes pictures into a folder."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser = browser
        self._folder = folder
        self._in_docs = folder.name == "docs"

    def take(
        self, name: str, url: str, steps: Steps = nothing, size: tuple[int, int] = (1440, 900), scheme: Any = "light"
    ) -> None:
        """The page at `url` once `steps` were taken; of those that do not belong into docs, none there."""
        if self._in_docs and name not in IN_DOCS:
            return
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce"
        )
        page = context.new_page()
        page.goto(url)
        page.locator(".card:visible, .layers:visible, .bs:visible, .form:visible").first.wait_for()
        steps(page)
        page.wait_for_timeout(300)
        page.screenshot(path=self._folder / f"control-room-{name}.png")
        context.close()


def until(url: str, thread: str, status: str) -> None:
    """Wait until a run stands so."""
    for _ in range(300):
        if (stands := shown(url, thread)["run"])["status"] == status:
            return
        time.sleep(0.1)
    sys.exit(f"the run is {stands['status']}, not {status}: {stands['error']} {stands['approvals']}")


def market(camera: Camera, url: str) -> None:
    """The example: finished, and asking."""
    done, asks = f"{url}/#market-finished", f"{url}/#market-waiting"

    def cite(page: Page) -> None:
        page.locator(".right button.cite").nth(2).click()
        page.locator(".src").wait_for()

    camera.take("done", done)
    camera.take("source", done, cite)
    camera.take("task", done, lambda page: page.locator(".card").nth(2).click())
    camera.take("team", done, lambda page: page.get_by_role("button", name="Team").click())
    camera.take("asks", asks)
    camera.take("edit", asks, lambda page: page.keyboard.press("e"))
    camera.take("dark", asks, scheme="dark")
    camera.take("done-dark", done, cite, scheme="dark")
    camera.take("narrow", asks, size=(400, 800))
    for tab in ("Plan", "Log", "Runs"):
        go = lambda page, tab=tab: page.get_by_label("Columns").get_by_role("button", name=tab).click()  # noqa: E731
        camera.take(f"narrow-{tab.lower()}", asks, go, size=(400, 800))
    camera.take("narrow-dark", done, size=(400, 800), scheme="dark")


def after_days(url: str) -> str:
    """The address of an exported run that waited six days for its answer."""
    tasks = ("prices", "vendors", "ask-terms <- prices vendors", "report <- ask-terms")
    thread = start(url, *tasks, query=REPORT)
    (asked,) = shown(url, thread)["run"]["approvals"]
    does(url, thread, "answer", answers={asked["id"]: {"type": "approve"}})
    until(url, thread, "complete")
    view, waited = shown(url, thread), 0
    first = view["events"][0]["ts"]
    for event in view["events"]:
        waited = waited or 6 * 86_400 * (event["kind"] == "approval_answered")
        event["ts"] = first + 4 * event["seq"] + waited
    view["now"] = event["ts"]
    file = Path("after-days.html").absolute()
    file.write_text(as_one_file(view), "utf-8")
    return file.as_uri()


def made(camera: Camera, url: str) -> None:
    """Runs in every other state."""
    camera.take("empty", url)
    camera.take("start", url, lambda page: page.get_by_role("button", name="New", exact=True).click())
    plan = ("prices", "vendors", "recruit-figures <- prices", "delegate-count <- vendors")
    held = start(url, *plan, "long-summary <- recruit-figures delegate-count", "report <- long-summary", query=REPORT)
    camera.take("running", f"{url}/#{held}")
    does(url, held, "mail", to="ada", text="Leave out what costs more than 100 a month.", by="ana")
    does(url, held, "pause", reason="Prices changed")
    until(url, held, "paused")
    camera.take("paused", f"{url}/#{held}")
    does(url, held, "takeover", reason="I know the rest")
    until(url, held, "handed_over")
    camera.take("taken-over", f"{url}/#{held}")
    camera.take(
        "hand-back",
        f"{url}/#{held}",
        lambda page: page.locator(".wheel").get_by_role("button", name="Hand back").click(),
    )
    failed = start(url, "fail-table", query=REPORT, policy={"max_attempts": 1})
    until(url, failed, "failed")
    camera.take("failed", f"{url}/#{failed}", lambda page: page.locator(".card.c-fail").first.click())
    partial = start(url, "prices", "fail-table", "report <- fail-table", query=REPORT, policy={"max_attempts": 1})
    until(url, partial, "partial")
    camera.take("partial", f"{url}/#{partial}")
    acted = start(url, "send", query="Tell everybody")
    until(url, acted, "waiting")
    cancel = lambda page: page.locator(".wheel").get_by_role("button", name="Cancel").click()  # noqa: E731
    camera.take("cancel", f"{url}/#{acted}", cancel)
    does(url, acted, "cancel", rollback=True)
    until(url, acted, "cancelled")
    camera.take("cancelled", f"{url}/#{acted}")
    camera.take("gap", after_days(url))
    wide = start(url, *(f"w{n}" for n in range(40)), *(f"x{n} <- w{n}" for n in range(40)), query="A hundred lots")
    until(url, wide, "complete")
    camera.take("large", f"{url}/#{wide}")
    arabic = start(
        url, {"id": "t1", "description": "تقرير عن السوق 📈"}, query="اكتب تقريرا عن السوق 📈 and its prices"
    )
    until(url, arabic, "complete")
    camera.take("right-to-left", f"{url}/#{arabic}")


def main(database: str, folder: str) -> None:
    """Take all of them."""
    into = Path(folder).absolute()
    into.mkdir(parents=True, exist_ok=True)
    sources = Path("examples/market/sources").absolute()
    with TemporaryDirectory() as work, sync_playwright() as playwright:
        copy = Path(work) / "room.db"
        shutil.copy(database, copy)
        os.chdir(sources.parents[2])
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        camera = Camera(browser, into)
        with serving(free_port(), lambda: open_supervisor(copy)) as url:
            market(camera, url)
        os.chdir(work)
        with serving(free_port()) as url:
            made(camera, url)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
