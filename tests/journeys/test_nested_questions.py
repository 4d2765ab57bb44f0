"""A question levels down is a question of the run: seen, answered and recorded there, once, whatever else goes on."""

import asyncio
import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command
from pydantic import JsonValue

from graph.cli import main
from graph.runs import config
from nodes.runtime.desk import Desk
from nodes.runtime.signals import read_log
from state.agent import Brief
from state.approval import Decision
from state.errors import BadInput
from state.signal import APPLIED, Decide, refused
from tests.journeys.below import IDS, PATHS, PLAN, Levels, Postbox, once, recorded, unit, until_asked
from tests.journeys.doom import THREAD, in_another_process, live, notes
from tests.journeys.doom import opened as story_opened
from tests.journeys.nested_stories import ASKED, asks_below_beside_work
from tests.journeys.processes import answer_by_command, answer_it, run_it, until_it_asks
from tests.journeys.steered import happened, logged, under_way
from tests.journeys.turns import in_turns, thinned
from tests.runs import agent, opened, plan

AT_MOST_S = 5.0
"""From an answer to its effect, on a machine with other things to do; `benchmarks/unpark.py` holds it to 0.25."""


async def test_another_process_sees_it_and_answers_it_while_others_work_on_every_level(tmp_path: Path) -> None:
    running = asyncio.create_task(in_another_process(run_it, asks_below_beside_work, tmp_path))
    assert await in_another_process(answer_it, asks_below_beside_work, tmp_path, "ana", "approve") == 0
    assert await running == 0
    run = await live(asks_below_beside_work, tmp_path, onwards=lambda sup: sup.view(THREAD))

    assert run.status == "complete"
    assert "approve by ana" in str(run.tasks[0].result)
    assert (str(run.tasks[0].result).count("saw it"), run.tasks[1].result) == (2, "saw it")
    lines = [line.split(" at ") for line in notes(tmp_path) if " at " in line or "sees" in line]
    assert [line[0] for line in lines] == ["ana sees it running", "answered", "unparked"]
    assert float(lines[2][1]) - float(lines[1][1]) < AT_MOST_S


async def test_of_two_processes_that_answer_it_at_once_one_is_told_that_it_came_second(tmp_path: Path) -> None:
    running = asyncio.create_task(in_another_process(run_it, asks_below_beside_work, tmp_path))
    people = {"ana": "approve", "bob": "reject"}
    async with story_opened(asks_below_beside_work(tmp_path), tmp_path) as sup:
        await until_asked(sup, ASKED)
    answers = [
        asyncio.create_task(in_another_process(answer_by_command, tmp_path, ASKED, decision, by))
        for by, decision in people.items()
    ]
    while sum(line.endswith("is ready") for line in notes(tmp_path)) < len(people):  # noqa: ASYNC110 - others write them
        await asyncio.sleep(0.005)
    (tmp_path / "go").touch()
    assert [*await asyncio.gather(*answers), await running] == [0, 0, 0]
    run = await live(asks_below_beside_work, tmp_path, onwards=lambda sup: sup.view(THREAD))

    said = [json.loads(line) for line in notes(tmp_path) if line.startswith("{")]
    [late] = [one for one in said if one["code"] == 2]
    [first] = [one for one in said if one["code"] != 2]
    told = f"{ASKED} was answered before: {first['by']} said {people[first['by']]}; the first answer stands"
    assert late["lines"] == [f"baton: {told}"]
    assert f"{people[first['by']]} by {first['by']}" in str(run.tasks[0].result)


