"""Rows are no orders: a decision counts with its sealed record, whoever can write the Store or edit the state."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.types import Command

from graph.cli import main
from graph.supervisor import Supervisor
from nodes.policy.audit_chain import Sealer
from nodes.runtime.rows import read_all, space
from state.agent import Brief
from state.approval import Decision, Entry
from state.signal import Cancel, Pause, Recruit, Retire, SendMail, Takeover
from tests.runs import agent, opened, plan
from tests.servers.webhook import webhook

THREAD, QUESTION = "t", "a.0.q1"
YES = Decision(type="approve", by="ana").model_dump(mode="json")
KEY = "one that the database does not have"
did: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    did.clear()


async def asks(brief: Brief, desk: Any) -> str:
    said = await desk.ask("launch", risk="high")
    if said.type == "approve":
        did.append(brief.task.id)
    return f"{said.type} by {said.by}"


def store_of(sup: Supervisor) -> BaseStore:
    assert sup.graph.store is not None
    return sup.graph.store


async def put_decision(sup: Supervisor) -> None:
    await store_of(sup).aput(space("decisions", THREAD), QUESTION, YES)


async def logged(sup: Supervisor) -> list[Entry]:
    return (await sup.audit(THREAD))[0]


async def rewritten(sup: Supervisor, sealer: Sealer, change: dict[str, Any]) -> None:
    """Change the records, and seal all of them anew."""
    made: list[Entry] = []
    for entry in await logged(sup):
        changed = entry.model_copy(update=change if entry.kind == "answered" else {})
        made.append(sealer.sealed(changed, entry.number, made[-1].seal if made else ""))
    for entry in made:
        await store_of(sup).aput(space("audit", THREAD), f"{entry.number:012d}", entry.model_dump(mode="json"))
    await store_of(sup).aput(space("audit_head", THREAD), "head", {"count": len(made), "seal": made[-1].seal})


async def test_a_decision_row_that_somebody_put_into_the_store_is_not_obeyed() -> None:
    async with opened(agent(asks)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        await put_decision(sup)
        seen = await sup.view(THREAD)
        run = await sup.resume(THREAD)
        assert (did, seen.status, run.status, [one.id for one in run.approvals]) == (
            [],
            "waiting",
            "waiting",
            [QUESTION],
        )
        ended = await sup.answer(THREAD, {QUESTION: False}, by="ben")

    assert (did, ended.status, ended.tasks[0].result) == ([], "complete", "reject by ben")


async def test_a_decision_in_an_edited_state_is_not_obeyed() -> None:
    async with opened(agent(asks)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        await sup.graph.aupdate_state({"configurable": {"thread_id": THREAD}}, {"decisions": {QUESTION: YES}})
        run = await sup.resume(THREAD)

    assert (did, run.status, [one.id for one in run.approvals]) == ([], "waiting", [QUESTION])


async def test_what_was_decided_in_the_run_before_decides_nothing_in_this_one() -> None:
    async with opened(agent(asks)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        await sup.answer(THREAD, {QUESTION: True}, by="ana")
        await sup.start("Q", thread_id=THREAD, plan=plan("b", "a <- b"), policy={"max_parallel": 1})
        [question] = (await sup.view(THREAD)).approvals
        await store_of(sup).aput(space("decisions", THREAD), QUESTION, YES)
        await sup.answer(THREAD, {question.id: False})
        run = await sup.view(THREAD)

    assert (did, [one.id for one in run.approvals]) == (["a"], [QUESTION])


async def test_a_copy_of_a_thread_has_a_record_of_its_own_and_is_answered_there() -> None:
    async with opened(agent(asks)) as sup:
        for _ in range(2):
            await sup.start("Q", thread_id=THREAD, plan=plan("a"))
            await sup.answer(THREAD, {QUESTION: True}, by="ana")
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        await sup._runs.database.checkpointer.acopy_thread(THREAD, "copy")
        out = await sup.graph.ainvoke(Command(resume="no"), {"configurable": {"thread_id": "copy"}})
        run = await sup.view(THREAD)

    assert (did, out["phase"], run.status) == (["a", "a"], "complete", "waiting")


async def test_a_decision_on_record_counts_also_when_the_key_is_set_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(agent(asks)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a", "b"))
        await sup.answer(THREAD, {QUESTION: True}, by="ana")
    monkeypatch.setenv("BATON_AUDIT_KEY", KEY)
    async with opened(agent(asks)) as sup:
        _, before = await sup.audit(THREAD)
        run = await sup.answer(THREAD, {"b.0.q1": True}, by="ben")
        _, after = await sup.audit(THREAD)

    assert (did, run.status, after) == (["a", "b"], "complete", "")
    assert before.startswith("no record is sealed with the key")


async def test_sealing_all_records_anew_is_found_with_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_AUDIT_KEY", KEY)
    async with opened(agent(asks)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        await sup.answer(THREAD, {QUESTION: False}, by="ana")
        assert (await sup.audit(THREAD))[1] == ""
        await rewritten(sup, Sealer(THREAD), {"decision": "approve"})
        _, unkeyed = await sup.audit(THREAD)
        await rewritten(sup, Sealer(THREAD, b"another key"), {"decision": "approve"})
        _, by_another = await sup.audit(THREAD)
        await rewritten(sup, Sealer("another thread", KEY.encode()), {"decision": "approve"})
        _, of_another = await sup.audit(THREAD)

    assert unkeyed.startswith("no record is sealed with the key")
    assert by_another == of_another == "record 1 (requested a.0.q1) was changed after it was written"
    verify = ["log", THREAD, "--approvals", "--verify", "--db", "runs.db"]
    assert await asyncio.to_thread(main, verify) == 1


async def test_with_the_key_a_record_that_was_made_without_it_lets_nothing_happen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BATON_AUDIT_KEY", KEY)
    async with opened(agent(asks)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        [asked] = await logged(sup)
        forged = Entry(at=asked.at, kind="answered", approval=QUESTION, decision="approve", by="ana")
        made = Sealer(THREAD).sealed(forged, 2, asked.seal)
        await store_of(sup).aput(space("audit", THREAD), "000000000002", made.model_dump(mode="json"))
        await put_decision(sup)
        run = await sup.resume(THREAD)

    assert (did, run.status) == ([], "waiting")


async def test_the_head_goes_to_a_file_as_it_grows_and_the_log_is_compared_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    heads = tmp_path / "heads.jsonl"
    monkeypatch.setenv("BATON_AUDIT_HEAD", str(heads))
    async with opened(agent(asks)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        assert len(heads.read_text().splitlines()) == 1
        await sup.answer(THREAD, {QUESTION: False}, by="ana")
        rows = [json.loads(line) for line in heads.read_text().splitlines()]
        assert [(row["thread"], row["number"], row["seal"]) for row in rows] == [
            (THREAD, entry.number, entry.seal) for entry in await logged(sup)
        ]
        heads.write_text(f"no JSON\n{heads.read_text()}")
        assert (await sup.audit(THREAD))[1] == ""
        await rewritten(sup, Sealer(THREAD), {"decision": "approve"})
        _, found = await sup.audit(THREAD)

    assert found == "record 2 is not the one whose seal was kept outside the database: it was replaced"


async def test_the_head_goes_to_a_webhook_as_it_grows_and_a_dead_one_fails_no_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with webhook() as hook:
        monkeypatch.setenv("BATON_AUDIT_HEAD", hook.url.replace("json:", "http:"))
        async with opened(agent(asks)) as sup:
            await sup.start("Q", thread_id=THREAD, plan=plan("a"))
            [asked] = await logged(sup)
    assert [(one["thread"], one["number"], one["seal"]) for one in hook.posted] == [(THREAD, 1, asked.seal)]

    with caplog.at_level(logging.WARNING, "baton.audit"):
        async with opened(agent(asks)) as sup:
            run = await sup.answer(THREAD, {QUESTION: True})
    assert run.status == "complete"
    assert "the head of the audit log could not be kept" in caplog.text


async def test_what_people_do_to_a_run_is_on_record_with_who_when_and_through_which_door() -> None:
    async with opened(agent(asks), agent(asks, name="bo", role="other")) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        await sup.signal(THREAD, SendMail(to="ada", text="Mind the gap.", by="ben", door="command line"))
        await sup.signal(THREAD, Recruit(role="generalist", task="Count.", by="ben"))
        await sup.signal(THREAD, Retire(agent="bo", by="ben"))
        await sup.signal(THREAD, Pause(reason="wait", by="ben"))
        await sup.resume(THREAD, "cid", door="command line")
        await sup.signal(THREAD, Takeover(reason="mine", by="ana"))
        await sup.hand_back(THREAD, {"a": "By hand."}, by="ana")
        await sup.signal(THREAD, Cancel(by="ana", rollback=True))
        entries, broken = await sup.audit(THREAD)

    steered = [entry for entry in entries if entry.kind == "steered"]
    assert broken == ""
    assert [(one.action, one.by, one.door) for one in steered] == [
        ("mail", "ben", "command line"),
        ("recruit", "ben", "python"),
        ("retire", "ben", "python"),
        ("pause", "ben", "python"),
        ("resume", "cid", "command line"),
        ("takeover", "ana", "python"),
        ("hand_back", "ana", "python"),
        ("cancel", "ana", "python"),
    ]
    said = {one.action: (one.message, one.args) for one in steered}
    assert said["mail"] == ("Mind the gap.", {"to": "ada"})
    assert said["takeover"] == ("mine", {})
    assert said["hand_back"] == ("", {"results": {"a": "By hand."}})
    assert all(one.at > 0 and one.seal for one in steered)


async def test_mail_of_agents_is_not_on_record() -> None:
    async def writes(brief: Brief, desk: Any) -> str:
        desk.mail("all", "hello")
        return "So."

    async with opened(agent(writes)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        assert await read_all(store_of(sup), space("audit", THREAD)) == []
