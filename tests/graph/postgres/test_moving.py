"""Runs of a file that are moved into PostgreSQL go on there."""

import asyncio
from pathlib import Path

import pytest

from graph.address import address_of
from graph.cli import main
from graph.moving import move
from nodes.runtime.desk import Desk
from state.agent import Brief
from state.errors import BadInput
from tests.runs import agent, opened, plan, says_its_task


async def asks(brief: Brief, desk: Desk) -> str:
    return (await desk.ask("launch")).type if brief.task.id == "asks" else "done"


async def test_a_file_is_no_place_to_move_to(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"runs are moved to PostgreSQL, and .*new.db is a file"):
        await move(tmp_path / "old.db", tmp_path / "new.db")
    with pytest.raises(BadInput, match=r"there is no file .*old.db to move runs from"):
        await move(tmp_path / "old.db", address_of("postgresql://db/runs"))


@pytest.mark.services
async def test_what_waits_in_a_file_is_answered_where_it_was_moved_to(on_postgres: str) -> None:
    async with opened(agent(asks)) as sup:
        ended = await sup.start("Q", thread_id="ended", plan=plan("a", "b"))
        asked = await sup.start("Q", thread_id="waits", plan=plan("a", "asks <- a", "b <- asks"))
        before = await sup.events("waits")
    assert asked.status == "waiting"

    moved = await move(Path("runs.db"), address_of(on_postgres))
    assert moved.threads == 2
    again = await move(Path("runs.db"), address_of(on_postgres))  # as if it had broken off
    assert again == moved

    async with opened(agent(asks), db=on_postgres) as sup:
        assert (await sup.view("ended")).report == ended.report
        assert await sup.events("waits") == before
        run = await sup.answer("waits", {asked.approvals[0].id: "approve"}, by="eve")
        assert (run.status, [task.result for task in run.tasks]) == ("complete", ["done", "approve", "done"])
        assert {one.thread_id for one in await sup.runs()} == {"waits", "ended"}
        _, broken = await sup.audit("waits")
        assert not broken

    with pytest.raises(BadInput, match=r"thread waits is in postgresql://.* already, and has gone on there"):
        await move(Path("runs.db"), address_of(on_postgres))


@pytest.mark.services
async def test_the_command_says_what_it_moved(on_postgres: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with opened(agent(says_its_task)) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))

    assert await asyncio.to_thread(main, ["migrate", "--from", "runs.db", "--db", on_postgres]) == 0
    assert "copied from runs.db: 1 thread, 1 checkpoint, " in capsys.readouterr().err
