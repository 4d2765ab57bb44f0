"""What agents do to the outside world is done once, whatever dies; where nobody can know, a human is asked."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage
from pydantic import JsonValue

from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel, Step
from state.agent import AgentSpec
from state.replies import Review, Verdict
from state.run import Run
from tests.journeys import acts
from tests.journeys.doom import THREAD, Doom, Telling, die, live, notes
from tests.journeys.turns import LENGTH, chosen, in_turns, thinned
from tests.runs import opened, plan

SENT = ["sent hello to bob"]
PRESUMED = "ana says this is not to be done again, it may have been done already"


def answering(*answers: str) -> Callable[[Supervisor], Awaitable[Run]]:
    async def onwards(sup: Supervisor) -> Run:
        run = await sup.resume(THREAD)
        for answer in answers:
            assert [approval.reason for approval in run.approvals] == [
                "it may have happened: the work broke off while it was done"
            ]
            run = await sup.answer(THREAD, {run.approvals[0].id: answer}, by="ana")
        return run

    return onwards


@pytest.mark.parametrize(
    ("telling", "answer", "log", "result"),
    [
        (acts.dies_after_sending, "reject: it is out", SENT, f"It said: {PRESUMED}: it is out; go on"),
        (acts.dies_after_sending, "approve", SENT * 2, "It said: sent to bob"),
        (acts.dies_before_sending, "approve", SENT, "It said: sent to bob"),
        (acts.agent_dies_after_sending, "reject: it is out", SENT, f"It said: {PRESUMED}: it is out; go on"),
        (acts.agent_dies_after_sending, "approve", SENT * 2, "It said: sent to bob"),
        (acts.agent_dies_before_sending, "approve", SENT, "It said: sent to bob"),
        (acts.function_dies_after_sending, "reject: it is out", SENT, f"presumed: {PRESUMED}: it is out; go on"),
        (acts.function_dies_after_sending, "approve", SENT * 2, "done: {'told': 'bob'}"),
        (acts.function_dies_before_sending, "approve", SENT, "done: {'told': 'bob'}"),
    ],
)
async def test_an_action_that_may_have_happened_is_repeated_only_if_a_human_says_so(
    tmp_path: Path, telling: Telling, answer: str, log: list[str], result: str
) -> None:
    assert await die(telling, tmp_path)
    before = notes(tmp_path)
    run = await live(telling, tmp_path, onwards=answering())
    assert (run.status, notes(tmp_path)) == ("waiting", before)
    run = await live(telling, tmp_path, onwards=answering(answer))

    assert (run.status, run.tasks[0].result) == ("complete", result)
    assert notes(tmp_path) == log


@pytest.mark.parametrize(
    "telling", [acts.dies_before_sending, acts.agent_dies_before_sending, acts.function_dies_before_sending]
)
async def test_an_edited_repeat_is_done_with_the_new_arguments(tmp_path: Path, telling: Telling) -> None:
    async def edited(sup: Supervisor) -> Run:
        run = await sup.resume(THREAD)
        edit: JsonValue = {"type": "edit", "args": {"to": "eve"}}
        return await sup.answer(THREAD, {run.approvals[0].id: edit}, by="ana")

    assert await die(telling, tmp_path)
    run = await live(telling, tmp_path, onwards=edited)
    assert (run.status, notes(tmp_path)) == ("complete", ["sent hello to eve"])


async def test_what_a_function_did_and_put_on_record_is_not_done_again_when_the_function_is(tmp_path: Path) -> None:
    assert await die(acts.function_dies_later, tmp_path)
    run = await live(acts.function_dies_later, tmp_path)

    assert (run.status, run.tasks[0].result) == ("complete", "done: {'told': 'bob'}")
    assert notes(tmp_path) == SENT


@pytest.mark.parametrize(
    ("telling", "writes"),
    thinned(
        [
            (acts.sends_unasked, range(9, 61, 2)),
            (acts.agent_sends_unasked, range(9, 41, 2)),
            (acts.function_sends_unasked, range(12, 24)),
        ]
    ),
    ids=["by a tool", "by a tool of create_agent", "by a function"],
)
async def test_killed_between_any_two_writes_an_action_is_done_once_or_asked_about(
    tmp_path: Path, telling: Telling, writes: range
) -> None:
    killed: list[bool] = []
    doubts: list[Doom] = []

    async def story(doom: Doom) -> None:
        async def through(sup: Supervisor) -> Run:
            run = await sup.resume(THREAD)
            if run.status == "waiting":
                doubts.append(doom)
                run = await sup.answer(THREAD, {run.approvals[0].id: "approve"}, by="ana")
            return run

        folder = tmp_path / f"{doom.moment} {doom.number}"
        killed.append(await die(telling, folder, doom))
        run = await live(telling, folder, onwards=through)
        assert run.status == "complete"
        assert len(notes(folder)) == 1 or doom in doubts, f"killed {doom.moment} {doom.number}: {notes(folder)}"

    about_to_act, recorded = Doom("after an effect's row", 1), Doom("after an effect's row", 2)
    await in_turns(
        story, [about_to_act, recorded, *(Doom("after a write", n) for n in chosen(writes, LENGTH or "short"))], "short"
    )
    assert sum(killed) >= 8
    assert about_to_act in doubts
    assert recorded not in doubts


@pytest.mark.parametrize(
    "telling", [acts.sends_when_asked, acts.agent_sends_when_asked, acts.function_sends_when_asked]
)
async def test_an_approved_action_is_done_once_whenever_the_process_dies(tmp_path: Path, telling: Telling) -> None:
    async def through(sup: Supervisor) -> Run:
        run = await sup.resume(THREAD)
        while run.status == "waiting":
            run = await sup.answer(THREAD, {run.approvals[0].id: "approve"}, by="ana")
        return run

    async def story(number: int) -> None:
        folder = tmp_path / str(number)
        await die(telling, folder, Doom("after a write", number))
        run = await live(telling, folder, onwards=through)
        assert (run.status, notes(folder)) == ("complete", SENT)

    await in_turns(story, range(8, 30, 4))


async def test_work_that_is_sent_back_does_not_act_twice(tmp_path: Path) -> None:
    reviews: list[Review] = []

    def reply(messages: list[BaseMessage], tools: list[str]) -> Step:
        if "Review" in tools:
            reviews.append(Review(verdicts=[Verdict(task_id="a", accept=bool(reviews), feedback="Say more.")]))
            return reviews[-1]
        return acts.sends(messages, tools)

    worker = AgentSpec(name="ada", role="generalist", tools=[acts.sender(tmp_path)])
    async with opened(worker, model=ScriptedModel({lambda text: True: reply})) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        run = await sup.answer(THREAD, {run.approvals[0].id: True}, by="ana")

    assert (run.status, run.iteration, run.tasks[0].result) == ("complete", 1, "It said: sent to bob")
    assert notes(tmp_path) == SENT


async def test_a_try_that_failed_after_acting_does_not_act_again(tmp_path: Path) -> None:
    answers = iter(["FAILED: the line dropped", "It is out.", "It is out."])

    def reply(messages: list[BaseMessage], tools: list[str]) -> Step:
        said = acts.sends(messages, tools)
        return said if isinstance(said, dict) else next(answers)

    worker = AgentSpec(name="ada", role="generalist", tools=[acts.sender(tmp_path)])
    model = ScriptedModel({lambda text: True: reply})
    async with opened(worker, model=model, max_iterations=0, oversight="on_the_loop") as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    assert (run.status, run.tasks[0].attempts, run.tasks[0].result) == ("complete", 2, "It is out.")
    assert notes(tmp_path) == SENT
