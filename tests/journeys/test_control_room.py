"""The control room in a browser: what a person does there, what a model cannot do there, and a run as a file."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect, sync_playwright

from graph.web.page import as_one_file
from nodes.llm.scripted import ScriptedModel
from nodes.policy.timeline import fold
from nodes.runtime.clock import SystemClock
from state.event import Event
from state.replies import PlanDraft, TaskDraft
from tests.runs import opened
from tests.servers.dev import free_port
from tests.servers.room import ARABIC, EVIL, does, serving, shown, start, team

pytestmark = pytest.mark.services

BATON = Path(sys.executable).with_name("baton")
CHROMIUM = "/usr/bin/chromium"
expect.set_options(timeout=30_000)
TASKS = {"recruit-figures": [], "ask-terms": ["recruit-figures"], "long-work": ["ask-terms"], "send": ["long-work"]}
DRAFT = PlanDraft(tasks=[TaskDraft(id=name, description=f"Do {name}.", depends_on=on) for name, on in TASKS.items()])


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
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Makes pages on which nothing may go wrong unseen."""
    wrong: list[str] = []
    contexts = []

    def make(**options: Any) -> Page:
        contexts.append(browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options}))
        made = contexts[-1].new_page()
        made.on("pageerror", lambda error: wrong.append(str(error)))
        made.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
        return made

    yield make
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()


def wheel(page: Page, name: str) -> Any:
    """A button of the top bar."""
    return page.locator(".wheel").get_by_role("button", name=name)


def test_a_run_is_started_steered_and_rolled_back_over_a_reload_and_a_server_that_dies(page: Page) -> None:
    port = free_port()
    with serving(port, lambda: opened(*team(), model=ScriptedModel([DRAFT]), clock=SystemClock())) as url:
        page.goto(url)
        page.get_by_label("What is to be done").fill("Tell everybody.")
        page.get_by_role("button", name="Start").click()
        expect(page.locator(".card.rec")).to_contain_text("ian")
        page.locator(".facts").get_by_role("button", name="1 question").click()
        page.keyboard.press("e")
        page.get_by_label("name").fill("two.md")
        page.keyboard.press("Escape")  # out of the field, with what was typed
        page.keyboard.press("e")
        page.keyboard.press("a")
        expect(page.locator(".card", has_text="Long work")).to_contain_text("Working")
        wheel(page, "Pause").click()
        wheel(page, "Go on").click()
        wheel(page, "Take over").click()
        wheel(page, "Hand back").click()
        page.get_by_label("result of long-work").fill("Done by hand.")
        page.get_by_role("button", name="Add a task").click()
        page.get_by_label("id of task 5").fill("more")
        page.reload()
        wheel(page, "Hand back").click()
        expect(page.get_by_label("result of long-work")).to_have_value("Done by hand.")
        page.get_by_label("what task 5 is").fill("Do more.")
        page.get_by_label("what task 5 waits for").fill("more")
        expect(page.locator(".body .fail")).to_have_text("more wait for each other")
        page.get_by_label("what task 5 waits for").fill("send")
        page.locator(".body").get_by_role("button", name="Hand back").click()
        page.locator(".facts").get_by_role("button", name="1 question").click()
        expect(page.get_by_role("heading", name="May launch be done?")).to_be_visible()
        thread = page.evaluate("location.hash.slice(1)")
    expect(page.get_by_text("Server gone, trying again")).to_be_visible()
    with serving(port) as url:
        expect(page.get_by_text("Live")).to_be_visible()
        wheel(page, "Cancel").click()
        expect(page.locator(".effects li")).to_contain_text(["announce by ada", "undone by unsend"])
        page.get_by_role("button", name="Cancel and roll back").click()
        expect(page.locator(".facts")).to_contain_text("Cancelled")
        expect(page.locator(".body")).to_contain_text("was undone: all customers has thrown it away")
        results = {task["id"]: task["result"] for task in shown(url, thread)["run"]["tasks"]}
    assert (results["ask-terms"], results["long-work"], "more" in results) == ("edit: two.md", "Done by hand.", True)


def test_a_question_is_answered_with_an_edit_by_keys_alone_and_what_was_typed_outlives_a_reload(
    url: str, page: Page
) -> None:
    thread = start(url, "ask", "after <- ask")
    page.goto(f"{url}/#{thread}")
    expect(page.get_by_role("heading", name="May publish be done?")).to_be_visible()
    expect(page).to_have_title("(1) Look into it")
    page.keyboard.press("e")
    page.get_by_label("name").fill("two.md")
    expect(page.locator("del")).to_have_text("- launch.md")
    page.reload()
    expect(page.get_by_role("button", name="Approve changed")).to_be_visible()
    page.keyboard.press("e")
    expect(page.get_by_label("name")).to_have_value("launch.md")
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
    thread = start(url, "ask-1", "ask-2")
    page.goto(f"{url}/#{thread}")
    expect(page.locator(".kick")).to_contain_text("ask-1")
    first, second = (one["id"] for one in shown(url, thread)["run"]["approvals"])
    does(url, thread, "answer", answers={first: {"type": "reject"}}, by="ben")
    expect(page.locator(".body")).to_contain_text("ben said reject to publish")
    page.keyboard.press("a")
    page.get_by_role("button", name="Next question").click()
    expect(page.locator(".kick")).to_contain_text("ask-2")
    assert [one["id"] for one in shown(url, thread)["run"]["approvals"]] == [second]
    page.keyboard.press("r")
    page.get_by_label("Why not?").fill("No.")
    does(url, thread, "answer", answers={second: {"type": "approve"}}, by="ben")
    expect(page.locator(".body")).to_contain_text("ben said approve to publish")
    expect(page.locator(".facts")).to_contain_text("Complete")


