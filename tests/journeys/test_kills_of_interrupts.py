"""Killed while a function asks by LangGraph's `interrupt()`: every answer stays with its question."""

import asyncio
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest
from langgraph.types import interrupt

from graph.supervisor import Supervisor
from state.agent import Brief
from state.run import Run
from tests.journeys.doom import THREAD, Doom, Moment, Story, die, die_once, in_another_process, live, note, notes
from tests.journeys.turns import in_turns
from tests.runs import agent, plan

ANSWERS = {"first?": True, "second?": False}


def two_questions(folder: Path) -> Story:
    """A function asks twice, beside one that does not ask."""

    def work(brief: Brief, desk: object) -> str:
        if brief.task.id == "free":
            note(folder, "ran free")
            return "free"
        first = interrupt("first?")
        if (folder / "deadly").exists():
            die_once(folder, "answered")
        return f"{first} {interrupt('second?')}"

    return Story([agent(work)], plan("ask", "free"), {"max_iterations": 0})  # type: ignore[arg-type]


def answers_once(folder: Path) -> None:
    """In a process of its own."""

    async def answer() -> None:
        await live(two_questions, folder, onwards=one_answer)

    asyncio.run(answer())


async def one_answer(sup: Supervisor) -> Run:
    """Go on to the next question, and answer it."""
    run = await sup.resume(THREAD)
    if run.status != "waiting":
        return run
    [question] = run.approvals
    return await sup.answer(THREAD, {question.id: ANSWERS[str(question.args["question"])]}, by="ana")


@pytest.mark.parametrize(
    ("moment", "numbers"), [("before a write", range(6, 60, 7)), ("after a write", range(6, 60, 7))]
)
async def test_questions_are_answered_in_order_whenever_the_process_dies(
    tmp_path: Path, moment: Moment, numbers: Iterable[float]
) -> None:
    killed: list[bool] = []

    async def story(number: float) -> None:
        folder = tmp_path / str(number)
        killed.append(await die(two_questions, folder, Doom(moment, number)))
        first = await live(two_questions, folder)
        assert [question.args for question in first.approvals] == [{"question": "first?"}]
        second = await live(two_questions, folder, onwards=one_answer)
        assert [question.args for question in second.approvals] == [{"question": "second?"}]
        await die(two_questions, folder)  # another process looks, and goes
        run = await live(two_questions, folder, onwards=one_answer)
        assert (run.status, run.tasks[0].result) == ("complete", "True False")
        assert len(notes(folder)) <= 2

    await in_turns(story, numbers)
    assert any(killed)


async def test_an_answer_that_was_taken_by_a_process_that_died_is_not_asked_for_again(tmp_path: Path) -> None:
    await live(two_questions, tmp_path)
    (tmp_path / "deadly").touch()
    assert await in_another_process(answers_once, tmp_path) == -signal.SIGKILL
    second = await live(two_questions, tmp_path)
    assert [question.args for question in second.approvals] == [{"question": "second?"}]
    run = await live(two_questions, tmp_path, onwards=one_answer)

    assert (run.status, run.tasks[0].result) == ("complete", "True False")
