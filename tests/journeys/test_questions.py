"""Three questions are open at once: answered in any order and in each dialect, and nothing is done twice."""

import asyncio
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.types import Command
from pydantic import JsonValue

from graph.runs import config
from graph.steering import resume_with
from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel, Step
from state.agent import AgentSpec
from state.approval import Decision
from state.errors import BadInput
from state.run import Run
from tests.journeys.acts import waits_beside_work
from tests.journeys.doom import THREAD, in_another_process, live, notes
from tests.journeys.doom import opened as telling_opened
from tests.journeys.processes import answer_it, run_it
from tests.runs import opened, plan, statuses

ASKERS = ("a", "b", "c")
PLAN = plan(*ASKERS, "free", "late <- free", "after <- a b c late")
AT_MOST_S = 5.0
"""From an answer to its effect, on a machine with other things to do; `benchmarks/unpark.py` holds it to 0.25."""
EDIT = {"what": "b", "count": 5}


def shop(ordered: list[str]) -> BaseTool:
    @tool
    async def send_order(what: str, count: int) -> str:
        """Order something."""
        ordered.append(f"{count} {what}")
        return f"ordered {count} of {what}"

    return send_order


def buyer(thoughts: list[str]) -> ScriptedModel:
    """Tasks a, b and c order one thing each and say what came of it; the others just answer."""

    def reply(messages: list[BaseMessage], tools: list[str]) -> Step:
        name = str(messages[1].text).split('<task id="')[1].split('"')[0]
        thoughts.append(name)
        shown = [call["args"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
        said = [str(message.text) for message in messages if isinstance(message, ToolMessage)]
        if name in ASKERS and not said:
            return {"name": "send_order", "args": {"what": name, "count": 1}, "id": "same-for-all"}
        return f"{name}: {json.dumps(shown)} {said[-1]}" if said else f"{name} is done"

    return ScriptedModel({lambda text: True: reply})


class Shop:
    """A run with three questions open, and what it did."""

    def __init__(self) -> None:
        self.ordered: list[str] = []
        self.thoughts: list[str] = []

    def opened(self) -> Any:
        worker = AgentSpec(name="ada", role="generalist", tools=[shop(self.ordered)])
        return opened(worker, model=buyer(self.thoughts), max_iterations=0)

    async def started(self, sup: Supervisor) -> Run:
        run = await sup.start("Q", thread_id="t", plan=PLAN)
        assert statuses(run) == {
            **dict.fromkeys(ASKERS, "parked"), "free": "done", "late": "done", "after": "pending"
        }  # fmt: skip
        assert self.ordered == []
        return run


def ids(run: Run) -> dict[str, str]:
    return {approval.task_id: approval.id for approval in run.approvals}


def chat(_: dict[str, str]) -> list[Any]:
    edit = {"type": "edit", "edited_action": {"name": "send_order", "args": EDIT}}
    return [{"decisions": [{"type": "approve"}, edit, {"type": "reject", "message": "too dear"}]}]


def chat_one_after_the_other(asked: dict[str, str]) -> list[Any]:
    return [{"decisions": [decision]} for decision in chat(asked)[0]["decisions"]]


def inbox(_: dict[str, str]) -> list[Any]:
    form = {"action": "send_order", "args": {"what": "b", "count": "5"}}
    return [
        [{"type": "accept", "args": None}],
        [{"type": "edit", "args": form}],
        [{"type": "response", "args": "too dear"}],
    ]


def typed(asked: dict[str, str]) -> list[Any]:
    told = {asked["a"]: "yes", asked["b"]: {"type": "edit", "args": EDIT}, asked["c"]: "no: too dear"}
    return [json.dumps(told)]


def keyed(asked: dict[str, str]) -> list[Any]:
    return [{asked["c"]: "reject too dear"}, {asked["a"]: True, asked["b"]: {"type": "edit", "args": EDIT}}]


@pytest.mark.parametrize("dialect", [chat, chat_one_after_the_other, inbox, typed, keyed])
async def test_each_dialect_is_understood_by_the_graph_itself(dialect: Any) -> None:
    told = Shop()
    async with told.opened() as sup:
        waiting = await told.started(sup)
        assert [approval.task_id for approval in waiting.approvals] == list(ASKERS)
        for answer in dialect(ids(waiting)):
            await sup.graph.ainvoke(Command(resume=answer), config("t"))
        run = await sup.view("t")

    assert run.status == "complete"
    assert sorted(told.ordered) == ["1 a", "5 b"]
    results = {task.id: str(task.result) for task in run.tasks}
    assert results["b"] == 'b: [{"what": "b", "count": 5}] ordered 5 of b'
    assert "did not allow this: too dear" in results["c"]
    assert {name: told.thoughts.count(name) for name in told.thoughts} == {
        "a": 2, "b": 2, "c": 2, "free": 1, "late": 1, "after": 1
    }  # fmt: skip


@pytest.mark.parametrize("order", list(permutations(ASKERS)))
async def test_questions_are_answered_one_by_one_in_any_order(order: tuple[str, ...]) -> None:
    told = Shop()
    async with told.opened() as sup:
        asked = ids(await told.started(sup))
        for number, name in enumerate(order):
            run = await sup.answer("t", {asked[name]: True})
            assert len(run.approvals) == 2 - number

    assert (run.status, told.ordered) == ("complete", [f"1 {name}" for name in order])


@pytest.mark.parametrize("answer", ["yes", True, {"decisions": [{"type": "approve"}] * 3}])
async def test_one_yes_is_for_all_of_them(answer: Any) -> None:
    told = Shop()
    async with told.opened() as sup:
        await told.started(sup)
        await sup.graph.ainvoke(Command(resume=answer), config("t"))
        run = await sup.view("t")

    assert (run.status, sorted(told.ordered)) == ("complete", ["1 a", "1 b", "1 c"])


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"what": "b", "count": 1, "colour": "red"}, "'colour' was unexpected"),
        ({"what": "b", "count": "many"}, "count: 'many' is not of type 'integer'"),
        ({}, "they are empty; give those that change"),
    ],
)
async def test_an_edit_that_the_tool_cannot_take_leaves_the_question_open_and_says_why(
    args: dict[str, Any], problem: str
) -> None:
    told = Shop()
    async with told.opened() as sup:
        waiting = await told.started(sup)
        edit: JsonValue = {ids(waiting)["b"]: {"type": "edit", "args": args}}
        with pytest.raises(BadInput, match=problem):
            await sup.answer("t", edit)
        again = await sup.graph.ainvoke(Command(resume=edit), config("t"))
        assert problem in again["__interrupt__"][0].value["error"]
        assert ids(await sup.view("t")) == ids(waiting)

    assert told.ordered == []