def test_a_run_is_taken_over_given_a_result_and_another_plan_and_handed_back(url: str, page: Page) -> None:
    thread = start(url, "long", "after <- long")
    page.goto(f"{url}/#{thread}")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".facts")).to_contain_text("Paused")
    wheel(page, "Take over").click()
    expect(page.locator(".facts")).to_contain_text("You drive")
    page.locator(".note").get_by_role("button", name="Hand back").click()
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
    Path("market.md").write_text(
        "# Market\nIt grew to 7.84 billion in 2025,\nthree vendors hold most of it.\n", "utf-8"
    )
    thread = start(url, "evil", "cite", "ask <- evil cite", sources=["market.md"])
    page.goto(f"{url}/#{thread}")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".facts")).to_contain_text("Complete")

    def everything() -> list[Any]:
        page.locator(".rt").get_by_role("button", name="Report").click()
        found: list[Any] = [page.locator(which).all_inner_texts() for which in (".card", ".row", ".body .res")]
        found.append(page.locator(".row rect").evaluate_all("all => all.map(one => one.outerHTML)"))
        page.get_by_role("button", name="Approvals").click()
        found.append(page.locator(".dbody").inner_text())
        page.locator(".card", has_text="Cite").click()
        page.locator("button.cite").first.click()
        expect(page.locator(".src .line.on").first).to_have_text("2It grew to 7.84 billion in 2025,")
        found.append(page.locator(".src").inner_text())
        page.locator(".card", has_text="Evil").click()
        expect(page.locator(".body")).to_contain_text(EVIL)
        assert page.evaluate("window.hacked") is None
        assert page.locator("#room img, #room a, #room script").count() == 0
        return found

    live = everything()
    done = subprocess.run([BATON, "export", thread, "--db", "runs.db", "--out", "run.html"], check=False)
    assert done.returncode == 0
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(Path("run.html").absolute().as_uri())
    expect(page.locator(".facts")).to_contain_text("Complete")
    assert everything() == live
    assert len(asked) == 1
    assert wheel(page, "Cancel").count() == 0

    page.goto(f"{url}/#{thread}")
    Path("market.md").unlink()
    page.locator(".card", has_text="Cite").click()
    page.locator("button.cite").first.click()
    expect(page.locator(".dbody")).to_contain_text("market.md cannot be shown")


def test_a_plan_in_question_is_a_list_that_is_checked_while_it_is_changed(url: str, page: Page) -> None:
    page.goto(f"{url}/#{start(url, 'a', 'b <- a', policy={'oversight': 'in_command'})}")
    expect(page.locator(".steps li")).to_have_text(["1ageneralistDo a.", "2bgeneralist, after aDo b."])
    expect(page.locator(".count")).to_contain_text("then it is rejected")
    page.keyboard.press("e")
    page.get_by_label("what task 1 waits for").fill("b")
    expect(page.locator(".body .fail")).to_have_text("a, b wait for each other")
    expect(page.get_by_role("button", name="Approve changed")).to_be_disabled()
    page.get_by_label("what task 1 waits for").fill("")
    page.get_by_role("button", name="Add a task").click()
    page.get_by_label("id of task 3").fill("c")
    page.get_by_label("what task 3 is").fill("Do c.")
    page.get_by_role("button", name="Remove b").click()
    expect(page.locator("ins")).to_have_text("+ c (generalist): Do c.")
    page.get_by_role("button", name="Approve changed").click()
    expect(page.locator(".card")).to_contain_text(["A", "C"])


def test_a_file_that_is_dropped_on_the_start_form_becomes_a_source(url: str, page: Page) -> None:
    page.goto(url)
    page.get_by_label("What is to be done").fill("Look.")
    page.locator(".drop input").set_input_files({"name": "x.bin", "mimeType": "", "buffer": b"\0"})
    expect(page.get_by_role("alert")).to_contain_text("'x.bin' cannot be read")
    dropped = page.evaluate_handle(
        "(() => { const all = new DataTransfer(); all.items.add(new File(['It grew.'], 'market.md')); return all; })()"
    )
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": dropped})
    expect(page.get_by_role("textbox", name="Sources")).to_have_value(re.compile(r"uploads.*/market\.md$"))


