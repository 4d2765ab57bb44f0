"""Every run is remembered at its end: what was asked, planned, done and corrected; nothing of what sources say."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.base import PutOp

from graph.address import address_of
from graph.database import open_database
from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.policy import episodes as keeping
from nodes.policy.episodes import LOOKED_AT
from nodes.runtime.episodes import advised, read_episodes
from state.agent import Brief
from state.episode import Episode, EpisodeTask
from state.errors import AgentFailed
from state.plan import Task
from state.signal import HandBack, Takeover
from tests import postgres
from tests.runs import Turns, agent, all_approved, opened, plan

DB = "runs.db"


async def remembered(db: str | Path = DB) -> list[Episode]:
    async with open_database(address_of(db), "normal", read_only=True) as database:
        return await read_episodes(database.store)


async def test_a_run_is_remembered_with_who_did_what_and_what_it_took() -> None:
    flaky = Turns(AgentFailed("broken pipe of a secret host"), {"result": "the secret result", "confidence": 0.9})
    async with opened(agent(flaky), agent(name="bo", role="writer")) as sup:
        await sup.start("Look into tea", thread_id="tea", plan=plan("a", {"id": "b", "depends_on": ["a"]}))
    (episode,) = await remembered()

    first, second = episode.tasks
    assert (episode.thread_id, episode.request, episode.status, episode.mode) == (
        "tea",
        "Look into tea",
        "complete",
        "dag",
    )
    assert (first.task.id, first.agent, first.status, first.attempts, first.confidence) == ("a", "ada", "done", 2, 0.9)
    assert (second.task.depends_on, second.agent) == (["a"], "ada")
    assert {score.agent for score in first.scores} == {"ada", "bo"}
    assert episode.went_well
    assert "secret" not in episode.model_dump_json()


async def test_failures_and_follow_ups_are_remembered_as_such() -> None:
    always, clock = Turns(AgentFailed("no")), HeldClock()
    async with opened(agent(always), clock=clock, max_attempts=1) as sup:
        await sup.start("Q", thread_id="one", plan=plan("a"))
        clock.time += 60
        await sup.start("And now?", thread_id="one", plan=plan("a"))
    later, first = await remembered()

    assert (first.status, first.went_well, first.tasks[0].failure) == ("failed", False, "transient")
    assert (later.request, later.is_follow_up, later.tasks[0].task.description) == ("And now?", True, "-")


async def asks(brief: Brief, desk: Any) -> str:
    said = await desk.ask("launch", risk="medium")
    return str(said.type)


async def test_what_humans_changed_is_remembered() -> None:
    async with opened(agent(), oversight="in_command") as sup:
        run = await sup.start("Edited", thread_id="edited", plan=plan("a", "b"))
        run = await sup.answer("edited", {run.approvals[0].id: {"type": "edit", "args": plan("a")}})
        await all_approved(sup, run)
    async with opened(agent(asks), db=DB) as sup:
        run = await sup.start("Rejected", thread_id="rejected", plan=plan("a"))
        await sup.answer("rejected", {run.approvals[0].id: {"type": "reject", "message": "no"}})
        run = await sup.start("Taken", thread_id="taken", plan=plan("a"))
        await sup.signal("taken", Takeover(reason="mine"))
        await sup.signal("taken", HandBack(results={"a": "done by hand"}))
    found = {one.thread_id: (one.corrections, [done.task.id for done in one.tasks]) for one in await remembered()}

    assert found["edited"] == (["plan_edited"], ["a"])
    assert found["rejected"][0] == ["result_rejected"]
    assert found["taken"][0] == ["result_given", "took_over"]


async def written_rows(sup: Supervisor, thread: str, **policy: Any) -> int:
    before = len(await sup._runs.database.store.asearch((), limit=10_000))
    await sup.start("Q", thread_id=thread, plan=plan("a"), policy=policy)
    return len(await sup._runs.database.store.asearch((), limit=10_000)) - before


async def test_with_learning_off_a_run_leaves_one_row_less_and_no_trace() -> None:
    async with opened() as sup:
        with_it, without = await written_rows(sup, "a"), await written_rows(sup, "b", learning="off")

    assert (with_it - without, [one.thread_id for one in await remembered()]) == (1, ["a"])


@pytest.mark.of_files  # it listens to SQLite
async def test_with_learning_off_nothing_is_asked_of_what_is_remembered() -> None:
    asked: dict[str, list[str]] = {"off": [], "apply": []}
    async with opened(agent(), agent(name="bo"), db=DB) as sup:
        saver = sup.graph.checkpointer
        assert isinstance(saver, SqliteSaver)
        for learning, statements in asked.items():
            saver.conn.set_trace_callback(statements.append)
            await sup.start("Q", thread_id=learning, plan=plan("a"), policy={"learning": learning})
        saver.conn.set_trace_callback(None)

    assert [any("episodes" in one for one in statements) for statements in asked.values()] == [False, True]


async def test_any_number_of_runs_that_ask_for_something_else_hide_none_that_ask_for_the_same() -> None:
    names = {"write": "a", "analyze": "b", "": "c"}
    asked = {"analyze": "Analyze the tea market", "": "Compare tea and cocoa", "write": "Write a poem about tea"}
    rows = [
        (asks, request, n) for asks, request in asked.items() for n in range(LOOKED_AT + 5 if asks == "write" else 3)
    ]
    task = EpisodeTask(task=Task(id="a", description="Look at tea"), status="done")
    async with open_database(address_of(DB), "normal") as database:
        await database.store.abatch(
            PutOp(
                ("episodes", f"{names[asks]} {n}"),
                "0.0",
                {
                    **Episode(
                        thread_id=f"{names[asks]} {n}",
                        started_at=0,
                        finished_at=n,
                        request=request,
                        status="complete",
                        tasks=[task],
                    ).model_dump(mode="json", exclude={"asks"}),
                    **({"asks": asks} if asks else {}),
                },
            )
            for asks, request, n in rows
        )
        found = [
            await advised(database.store, request) for request in ("Analyze the rum market", "Compare rum and gin")
        ]

    assert [one and sorted(one.advice.threads) for one in found] == [
        ["b 0", "b 1", "b 2"],
        ["c 0", "c 1", "c 2"],
    ]


async def test_only_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.runtime.episodes.KEPT_EPISODES", 2)
    assert keeping.KEPT_EPISODES > 100
    async with open_database(address_of(DB), "normal") as database:
        for n in range(4):
            one = Episode(thread_id=f"t{n}", started_at=n, finished_at=n, request="Q", status="complete")
            await database.store.abatch(
                [PutOp(("episodes", f"t{n}"), repr(float(n)), json.loads(one.model_dump_json()))]
            )
    # The Store keeps the second in which a row was written.
    postgres.change(DB, "UPDATE store SET updated_at = datetime(json_extract(value, '$.finished_at'), 'unixepoch')")
    async with opened() as sup:
        await sup.start("Q", thread_id="t4", plan=plan("a"))
    async with open_database(address_of(DB), "normal") as database:
        assert [one.thread_id for one in await read_episodes(database.store)] == ["t4", "t3"]