async def test_the_second_answer_to_a_question_is_told_that_it_came_second() -> None:
    told = Shop()
    async with told.opened() as sup:
        asked = ids(await told.started(sup))
        await sup.answer("t", {asked["a"]: True}, by="ana")
        with pytest.raises(BadInput, match=r"answered .*before: ana said approve"):
            await sup.answer("t", {asked["a"]: False}, by="bob")
        run = await sup.view("t")

    assert (told.ordered, len(run.approvals)) == (["1 a"], 2)


async def test_of_two_answers_at_once_the_first_counts_and_the_second_is_told() -> None:
    told = Shop()
    async with told.opened() as sup:
        asked = ids(await told.started(sup))
        said = await asyncio.gather(
            *(sup.answer("t", {asked["a"]: answer}, by=who) for who, answer in (("ana", True), ("bob", False))),
            return_exceptions=True,
        )
        run = await sup.view("t")

    late = [one for one in said if isinstance(one, BadInput)]
    assert (len(late), len(run.approvals), len(told.ordered)) == (1, 2, 1 if "ana" in str(late[0]) else 0)


async def test_an_answer_from_another_process_is_taken_up_while_the_run_goes_on(tmp_path: Path) -> None:
    running = asyncio.create_task(in_another_process(run_it, waits_beside_work, tmp_path))
    assert await in_another_process(answer_it, waits_beside_work, tmp_path, "ana", "approve") == 0
    assert await running == 0
    run = await live(waits_beside_work, tmp_path, onwards=lambda sup: sup.view(THREAD))

    assert run.status == "complete"
    assert {task.id: task.result for task in run.tasks} == {"asker": "approve by ana", "busy": "saw it"}
    lines = [line.split(" at ") for line in notes(tmp_path)]
    assert [line[0] for line in lines] == ["ana sees it running", "answered", "unparked"]
    assert float(lines[2][1]) - float(lines[1][1]) < AT_MOST_S


async def test_of_two_processes_that_answer_one_is_told_that_it_came_second(tmp_path: Path) -> None:
    running = asyncio.create_task(in_another_process(run_it, waits_beside_work, tmp_path))
    both = ("ana", "bob")
    answers = [in_another_process(answer_it, waits_beside_work, tmp_path, who, "approve", len(both)) for who in both]
    assert await asyncio.gather(*answers) == [0, 0]
    assert await running == 0

    late = [line for line in notes(tmp_path) if "is told" in line]
    async with telling_opened(waits_beside_work(tmp_path), tmp_path) as sup:
        run = await sup.view(THREAD)
    assert len(late) == 1
    assert "before" in late[0]
    assert run.tasks[0].result == f"approve by {'bob' if late[0].startswith('ana') else 'ana'}"


async def test_an_answer_that_was_overtaken_before_it_got_the_lease_changes_nothing() -> None:
    told = Shop()
    async with told.opened() as sup:
        asked = ids(await told.started(sup))
        late = {asked["a"]: Decision(type="reject", by="bob")}
        await sup.answer("t", {asked["a"]: True}, by="ana")
        with pytest.raises(BadInput, match="ana said approve"):
            await resume_with(sup._runs, "t", late, None)
        run = await sup.view("t")

    assert (told.ordered, len(run.approvals)) == (["1 a"], 2)