HIDE = """hidden => {
    Object.defineProperty(document, "hidden", {get: () => hidden, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_tabs_that_nobody_sees_leave_the_browsers_few_connections_to_others_and_catch_up(url: str, page: Page) -> None:
    thread = start(url, "ask")
    pages = [page, *(page.context.new_page() for _ in range(6))]
    for one in pages:
        one.goto(f"{url}/#{thread}")
        expect(one.get_by_text("Live")).to_be_visible()
        if one is not pages[-1]:
            one.evaluate(HIDE, arg=True)
    pages[-1].locator(".bs").get_by_role("button", name="Approve").click()
    expect(pages[-1].locator(".facts")).to_contain_text("Complete")
    page.evaluate(HIDE, arg=False)
    expect(page.locator(".dbody")).to_contain_text("run ended")


def test_a_long_wait_is_a_break_in_the_time_axis(url: str, page: Page, tmp_path: Path) -> None:
    thread = start(url, "ask", "after <- ask")
    does(url, thread, "answer", answers={shown(url, thread)["run"]["approvals"][0]["id"]: {"type": "approve"}})
    page.goto(f"{url}/#{thread}")
    expect(page.locator(".facts")).to_contain_text("Complete")
    expect(page.locator(".axis .gap")).to_have_count(0)
    view, waited = shown(url, thread), 0
    for event in view["events"]:
        waited = waited or 6 * 86_400 * (event["kind"] == "approval_answered")
        event["ts"] = 1_000_000 + event["seq"] + waited
    (tmp_path / "run.html").write_text(as_one_file({**view, "now": event["ts"]}), "utf-8")
    page.goto((tmp_path / "run.html").as_uri())
    expect(page.locator(".axis .gap")).to_have_text("6 d 0 h")
    wide = page.locator(".row rect.work").evaluate_all("all => all.map(one => parseFloat(one.getAttribute('width')))")
    assert min(wide) > 4, "a second of work is seen beside six days of waiting"


def test_a_clock_that_is_off_changes_no_countdown(url: str, new_page: Callable[..., Page]) -> None:
    page = new_page()
    page.clock.install(time=datetime(2031, 1, 1, tzinfo=UTC))
    page.goto(f"{url}/#{start(url, 'ask')}")
    expect(page.locator(".count")).to_contain_text(re.compile(r"(29:\d\d|30:00) left of 30:00"))
    expect(page.locator(".run .n").first).to_have_text(re.compile(r"29:\d\d|30:00"))


def test_a_token_that_no_longer_holds_is_said(new_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("BATON_TOKEN", "first")
    page = new_page(http_credentials={"username": "ana", "password": "first"})
    with serving(port, gate=True) as url:
        page.goto(url)
        expect(page.get_by_role("heading", name="Start a run")).to_be_visible()
        page.get_by_label("What is to be done").fill("Look.")
    monkeypatch.setenv("BATON_TOKEN", "second")
    with serving(port, gate=True):
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("status")).to_contain_text("Signed out: reload the page")
        expect(page.get_by_label("What is to be done")).to_have_value("Look.")


def units(text: str) -> int:
    """Its length as a page counts."""
    return len(text.encode("utf-16-le")) // 2


def test_long_texts_of_any_script_are_drawn_in_part_and_whole_when_they_are_wanted(url: str, page: Page) -> None:
    query = ARABIC[:99_000].strip()
    thread = start(url, {"id": "huge", "description": ARABIC[:19_000]}, query=query)
    page.goto(f"{url}/#{thread}")
    expect(page.locator(".facts")).to_contain_text("Complete")
    expect(page.locator(".head h2")).to_have_css("direction", "rtl")
    page.locator(".head summary").click()
    page.get_by_role("button", name=f"Show all {units(query):,} characters").click()
    assert len(page.locator(".head details p").first.inner_text()) > 90_000
    page.locator(".card").click()
    expect(page.locator(".body .res")).to_contain_text(ARABIC[:1000])
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_it_fits_a_telephone_in_the_dark(url: str, new_page: Callable[..., Page]) -> None:
    thread = start(url, "ask")
    narrow = new_page(viewport={"width": 400, "height": 800}, color_scheme="dark")
    narrow.goto(f"{url}/#{thread}")
    expect(narrow.get_by_role("button", name="Approve")).to_be_visible()
    for name in ("Plan", "Log", "Runs", "Question"):
        narrow.get_by_label("Columns").get_by_role("button", name=name).click()
        assert narrow.evaluate("document.documentElement.scrollWidth") <= 400
    assert narrow.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 19, 21)"


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

    @settings(max_examples=25)
    @given(st.lists(event_lists(), min_size=1, max_size=8))
    def same(lists: list[list[dict[str, Any]]]) -> None:
        here = [fold([Event.model_validate(event) for event in events], depends_on) for events in lists]
        there = page.evaluate(
            "([lists, before]) => lists.map(events => batonFold(events, before))", [lists, depends_on]
        )
        assert json.loads(json.dumps(there)) == [made.model_dump(mode="json") for made in here]

    same()