async def test_the_command_line_shows_answers_and_verifies_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ("--db", str(tmp_path / "runs.db"))

    def baton(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main([*words, *db])
        return code, capsys.readouterr().out

    running = asyncio.create_task(in_another_process(run_it, asks_below_beside_work, tmp_path))
    said = ""
    while ASKED not in said or '"expires_at": null' in said:  # on the board a moment before it is on record
        await asyncio.sleep(0.02)
        code, said = await asyncio.to_thread(baton, "inbox", "--json")
    [question] = json.loads(said)
    assert (question["path"], question["expires_at"] > question["asked_at"]) == (["mid", "low", "ada"], True)
    await asyncio.to_thread(baton, "answer", THREAD, ASKED, "approve", "--by", "ana")
    assert await running == 0

    code, said = await asyncio.to_thread(baton, "log", THREAD, "--approvals", "--verify", "--json")
    entries = [json.loads(line) for line in said.splitlines()]
    assert code == 0
    assert [(e["kind"], e["approval"], e["by"], e["door"], e["path"]) for e in entries] == [
        ("requested", ASKED, "", "", ["mid", "low", "ada"]),
        ("answered", ASKED, "ana", "command line", ["mid", "low", "ada"]),
    ]


@pytest.mark.parametrize("early", [0, 1, 2, 3])
@pytest.mark.parametrize("order", thinned((order,) for order in permutations(IDS)))
async def test_questions_of_all_levels_are_answered_in_any_order_before_and_after_the_run_waits(
    order: tuple[str, ...], early: int
) -> None:
    levels, postbox = Levels(), Postbox()
    async with opened(*levels.team, notifier=postbox, max_iterations=0) as sup:
        async with under_way(sup, PLAN) as running:
            for number, task in enumerate(order[:early]):
                await until_asked(sup, *(IDS[name] for name in order[number:]))
                run = await sup.answer(THREAD, {IDS[task]: True}, by=task)
                assert run.status == "running"
                await levels.until_done(task)
            await until_asked(sup, *(IDS[name] for name in order[early:]))
            levels.let_go.set()
        run = running.result()
        for number, task in enumerate(order[early:], early):
            assert (run.status, {asked.id for asked in run.approvals}) == ("waiting", {IDS[n] for n in order[number:]})
            run = await sup.answer(THREAD, {IDS[task]: True}, by=task)
        records = await recorded(sup)
        paths = {str(e.data["id"]): e.path for e in await sup.events(THREAD) if e.kind == "approval_answered"}

    assert (run.status, tuple(levels.did)) == ("complete", order)
    assert levels.said == {task: f"approve by {task}" for task in IDS}
    assert sorted(levels.began) == sorted([*IDS, *IDS, "idle", "busy"])  # each begins, and goes on in place
    assert records == {IDS[task]: once(task) for task in IDS}
    assert paths == {IDS[task]: PATHS[task] for task in IDS}
    assert sorted(postbox.told) == [f"Baton asks: Send {t}? (medium risk, thread {THREAD})" for t in sorted(IDS)]


def by_position(asked: list[str]) -> JsonValue:
    edit: JsonValue = {"type": "edit", "edited_action": {"name": "send two", "args": {"to": "bob"}}}
    said: dict[str, JsonValue] = {"two": edit, "one": {"type": "approve"}, "top": {"type": "reject", "message": "no"}}
    return {"decisions": [said[next(task for task, name in IDS.items() if name == one)] for one in asked]}


def typed(_: list[str]) -> JsonValue:
    told = {IDS["one"]: "yes", IDS["two"]: {"type": "edit", "args": {"to": "bob"}}, IDS["top"]: "no: no"}
    return json.dumps(told)


def forms(_: list[str]) -> JsonValue:
    edit: JsonValue = {"type": "edit", "args": {"action": "send two", "args": {"to": "bob"}}}
    return {IDS["one"]: {"type": "accept", "args": None}, IDS["two"]: edit, IDS["top"]: {"type": "response"}}


@pytest.mark.parametrize("dialect", [by_position, typed, forms])
async def test_each_dialect_answers_it_while_others_work(dialect: Any) -> None:
    levels = Levels()
    async with opened(*levels.team, max_iterations=0) as sup:
        async with under_way(sup, PLAN):
            run = await until_asked(sup, *IDS.values())
            await sup.answer(THREAD, dialect([asked.id for asked in run.approvals]), by="ana")
            await levels.until_done(*IDS)
            levels.let_go.set()
        entries, _ = await sup.audit(THREAD)

    assert levels.said == {"one": "approve by ana", "two": "edit by ana", "top": "reject by ana"}
    [edited] = [entry for entry in entries if entry.decision == "edit"]
    assert (edited.approval, edited.args, edited.args_after) == (IDS["two"], {"to": "two"}, {"to": "bob"})


@pytest.mark.parametrize("dialect", [by_position, typed, forms])
async def test_each_dialect_answers_it_by_the_graph_itself_when_the_run_waits(dialect: Any) -> None:
    levels = Levels()
    levels.let_go.set()
    async with opened(*levels.team, max_iterations=0) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=PLAN)
        await sup.graph.ainvoke(Command(resume=dialect([asked.id for asked in run.approvals])), config(THREAD))
        records = await recorded(sup)

    assert levels.said == {"one": "approve by human", "two": "edit by human", "top": "reject by human"}
    said = {"one": "approve", "two": "edit", "top": "reject"}
    assert records == {IDS[task]: once("human", said[task]) for task in IDS}


