"""What agents of nested supervisors do to the outside world: done once, and undone with the run, newest first."""

import asyncio
from pathlib import Path

from langchain_core.messages import BaseMessage, ToolMessage

from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel, Step
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.replies import PlanDraft, Review, Verdict
from state.run import Run
from state.signal import Cancel
from tests.journeys.acts import sender
from tests.journeys.below import drafts, unit
from tests.journeys.doom import THREAD, Doom, begun_or_resumed, die, in_another_process, live, note, notes
from tests.journeys.nested_acts import SENT, UNSENT, acts_on_three_levels, sending, sends_once
from tests.journeys.processes import cancel_with_rollback
from tests.journeys.steered import PATIENCE_S, under_way
from tests.journeys.turns import in_turns
from tests.runs import agent, opened, plan, statuses


async def all_done(folder: Path) -> None:
    """Run until everything is done and the last task asks."""

    async def story(sup: Supervisor) -> Run:
        return await begun_or_resumed(sup, acts_on_three_levels(folder))

    run = await live(acts_on_three_levels, folder, onwards=story)
    assert (run.status, notes(folder)) == ("waiting", SENT)


def section(run: Run) -> list[str]:
    return (run.report or "").split("## Rolled back\n\n")[1].split("\n\n##")[0].splitlines()


async def test_what_was_done_on_all_levels_is_undone_newest_first_by_another_process(tmp_path: Path) -> None:
    await all_done(tmp_path)
    published = tmp_path / "artifacts" / THREAD / "nested" / "a" / "nested" / "m" / "published" / "outbox" / "p.md"
    assert published.exists()
    assert await in_another_process(cancel_with_rollback, acts_on_three_levels, tmp_path) == 0
    run = await live(acts_on_three_levels, tmp_path, onwards=lambda sup: sup.view(THREAD))

    assert (run.status, notes(tmp_path)) == ("cancelled", [*SENT, *UNSENT])
    assert not published.exists()
    undone = ["`send_note` (to: last)", "`publish` (name: p.md, content: paper)"]
    undone += [f"`send_note` (to: {name})" for name in ("third", "second", "first")]
    assert [line.removeprefix("- ").split(" was undone")[0] for line in section(run)] == undone


async def test_a_process_that_dies_while_it_undoes_levels_down_leaves_each_undo_done_at_most_once(
    tmp_path: Path,
) -> None:
    await all_done(tmp_path)
    (tmp_path / "dies-unsending-third").touch()
    assert await in_another_process(cancel_with_rollback, acts_on_three_levels, tmp_path) == -9
    run = await live(acts_on_three_levels, tmp_path, onwards=lambda sup: sup.resume(THREAD))

    assert (run.status, notes(tmp_path)) == ("cancelled", [*SENT, *UNSENT])
    assert section(run)[2] == (
        "- **Left for a human:** `send_note` (to: third) could not be undone: the work broke off while it was undone"
    )


async def test_a_run_that_died_anywhere_undoes_what_was_done_on_all_levels_when_it_is_cancelled(tmp_path: Path) -> None:
    killed: list[bool] = []

    async def cancelled(sup: Supervisor) -> Run:
        return await sup.signal(THREAD, Cancel(rollback=True, by="ana"))

    async def story(number: int) -> None:
        folder = tmp_path / str(number)
        killed.append(await die(acts_on_three_levels, folder, Doom("after a write", number)))
        run = await live(acts_on_three_levels, folder, onwards=cancelled)
        done = [line for line in notes(folder) if line.startswith("sent")]
        undone = [line.split("unsent ")[1] for line in notes(folder) if "unsent" in line]
        unclear = [line for line in section(run) if "may or may not have happened" in line]
        assert run.status == "cancelled"
        assert len(undone) + len(unclear) >= len(done), f"killed after write {number}: {notes(folder)} {section(run)}"
        assert undone == [line.removeprefix("sent hello to ") for line in reversed(done[: len(undone)])]

    await in_turns(story, range(30, 200, 19))
    assert sum(killed) >= len(killed) - 1


