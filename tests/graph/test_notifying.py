"""People are told the moment they are asked: by webhook (a real one, on this machine) and in the log."""

import asyncio
import logging
from typing import Any

import pytest

from graph.notifier import AppriseNotifier
from graph.settings import read_settings
from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.runtime.rows import space
from state.agent import Brief
from state.errors import SettingsInvalid
from tests.runs import agent, opened, plan
from tests.servers.webhook import webhook

TITLE = "Baton asks: Launch 1? (high risk, thread t)"


async def asks(brief: Brief, desk: Any) -> str:
    return str((await desk.ask("launch", {"n": 1}, risk="high")).type)


async def test_a_webhook_hears_of_a_question_with_all_that_it_takes_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with webhook() as hook:
        monkeypatch.setenv("BATON_NOTIFY", hook.url)
        async with opened(agent(asks)) as sup:
            run = await sup.start("Q", thread_id="t", plan=plan("a"))

    [message] = hook.posted
    assert message["title"] == TITLE
    assert "With: n='1'" in message["message"]
    assert f"baton answer t {run.approvals[0].id} approve|reject|edit" in message["message"]
    assert "Why: ada asks before it does this." in message["message"]


async def test_it_is_told_while_the_others_still_work() -> None:
    told = asyncio.Event()

    class Bell:
        async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
            told.set()
            return True

    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id == "a":
            return await asks(brief, desk)
        await told.wait()
        return "Fine."

    async with opened(agent(work), notifier=Bell()) as sup:
        run = await asyncio.wait_for(sup.start("Q", thread_id="t", plan=plan("a", "b")), 10)

    assert [task.status for task in run.tasks] == ["parked", "done"]


async def test_a_webhook_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HeldClock()
    with webhook(500, 503, 200) as hook:
        monkeypatch.setenv("BATON_NOTIFY", hook.url)
        async with opened(agent(asks), clock=clock) as sup:
            run = await sup.start("Q", thread_id="t", plan=plan("a"))

    assert run.status == "waiting"
    assert [message["title"] for message in hook.posted] == [TITLE] * 3
    assert clock.slept == [0.5, 1.0]


async def test_a_notifier_that_never_works_fails_no_run_and_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with webhook(500) as hook:
        monkeypatch.setenv("BATON_NOTIFY", f"{hook.url}secret-token")
        async with opened(agent(asks)) as sup:
            run = await sup.start("Q", thread_id="t", plan=plan("a"))
            done = await sup.answer("t", {run.approvals[0].id: True})

    assert (run.status, done.status) == ("waiting", "complete")
    [warning] = [
        record for record in caplog.records if record.name == "baton.approvals" and record.levelname == "WARNING"
    ]
    assert "after 3 tries: somebody could not be reached" in warning.getMessage()
    assert "secret-token" not in warning.getMessage()


async def test_a_notifier_that_raises_fails_no_run() -> None:
    class Broken:
        async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
            raise OSError("the line is cut")

    async with opened(agent(asks), notifier=Broken()) as sup:
        assert (await sup.start("Q", plan=plan("a"))).status == "waiting"


async def test_the_log_hears_of_every_question(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "baton.approvals")
    async with opened(agent(asks)) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))

    assert any(TITLE in record.getMessage() for record in caplog.records)


class Postbox:
    def __init__(self) -> None:
        self.titles: list[str] = []

    async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
        self.titles.append(title)
        return True


async def test_each_question_is_told_once_however_often_the_run_is_resumed() -> None:
    postbox = Postbox()
    async with opened(agent(asks), notifier=postbox) as sup:
        waiting = await sup.start("Q", thread_id="t", plan=plan("a", "b"))
        await sup.answer("t", {waiting.approvals[0].id: True})
    async with opened(agent(asks), notifier=postbox) as sup:
        await sup.resume("t")

    assert postbox.titles == [TITLE, TITLE]


@pytest.mark.parametrize("moments", range(3))
async def test_what_a_crash_kept_from_being_told_the_next_process_tells(moments: int) -> None:
    postbox = Postbox()

    dialled = asyncio.Event()

    class Ringing:
        async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
            dialled.set()
            await asyncio.Event().wait()
            return True

    async with opened(agent(asks), notifier=Ringing()) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("a")))
        await dialled.wait()
        for _ in range(moments):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait({running})
    async with opened(agent(asks), notifier=postbox) as sup:
        assert (await sup.resume("t")).status == "waiting"
        await forget_nothing(sup)

    assert postbox.titles == [TITLE]


async def forget_nothing(sup: Supervisor) -> None:
    """Whether somebody was told is in the Store."""
    rows = await sup._runs.database.store.asearch(space("told", "t"))
    assert [row.value["delivered"] for row in rows] == [True]


async def test_on_the_loop_people_are_told_what_was_done() -> None:
    postbox = Postbox()
    async with opened(oversight="on_the_loop", notifier=postbox) as sup:
        await sup.start("Q", thread_id="t", plan=plan({"id": "a", "action": "publish"}))

    assert postbox.titles == ["Baton goes on without asking: Let ada begin: Do a? (high risk, thread t)"]


async def test_escalated_messages_go_to_the_next_person() -> None:
    with webhook() as first, webhook() as second:
        notifier = AppriseNotifier([first.url], [second.url])
        assert await notifier.tell("one", "body", escalated=False)
        assert await notifier.tell("two", "body", escalated=True)

    assert [message["title"] for message in first.posted] == ["one"]
    assert [message["title"] for message in second.posted] == ["two"]


async def test_without_a_next_person_the_first_is_told_again() -> None:
    with webhook() as hook:
        await AppriseNotifier([hook.url]).tell("again", "body", escalated=True)

    assert [message["title"] for message in hook.posted] == ["again"]


def test_a_url_that_notifies_nobody_is_refused_without_showing_it() -> None:
    with pytest.raises(SettingsInvalid, match=r"BATON_NOTIFY: URL 2 \(nonsense://…\)") as refused:
        AppriseNotifier(["json://127.0.0.1", "nonsense://secret"])

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["json://a json://b", "json://a, json://b", "json://a,json://b\n"])
def test_urls_stand_between_spaces_or_commas(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("BATON_NOTIFY", text)

    assert [url.get_secret_value() for url in read_settings().notify] == ["json://a", "json://b"]