async def test_whoever_comes_second_is_told_who_said_what_while_others_work_and_when_the_run_waits() -> None:
    levels, first = Levels(), f"{re.escape(IDS['two'])} was answered before: ana said approve"
    async with opened(*levels.team, max_iterations=0) as sup:
        async with under_way(sup, PLAN):
            await until_asked(sup, *IDS.values())
            await sup.answer(THREAD, {IDS["two"]: True}, by="ana")
            with pytest.raises(BadInput, match=first):
                await sup.answer(THREAD, {IDS["two"]: False}, by="bob")
            late = Decide(approval=IDS["two"], decision=Decision(type="reject", by="cyd"))
            with pytest.raises(BadInput, match=first):
                await sup.signal(THREAD, late)
            await logged(sup, 2)
            levels.let_go.set()
        with pytest.raises(BadInput, match=first):
            await sup.answer(THREAD, {IDS["two"]: False}, by="bob")
        assert sup.graph.store is not None
        log = [handled.outcome for handled in await read_log(sup.graph.store, THREAD)]
        records = await recorded(sup)

    assert log == [APPLIED, refused(f"{IDS['two']} was answered before: ana said approve; the first answer stands")]
    assert (levels.said, records[IDS["two"]]) == ({"two": "approve by ana"}, once("ana"))


@pytest.mark.parametrize("early", [True, False])
async def test_one_who_was_delegated_to_is_a_nested_supervisor_whose_question_is_answered(early: bool) -> None:
    levels = Levels()
    low = unit("low", agent(levels.work), tasks=("two", "idle"))

    async def leads(brief: Brief, desk: Desk) -> str:
        return f"low says: {await desk.delegate('low', 'Go.')}"

    lead = agent(leads, "lead", "lead", workers=["low"])
    async with opened(lead, low, max_iterations=0) as sup:
        async with under_way(sup, plan({"id": "a", "role": "lead"})) as running:
            [asked] = [one.id for one in (await until_it_asks(sup)).approvals]
            if early:
                await sup.answer(THREAD, {asked: True}, by="ana")
            levels.let_go.set()
        run = running.result() if early else await sup.answer(THREAD, {asked: True}, by="ana")
        records = await recorded(sup)

    assert (run.status, str(run.tasks[0].result).startswith("low says: ")) == ("complete", True)
    assert (levels.began.count("two"), levels.began.count("idle"), records) == (2, 1, {asked: once("ana")})


async def test_an_answer_that_comes_at_the_very_moment_it_comes_to_rest_is_taken_up_while_others_work() -> None:
    async def story(delay: float) -> None:
        levels = Levels()
        ada = agent(levels.work)
        mid = unit("mid", unit("low", ada, tasks=("two", "top")), ada, tasks=("m: low", "one"))
        names = ["a.0.mid/m.0.low/two.0.q1", "a.0.mid/m.0.low/top.0.q1", "a.0.mid/one.0.q1"]
        async with opened(mid, agent(levels.work, "busy", "busy"), db=f"{delay}.db", max_iterations=0) as sup:
            async with under_way(sup, plan({"id": "a", "role": "mid"}, {"id": "busy", "role": "busy"})):
                await happened(sup, "approval_requested", times=3)
                await asyncio.sleep(delay)
                for number, name in enumerate(names):
                    await sup.signal(THREAD, Decide(approval=name, decision=Decision(type="approve", by="ana")))
                    await levels.until_done(*("two", "top", "one")[: number + 1])
                    await asyncio.sleep(delay)
                levels.let_go.set()
            assert await recorded(sup) == {name: once("ana") for name in names}

    await in_turns(story, [number / 150 for number in range(12)])