async def test_what_was_done_levels_down_is_undone_once_while_others_work_there(tmp_path: Path) -> None:
    at_work = asyncio.Event()

    async def works(brief: Brief, desk: Desk) -> str:
        at_work.set()
        await asyncio.Event().wait()
        return "never"

    quiet = {"oversight": "on_the_loop"}
    tasks = ("third", "idle: idle <- third")
    low = unit(
        "low", sending(tmp_path, "low"), agent(works, "idle", "idle"), tasks=(), model=sends_once(*tasks), **quiet
    )
    mid = unit("mid", low, tasks=("m: low",))
    tasks_of_run = plan({"id": "a", "role": "mid"})
    async with opened(mid, max_iterations=0) as sup, under_way(sup, tasks_of_run) as running:
        await asyncio.wait_for(at_work.wait(), PATIENCE_S)
        await sup.signal(THREAD, Cancel(rollback=True, by="ana"))

    assert (running.result().status, notes(tmp_path)) == ("cancelled", ["sent hello to third", "low unsent third"])
    assert section(running.result()) == ["- `send_note` (to: third) was undone: taken back from third"]


def sends_to_bob(folder: Path) -> AgentSpec:
    """A nested supervisor whose agent sends one note when it is allowed to, and is not sure of it."""

    def reply(messages: list[BaseMessage], tools: list[str]) -> Step:
        if "PlanDraft" in tools:
            return PlanDraft(tasks=drafts("n"), complexity=0.5)
        if any(isinstance(message, ToolMessage) for message in messages):
            return "It is out.\nConfidence: 0.1"
        return {"name": "send_note", "args": {"to": "bob"}, "id": "c1"}

    ada = AgentSpec(name="ada", role="generalist", tools=[sender(folder)])
    return unit("mid", ada, tasks=(), model=ScriptedModel({lambda _: True: reply}), confidence_threshold=0.0)


async def test_a_nested_supervisor_that_works_again_on_new_inputs_does_not_act_or_ask_twice(tmp_path: Path) -> None:
    reviews: list[Review] = []

    def reply(messages: list[BaseMessage], tools: list[str]) -> Step:
        if "Review" not in tools:
            return "This is it.\nConfidence: 0.9"
        reviews.append(Review(verdicts=[Verdict(task_id="u", accept=bool(reviews), feedback="Say more.")]))
        return reviews[-1]

    bob = AgentSpec(name="bob", role="generalist")
    tasks = plan("u", {"id": "a", "role": "mid", "depends_on": ["u"]})
    model = ScriptedModel({lambda _: True: reply})
    async with opened(bob, sends_to_bob(tmp_path), model=model, confidence_threshold=0.0) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=tasks)
        run = await sup.answer(THREAD, {run.approvals[0].id: True}, by="ana")

    assert (run.status, run.iteration, statuses(run)) == ("complete", 1, {"u": "done", "a": "done"})
    assert notes(tmp_path) == ["sent hello to bob"]


async def test_work_that_is_sent_back_to_a_nested_supervisor_does_not_act_or_ask_twice(tmp_path: Path) -> None:
    async with opened(sends_to_bob(tmp_path), max_iterations=0) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan({"id": "a", "role": "mid"}))
        asked: list[str] = []
        for answer in (True, "no: say more", True):
            asked += [question.action for question in run.approvals]
            run = await sup.answer(THREAD, {run.approvals[0].id: answer}, by="ana")

    assert (run.status, asked) == ("complete", ["send_note", "accept result", "accept result"])
    assert notes(tmp_path) == ["sent hello to bob"]


async def test_what_a_function_did_levels_down_is_done_once_and_undone_with_the_run(tmp_path: Path) -> None:
    async def acts(brief: Brief, desk: Desk) -> str:
        did = await desk.once(
            "send_note", lambda to: note(tmp_path, f"sent hello to {to}"), {"to": "eve"}, undo="unsend"
        )
        return f"{did.status}: {(await desk.ask('go on')).type}"

    low = unit("low", sending(tmp_path, "low"), agent(acts, "eve", "eve"), tasks=("n: eve",), oversight="on_the_loop")
    async with opened(unit("mid", low, tasks=("m: low",)), max_iterations=0) as sup:
        waiting = await sup.start("Q", thread_id=THREAD, plan=plan({"id": "a", "role": "mid"}))
        assert (waiting.status, notes(tmp_path)) == ("waiting", ["sent hello to eve"])
        run = await sup.signal(THREAD, Cancel(rollback=True, by="ana"))

    assert (run.status, notes(tmp_path)) == ("cancelled", ["sent hello to eve", "low unsent eve"])
