"""The control room's bounds: no barrier for anybody (axe), plans of a thousand tasks, a bundle that is its sources."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.servers.dev import free_port
from tests.servers.room import does, serving, shown, start

pytestmark = pytest.mark.services

expect.set_options(timeout=30_000)
MANY = 1000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield made
        made.close()


def violations(page: Page) -> list[str]:
    """What axe finds, in light and in the dark, a line each: the rule and the first element that breaks it."""
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']}).then(all => all.violations)")
    page.emulate_media(color_scheme="dark")
    found += page.evaluate("axe.run({runOnly: ['color-contrast']}).then(all => all.violations)")
    page.emulate_media(color_scheme="light")
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0]['failureSummary'][:300]}" for one in found]


def press(name: str) -> Callable[[Page], Any]:
    """Presses the button of that name in the right column."""
    return lambda page: page.locator(".rt").get_by_role("button", name=name).click()


def test_axe_finds_nothing_in_any_state_light_or_dark_wide_or_narrow(browser: Browser) -> None:
    with serving(free_port()) as url:
        Path("market.md").write_text("# Market\nIt grew.\nThree vendors.\n", "utf-8")
        asks = start(url, "cite", "recruit-one", "delegate-two", "ask <- cite", "last <- ask", sources=["market.md"])
        held = start(url, "send", "long", "last <- long")
        does(url, held, "takeover")
        done = start(url, "cite", "fail", policy={"max_attempts": 1})
        large = start(url, *(f"w{n}" for n in range(70)), "last <- w1")

        def cancel(page: Page) -> None:
            page.locator(".wheel").get_by_role("button", name="Cancel").click()

        def hand_back(page: Page) -> None:
            page.locator(".wheel").get_by_role("button", name="Hand back").click()
            page.get_by_label("id of task 1").wait_for()

        def edit(page: Page) -> None:
            page.get_by_role("button", name="Approve").wait_for()
            page.keyboard.press("e")
            page.get_by_label("name").fill("two.md")

        def log(name: str) -> Callable[[Page], Any]:
            return lambda page: page.locator(".dh").get_by_role("button", name=name).click()

        states: list[tuple[str, Callable[[Page], Any]]] = [
            (asks, lambda page: None),
            (asks, edit),
            (asks, lambda page: page.get_by_role("button", name="Reject").click()),
            (asks, lambda page: page.locator(".card", has_text="Delegate two").click()),
            (asks, press("Team")),
            (asks, log("Approvals")),
            (asks, log("Replay")),
            (asks, lambda page: page.get_by_role("button", name="New", exact=True).click()),
            (held, hand_back),
            (held, cancel),
            (done, lambda page: page.locator(".card").last.click()),
            (large, lambda page: None),
        ]
        wrong: dict[str, list[str]] = {}
        for number, (thread, steps) in enumerate(states):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{url}/#{thread}")
            page.locator(".facts").wait_for()
            steps(page)
            if found := violations(page):
                wrong[str(number)] = found
            page.close()
        page = browser.new_page(viewport={"width": 400, "height": 800})
        page.goto(f"{url}/#{asks}")
        for tab in ("Question", "Plan", "Log", "Runs"):
            page.get_by_label("Columns").get_by_role("button", name=tab).click()
            if found := violations(page):
                wrong[f"narrow {tab}"] = found
        page.evaluate("document.querySelector('main').append(document.createElement('input'))")
        assert violations(page)[0].startswith("label: <input>")
        page.close()
    assert wrong == {}, json.dumps(wrong, indent=1)


def test_a_plan_of_a_thousand_tasks_is_folded_and_drawn_in_part_and_every_task_can_be_reached_by_keys(
    browser: Browser,
) -> None:
    with serving(free_port()) as url:
        tasks = [*(f"w{n}" for n in range(MANY - 1)), f"last <- w{MANY - 2}"]
        thread = start(url, *tasks, policy={"oversight": "in_command"})
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{url}/#{thread}")
        expect(page.get_by_role("heading", name="May the run go ahead as planned?")).to_be_visible()
        expect(page.locator(".layers li")).to_have_text(["Layer 1 999 waiting", "Layer 2 1 waiting"])
        page.locator(".row").first.focus()
        page.keyboard.press("End")
        expect(page.locator("[data-task=last]")).to_be_focused()
        assert page.locator(".row").count() < 100
        page.keyboard.press("ArrowUp")
        expect(page.locator(f"[data-task=w{MANY - 2}]")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".body h2")).to_have_text(f"Do w{MANY - 2}.")
        page.get_by_role("button", name="Layer 2").click()
        expect(page.locator(".row")).to_have_count(1)
        page.close()
        assert len(shown(url, thread)["run"]["tasks"]) == MANY


def test_ten_running_runs_of_fifty_tasks_are_listed_and_followed_while_their_events_come(browser: Browser) -> None:
    with serving(free_port()) as url:
        layers = [[f"t{i}-{j}" for j in range(10)] for i in range(5)]
        tasks = [
            f"{name} <- {' '.join(layers[i - 1])}" if i else name for i, layer in enumerate(layers) for name in layer
        ]
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        threads = [start(url, *tasks, query=f"Run {n}") for n in range(10)]
        page.goto(f"{url}/#{threads[-1]}")
        expect(page.locator(".card")).to_have_count(50)
        expect(page.locator(".facts")).to_contain_text("Complete", timeout=120_000)
        expect(page.locator(".left li")).to_have_count(10)
        expect(page.locator(".card.c-done")).to_have_count(50)
        page.close()


def test_the_bundle_in_the_package_is_what_the_sources_make(root: Path, tmp_path: Path) -> None:
    npm = shutil.which("npm")
    assert npm, "install npm"
    shutil.copytree(root / "web", tmp_path / "web", ignore=shutil.ignore_patterns("node_modules"))
    (tmp_path / "graph" / "web" / "page").mkdir(parents=True)
    for command in (["ci", "--no-audit", "--no-fund", "--silent"], ["run", "-s", "types"], ["run", "-s", "build"]):
        subprocess.run([npm, *command], cwd=tmp_path / "web", check=True, timeout=300)
    for name in ("room.js", "room.css"):
        made, kept = (base / "graph" / "web" / "page" / name for base in (tmp_path, root))
        assert made.read_text("utf-8") == kept.read_text("utf-8"), f"{name}: run `npm run build` in web/"
    assert '"resolved"' not in (root / "web" / "package-lock.json").read_text("utf-8")
