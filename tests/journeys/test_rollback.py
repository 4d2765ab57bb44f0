"""A run is cancelled after it has acted: what it did is undone, newest first; what cannot be is left to a human."""

import asyncio
from pathlib import Path

import pytest
from langchain_core.tools import tool
from pydantic import JsonValue

from graph.supervisor import Supervisor
from nodes.runtime.desk import Desk
from state.agent import Brief, Limits
from state.run import Run
from state.signal import Cancel
from tests.journeys.acts import dies_after_sending, five_actions
from tests.journeys.below import unit
from tests.journeys.doom import THREAD, begun_or_resumed, die, in_another_process, live, notes
from tests.journeys.processes import cancel_with_rollback
from tests.runs import agent, opened, plan, statuses

SENT = [f"sent hello to n{n}" for n in (1, 2, 3)]
ROLLBACK = Cancel(rollback=True, reason="the figures are wrong", by="ana")


async def after_three(sup: Supervisor, folder: Path) -> Run:
    """The run with three of its five actions approved and done."""
    run = await begun_or_resumed(sup, five_actions(folder))
    for _ in range(3):
        run = await sup.answer(THREAD, {run.approvals[0].id: "approve"}, by="ana")
    assert (run.status, len(run.approvals)) == ("waiting", 2)
    return run


async def rolled_back(folder: Path) -> Run:
    async def story(sup: Supervisor) -> Run:
        await after_three(sup, folder)
        return await sup.signal(THREAD, ROLLBACK)

    return await live(five_actions, folder, onwards=story)


def section(run: Run, title: str) -> str:
    return (run.report or "").split(f"## {title}\n\n")[1].split("\n\n##")[0]


async def test_three_of_five_actions_are_undone_in_reverse_order(tmp_path: Path) -> None:
    run = await rolled_back(tmp_path)

    assert notes(tmp_path) == [*SENT, "unsent n3", "unsent n2", "unsent n1"]
    assert (run.status, statuses(run)["n4"], statuses(run)["n5"]) == ("cancelled", "cancelled", "cancelled")
    assert section(run, "Rolled back").splitlines() == [
        f"- `send_note` (to: n{n}) was undone: taken back from n{n}" for n in (3, 2, 1)
    ]


async def test_an_undo_that_fails_is_reported_and_the_others_are_done(tmp_path: Path) -> None:
    (tmp_path / "unsend-fails").touch()
    run = await rolled_back(tmp_path)

    assert notes(tmp_path) == [*SENT, "unsent n3", "unsent n2", "unsent n1"]
    assert section(run, "Rolled back").splitlines()[1] == (
        "- **Left for a human:** `send_note` (to: n2) could not be undone: it was read already"
    )


async def test_what_has_no_undo_is_left_to_a_human(tmp_path: Path) -> None:
    (tmp_path / "third-has-no-undo").touch()
    run = await rolled_back(tmp_path)

    assert notes(tmp_path)[2:] == ["shredded n3", "unsent n2", "unsent n1"]
    assert section(run, "Rolled back").splitlines()[0] == "- **Left for a human:** `shred` (what: n3) has no undo"


async def test_without_rollback_nothing_is_undone(tmp_path: Path) -> None:
    async def story(sup: Supervisor) -> Run:
        await after_three(sup, tmp_path)
        return await sup.signal(THREAD, Cancel(by="ana"))

    run = await live(five_actions, tmp_path, onwards=story)
    assert (run.status, notes(tmp_path)) == ("cancelled", SENT)
    assert "Rolled back" not in (run.report or "")


async def test_a_process_that_dies_while_it_undoes_leaves_each_undo_done_at_most_once(tmp_path: Path) -> None:
    (tmp_path / "unsend-dies").touch()
    await live(five_actions, tmp_path, onwards=lambda sup: after_three(sup, tmp_path))
    assert await in_another_process(cancel_with_rollback, five_actions, tmp_path) == -9
    assert notes(tmp_path) == [*SENT, "unsent n3", "unsent n2"]

    run = await live(five_actions, tmp_path, onwards=lambda sup: sup.resume(THREAD))
    assert notes(tmp_path) == [*SENT, "unsent n3", "unsent n2", "unsent n1"]
    assert run.status == "cancelled"
    assert section(run, "Rolled back").splitlines() == [
        "- `send_note` (to: n3) was undone: taken back from n3",
        "- **Left for a human:** `send_note` (to: n2) could not be undone: the work broke off while it was undone",
        "- `send_note` (to: n1) was undone: taken back from n1",
    ]


async def test_what_may_have_happened_is_left_to_a_human(tmp_path: Path) -> None:
    assert await die(dies_after_sending, tmp_path)
    run = await live(dies_after_sending, tmp_path, onwards=lambda sup: sup.signal(THREAD, ROLLBACK))

    assert (run.status, notes(tmp_path)) == ("cancelled", ["sent hello to bob"])
    assert section(run, "Rolled back").startswith(
        "- **Left for a human:** `send_note` (to: bob) may or may not have happened: the work broke off"
    )


async def test_where_nothing_was_done_there_is_nothing_to_undo(tmp_path: Path) -> None:
    async def story(sup: Supervisor) -> Run:
        await begun_or_resumed(sup, five_actions(tmp_path))
        return await sup.signal(THREAD, ROLLBACK)

    run = await live(five_actions, tmp_path, onwards=story)
    assert section(run, "Rolled back") == "Nothing had been done to the outside world."


@pytest.mark.parametrize("is_nested", [False, True], ids=["in the run", "in a nested run"])
async def test_every_begin_that_may_have_happened_is_left_to_a_human_although_it_was_done_again(
    is_nested: bool,
) -> None:
    out: list[str] = []

    async def send(to: str) -> str:
        out.append(f"sent to {to}")
        return await asyncio.Event().wait() if len(out) < 4 else "sent"  # type: ignore[return-value]

    @tool
    async def unsend(to: str) -> str:
        """Take it back."""
        out.append(f"unsent {to}")
        return "it is back"

    async def act(brief: Brief, desk: Desk) -> str:
        await desk.once("send", send, {"to": "n1"}, undo="unsend")
        return (await desk.ask("wait")).type

    worker = agent(act, tools=[unsend], limits=Limits(timeout_s=0.6))
    team = unit("mid", worker, tasks=("n",), oversight="on_the_loop") if is_nested else worker
    tasks = plan({"id": "a", "role": "mid"}) if is_nested else plan("a")
    answers: list[JsonValue] = [True, {"type": "edit", "args": {"to": "n2"}}, {"type": "edit", "args": {"to": "n1"}}]
    async with opened(team, oversight="on_the_loop", max_iterations=0) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=tasks)
        for answer in answers:
            run = await sup.answer(THREAD, {run.approvals[0].id: answer}, by="ana")
        assert (run.status, run.approvals[0].action, len(out)) == ("waiting", "wait", 4)
        run = await sup.signal(THREAD, ROLLBACK)

    assert out[:3] == ["sent to n1", "sent to n1", "sent to n2"]
    assert out[4:] == ["unsent n1"]
    unclear = "may or may not have happened: the work broke off while it was done"
    assert section(run, "Rolled back").splitlines() == [
        "- `send` (to: n1) was undone: it is back",
        *(f"- **Left for a human:** `send` (to: {name}) {unclear}" for name in ("n2", "n1", "n1")),
    ]
