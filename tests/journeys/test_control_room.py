"""The control room in a browser: what a person does there, what a model cannot do there, and a run as a file."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect, sync_playwright
from starlette.applications import Starlette

from graph.web.page import as_one_file
from graph.web.routes import HANDLERS, ROUTES, opened_room
from nodes.policy.timeline import fold
from nodes.runtime.clock import SystemClock
from state.agent import Brief
from state.event import Event
from tests.runs import agent, opened, plan
from tests.servers.dev import free_port

pytestmark = pytest.mark.services

CHROMIUM = "/usr/bin/chromium"
expect.set_options(timeout=30_000)
EVIL = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1"> [x](javascript:window.hacked=1)'


async def works(brief: Brief, desk: Any) -> str:
    if brief.task.id.startswith("ask"):
        said = await desk.ask("publish", {"name": "one.md", "text": "First.\nSecond."}, risk="high")
        return f"{said.type}: {(said.args or {}).get('name', '')}"
    if brief.task.id == "long":
        while True:
            await desk.pause_point()
            await asyncio.sleep(0.02)
    return EVIL if brief.task.id == "evil" else f"{brief.task.id} is done"


@contextmanager
def serving(port: int) -> Iterator[str]:
    """The room on a port of this machine, up while inside."""
    app = Starlette(routes=ROUTES, exception_handlers=HANDLERS)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", timeout_graceful_shutdown=1))

    async def serve() -> None:
        async with opened(agent(works), clock=SystemClock()) as sup, opened_room(app, sup._runs):
            await server.serve()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(transport=httpx.HTTPTransport(retries=8), trust_env=False) as client:
            client.get(f"{url}/").raise_for_status()
        yield url
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def url() -> Iterator[str]:
    with serving(free_port()) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on which nothing may go wrong unseen."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    made = context.new_page()
    wrong: list[str] = []
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    yield made
    context.close()
    assert wrong == []


def start(url: str, *tasks: str) -> str:
    done = httpx.post(f"{url}/api/runs", json={"query": "Look into it", "plan": plan(*tasks)}, trust_env=False)
    return str(done.json()["thread_id"])


def shown(url: str, thread: str) -> Any:
    return httpx.get(f"{url}/api/runs/{thread}", trust_env=False).json()


def answer(url: str, thread: str, question: str, decision: str, by: str) -> None:
    body = {"answers": {question: {"type": decision}}, "by": by}
    httpx.post(f"{url}/api/runs/{thread}/answer", json=body, trust_env=False).raise_for_status()


def test_a_question_is_answered_with_an_edit_by_keys_alone_and_what_was_typed_outlives_a_reload(
    url: str, page: Page
) -> None:
    thread = start(url, "ask", "after <- ask")
    page.goto(f"{url}/#{thread}")
    expect(page.get_by_role("heading", name="May publish be done?")).to_be_visible()
    expect(page).to_have_title("(1) Look into it")
    page.keyboard.press("e")
    page.get_by_label("name").fill("two.md")
    expect(page.locator("del")).to_have_text("- one.md")
    page.reload()
    expect(page.get_by_role("button", name="Approve changed")).to_be_visible()
    page.keyboard.press("e")
    expect(page.get_by_label("name")).to_have_value("one.md")
    page.keyboard.press("e")
    expect(page.get_by_label("name")).to_have_value("two.md")
    page.keyboard.press("a")

    expect(page.locator(".facts")).to_contain_text("Complete")
    expect(page.locator(".card.c-done")).to_have_count(2)
    expect(page.locator(".body")).to_contain_text("after is done")
    page.locator(".card", has_text="Ask").click()
    expect(page.locator(".body")).to_contain_text("edit: two.md")


def test_a_key_pressed_the_moment_a_question_is_drawn_counts(url: str, page: Page) -> None:
    page.add_init_script(
        """new MutationObserver((_, self) => {
            if (!document.querySelector(".bs")) return;
            self.disconnect();
            document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "r", bubbles: true}));
        }).observe(document, {childList: true, subtree: true})"""
    )
    page.goto(f"{url}/#{start(url, 'ask')}")
    page.get_by_label("Why not?").fill("Not like this.")
    page.wait_for_timeout(500)  # long enough for whatever the page does late
    expect(page.get_by_label("Why not?")).to_have_value("Not like this.")


def test_a_key_answers_only_the_question_that_is_read_whoever_has_answered_it_meanwhile(url: str, page: Page) -> None:
    thread = start(url, "ask1", "ask2")
    page.goto(f"{url}/#{thread}")
    expect(page.locator(".kick")).to_contain_text("ask1")
    first, second = (one["id"] for one in shown(url, thread)["run"]["approvals"])
    answer(url, thread, first, "reject", by="ben")
    expect(page.locator(".body")).to_contain_text("ben said reject to publish")
    page.keyboard.press("a")
    page.get_by_role("button", name="Next question").click()
    expect(page.locator(".kick")).to_contain_text("ask2")
    assert [one["id"] for one in shown(url, thread)["run"]["approvals"]] == [second]
    page.keyboard.press("r")
    page.get_by_label("Why not?").fill("No.")
    answer(url, thread, second, "approve", by="ben")
    expect(page.locator(".body")).to_contain_text("ben said approve to publish")
    expect(page.locator(".facts")).to_contain_text("Complete")


def test_a_run_is_taken_over_given_a_result_and_another_plan_and_handed_back(url: str, page: Page) -> None:
    thread = start(url, "long", "after <- long")
    page.goto(f"{url}/#{thread}")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".facts")).to_contain_text("Paused")
    page.get_by_role("button", name="Take over").or_(page.get_by_role("button", name="Go on")).first.click()
    expect(page.locator(".facts")).to_contain_text("Working")
    page.get_by_role("button", name="Take over").click()
    expect(page.locator(".facts")).to_contain_text("You drive")
    page.get_by_role("button", name="Hand back").click()
    page.get_by_label("result of long").fill("By hand.")
    page.get_by_label("what task 2 waits for").fill("nobody")
    expect(page.locator(".body .fail")).to_have_text("after waits for nobody, which is no task")
    page.get_by_label("what task 2 waits for").fill("long")
    page.get_by_role("button", name="Add a task").click()
    page.get_by_label("id of task 3").fill("more")
    page.get_by_label("what task 3 is").fill("Do more.")
    page.locator(".body").get_by_role("button", name="Hand back").click()

    expect(page.locator(".facts")).to_contain_text("Complete")
    expect(page.locator(".facts")).to_contain_text("3 of 3 done")
    view = shown(url, thread)
    assert [task["result"] for task in view["run"]["tasks"]] == ["By hand.", "after is done", "more is done"]


def test_a_run_is_cancelled_and_a_server_that_is_gone_is_said_and_loses_nothing_that_was_typed(page: Page) -> None:
    port = free_port()
    with serving(port) as url:
        thread = start(url, "ask")
        page.goto(f"{url}/#{thread}")
        expect(page.get_by_role("button", name="Approve")).to_be_visible()
        page.keyboard.press("r")
        page.get_by_label("Why not?").fill("Too early.")
    expect(page.get_by_text("Server gone, trying again")).to_be_visible(timeout=15_000)
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("alert")).to_contain_text("what you typed is kept")
    with serving(port):
        expect(page.get_by_text("Live")).to_be_visible(timeout=15_000)
        expect(page.get_by_label("Why not?")).to_have_value("Too early.")
        page.locator(".wheel").get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Cancel and roll back").click()
        expect(page.locator(".facts")).to_contain_text("Cancelled")


def test_what_a_model_says_is_text_on_the_page_and_in_the_exported_file_which_asks_nobody_for_anything(
    url: str, page: Page
) -> None:
    thread = start(url, "evil", "after <- evil")
    page.goto(f"{url}/#{thread}")
    expect(page.locator(".facts")).to_contain_text("Complete")
    page.locator(".card", has_text="Evil").click()
    expect(page.locator(".body")).to_contain_text(EVIL)
    live = [page.locator(".card").all_inner_texts(), page.locator(".row .lb").all_inner_texts()]
    assert page.evaluate("window.hacked") is None
    assert page.locator("#room img, #room a, #room script").count() == 0

    view = shown(url, thread)
    Path("run.html").write_text(as_one_file(view), encoding="utf-8")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(Path("run.html").absolute().as_uri())
    expect(page.locator(".facts")).to_contain_text("Complete")
    assert [page.locator(".card").all_inner_texts(), page.locator(".row .lb").all_inner_texts()] == live
    page.locator(".card", has_text="Evil").click()
    expect(page.locator(".body")).to_contain_text(EVIL)
    assert (page.evaluate("window.hacked"), len(asked)) == (None, 1)
    assert page.get_by_role("button", name="Cancel").count() == 0


def test_it_fits_a_telephone_in_the_dark(url: str, browser: Browser) -> None:
    thread = start(url, "ask")
    context = browser.new_context(viewport={"width": 400, "height": 800}, color_scheme="dark")
    narrow = context.new_page()
    narrow.goto(f"{url}/#{thread}")
    expect(narrow.get_by_role("button", name="Approve")).to_be_visible()
    for name in ("Plan", "Log", "Runs", "Question"):
        narrow.get_by_label("Columns").get_by_role("button", name=name).click()
        assert narrow.evaluate("document.documentElement.scrollWidth") <= 400
    assert narrow.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 19, 21)"
    context.close()


IDS = ("a", "b", "c")
DATA = {
    "phase_entered": st.just({}),
    "task_started": st.builds(lambda n: {"iteration": n}, st.integers(0, 2)),
    "task_retried": st.builds(lambda d: {"attempt": 2, "reason": "slow", "delay_s": d}, st.floats(0, 9)),
    "task_finished": st.builds(
        lambda s, r: {"status": s, "attempts": 1, "tokens": 7, "reason": r},
        st.sampled_from(["done", "failed", "skipped", "cancelled"]),
        st.sampled_from([None, "why"]),
    ),
    "task_parked": st.just({}),
    "approval_requested": st.builds(lambda i: {"id": i}, st.sampled_from(["q1", "q2"])),
    "approval_answered": st.builds(lambda i: {"id": i}, st.sampled_from(["q1", "q2"])),
    "agent_recruited": st.builds(lambda g: {"granted": g}, st.booleans()),
    "control_changed": st.builds(lambda d: {"driving": d}, st.sampled_from(["running", "paused", "handed_over"])),
    "run_finished": st.just({"status": "complete"}),
}


@st.composite
def event_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    made, now = [], 1000.0
    for seq in range(1, draw(st.integers(0, 30)) + 1):
        kind = draw(st.sampled_from(sorted(DATA)))
        now += draw(st.sampled_from([0.0, 0.25, 1.0, 3.5]))
        is_of_run = kind in ("phase_entered", "control_changed", "run_finished")
        path = draw(st.sampled_from([["ada"], ["ada", "bob"]])) if not is_of_run else []
        made.append(
            {
                "seq": seq,
                "thread_id": "t",
                "kind": kind,
                "phase": draw(st.sampled_from(["decomposing", "executing", "reviewing"])),
                "task_id": None if is_of_run else draw(st.sampled_from(IDS)),
                "agent": None if is_of_run else "ada",
                "ts": now,
                "path": path,
                "data": draw(DATA[kind]),
            }
        )
    return made


def test_the_page_folds_events_to_the_same_timeline_as_python(url: str, page: Page) -> None:
    page.goto(url)
    depends_on = {"a": [], "b": ["a"], "c": ["a", "b"]}

    @settings(max_examples=300)
    @given(event_lists())
    def same(events: list[dict[str, Any]]) -> None:
        here = fold([Event.model_validate(event) for event in events], depends_on).model_dump(mode="json")
        there = page.evaluate("([events, before]) => batonFold(events, before)", [events, depends_on])
        assert json.loads(json.dumps(there)) == here

    same()
