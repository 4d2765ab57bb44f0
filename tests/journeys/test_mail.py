"""Mail changes what agents do: those that are functions, and those that a model drives."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from nodes.llm.scripted import ScriptedModel
from nodes.policy.mail import CAPACITY
from nodes.runtime.desk import Desk
from nodes.runtime.signals import SignalState, read_log
from state.agent import AgentSpec, Brief
from state.signal import Pause, SendMail, refused
from tests.journeys.doom import in_another_process
from tests.journeys.steered import THREAD, Gates, happened, logged, supervisor, tell, under_way
from tests.runs import agent, plan


@pytest.mark.parametrize(
    ("to", "outcome"), [("", "alone"), *((to, "knows it") for to in ("bob", "reader", "b", "all"))]
)
async def test_mail_from_an_agent_half_way_changes_the_outcome_of_another(to: str, outcome: str) -> None:
    half_way, sent = asyncio.Event(), asyncio.Event()

    async def writes(brief: Brief, desk: Desk) -> str:
        await half_way.wait()
        if to:
            assert desk.mail(to, "knows it") == ""
        sent.set()
        return "written"

    async def reads(brief: Brief, desk: Desk) -> str:
        assert desk.inbox() == []
        half_way.set()
        await sent.wait()
        return next((mail.text for mail in desk.inbox()), "alone")

    async with supervisor(agent(writes, "ann"), agent(reads, "bob", "reader")) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "ann"}, {"id": "b", "role": "reader"}))

    assert [task.result for task in run.tasks] == ["written", outcome]


NOBODY = "there is nobody called 'nobody'; give all, a task's id, an agent or a role: ada (generalist)"


async def test_mail_to_nobody_is_refused_to_the_agent_that_sends_it() -> None:
    async def writes(brief: Brief, desk: Desk) -> str:
        return desk.mail("nobody", "hello")

    async with supervisor(agent(writes)) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.tasks[0].result == NOBODY


async def test_mail_from_another_process_reaches_an_agent_at_work(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"

    async def reads(brief: Brief, desk: Desk) -> str:
        while not (found := desk.inbox()):  # noqa: ASYNC110 - agents get no event
            await asyncio.sleep(0.001)
        return f"{found[0].sender}: {found[0].text}"

    async with supervisor(agent(reads), db=db) as sup:
        async with under_way(sup, plan("a")) as running:
            await happened(sup, "task_started")
            assert await in_another_process(tell, db, {"kind": "mail", "by": "ana", "to": "ada", "text": "hurry"}) == 0
        assert running.result().tasks[0].result == "ana: hurry"
        (delivered,) = await happened(sup, "mail_delivered")

    assert (delivered.data["sender"], delivered.data["to"]) == ("ana", ["ada"])


async def test_mail_to_nobody_is_refused_and_logged_where_a_person_sends_it() -> None:
    work = Gates("a")
    async with supervisor(agent(work)) as sup:
        async with under_way(sup, plan("a")):
            await work.all_came()
            await sup._runs.signal(THREAD, SendMail(to="nobody", text="hello"))
            await logged(sup, 1)
            work.open()
        (handled,) = await read_log(sup.graph.store, THREAD)

    assert handled.outcome == refused(NOBODY)


async def test_mail_sent_while_paused_is_there_when_the_run_goes_on() -> None:
    work = Gates("a")
    async with supervisor(agent(work)) as sup:
        async with under_way(sup, plan("a")):
            await work.all_came()
            await sup.signal(THREAD, Pause())
        assert (await sup.signal(THREAD, SendMail(to="ada", text="good morning"))).status == "paused"
        work.open()
        run = await sup.resume(THREAD)

    assert run.tasks[0].result == "a: good morning"


class Looking:
    """A tool that says when it is called, and waits to be let go on; `agent` has it."""

    def __init__(self, free: int = 0) -> None:
        self.came, self.go = asyncio.Semaphore(0), asyncio.Semaphore(free)

    @property
    def agent(self) -> AgentSpec:
        @tool
        async def look() -> str:
            """Look."""
            self.came.release()
            await self.go.acquire()
            return "seen"

        return AgentSpec(name="ada", role="generalist", tools=[look])


LOOK_AT_SIGNALS = {"name": "look", "args": {}, "id": "c1"}


async def test_mail_reaches_the_very_next_model_call_and_no_other() -> None:
    look = Looking()
    model = ScriptedModel([LOOK_AT_SIGNALS, {**LOOK_AT_SIGNALS, "id": "c2"}, "Done."])
    async with supervisor(look.agent, model=model, max_iterations=0) as sup, under_way(sup, plan("a")):
        await look.came.acquire()
        await sup.signal(THREAD, SendMail(to="ada", text="the price is 12"))
        await happened(sup, "mail_delivered")
        look.go.release()
        await look.came.acquire()
        look.go.release()

    assert [texts(call.messages).count("the price is 12") for call in model.calls] == [0, 1, 1]


async def test_mail_between_a_failed_model_call_and_the_next_try_is_read() -> None:
    model = ScriptedModel([LOOK_AT_SIGNALS, ConnectionError("gone"), "Done."])
    async with supervisor(Looking(free=1).agent, model=model, max_iterations=0) as sup, under_way(sup, plan("a")):
        await happened(sup, "task_retried")
        await sup.signal(THREAD, SendMail(to="ada", text="the price is 12"))

    assert [texts(call.messages).count("the price is 12") for call in model.calls] == [0, 0, 1]


async def test_mail_before_the_first_model_call_succeeded_is_read_too() -> None:
    model = ScriptedModel([ConnectionError("gone"), "Done."])
    async with supervisor(Looking().agent, model=model, max_iterations=0) as sup, under_way(sup, plan("a")):
        await happened(sup, "task_retried")
        await sup.signal(THREAD, SendMail(to="ada", text="the price is 12"))

    assert [texts(call.messages).count("the price is 12") for call in model.calls] == [0, 1]


async def test_mail_is_not_read_a_second_time_after_a_pause() -> None:
    look = Looking()
    model = ScriptedModel([LOOK_AT_SIGNALS, {**LOOK_AT_SIGNALS, "id": "c2"}, "Done."])
    async with supervisor(look.agent, model=model, max_iterations=0) as sup:
        async with under_way(sup, plan("a")):
            await look.came.acquire()
            await sup.signal(THREAD, SendMail(to="ada", text="the price is 12"))
            await happened(sup, "mail_delivered")
            look.go.release()
            await look.came.acquire()
            await sup.signal(THREAD, Pause())
            await happened(sup, "control_changed")
            look.go.release()
        await sup.resume(THREAD)

    assert [texts(call.messages).count("the price is 12") for call in model.calls] == [0, 1, 1]


async def test_ten_thousand_messages_to_one_agent_are_bounded_counted_and_block_nobody() -> None:
    asleep = asyncio.Event()
    late: list[float] = []

    async def floods(brief: Brief, desk: Desk) -> str:
        loop = asyncio.get_running_loop()
        for number in range(10_000):
            before = loop.time()
            assert desk.mail("bob", f"message {number}") == ""
            late.append(loop.time() - before)
        asleep.set()
        return "sent"

    async def sleeps(brief: Brief, desk: Desk) -> str:
        await asleep.wait()
        return desk.inbox()[-1].text

    async with supervisor(agent(floods, "ann"), agent(sleeps, "bob", "sleeper")) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan({"id": "a", "role": "ann"}, {"id": "b", "role": "bob"}))
        steering = SignalState(sup.graph.store, THREAD)
        await steering.load()
        box = steering.mail("bob")

    assert run.tasks[1].result == "message 9999"
    assert (box.received, len(box.messages) + box.lost) == (10_000, 10_000)
    assert len(box.messages) <= CAPACITY
    assert sum(late) < 5


def texts(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(str(message.text) for message in messages)


class Counted(TypedDict):
    """The state of a graph that keeps no conversation."""

    query: str
    result: str


async def test_a_compiled_graph_finds_mail_between_two_of_its_nodes_and_keeps_it() -> None:
    look = Looking()
    model = ScriptedModel([LOOK_AT_SIGNALS, {**LOOK_AT_SIGNALS, "id": "c2"}, "Done."])
    graph = AgentSpec(name="ada", role="generalist", run=create_agent(model, look.agent.tools))
    async with supervisor(graph) as sup:
        async with under_way(sup, plan("a")) as running:
            await look.came.acquire()
            await sup.signal(THREAD, SendMail(to="ada", text="the price is 12"))
            await happened(sup, "mail_delivered")
            look.go.release()
            await look.came.acquire()
            look.go.release()
        unread = {member.agent: member.unread for member in await sup.team(THREAD)}

    assert running.result().tasks[0].result == "Done."
    assert [texts(call.messages).count("the price is 12") for call in model.calls] == [0, 1, 1]
    kinds = ["human", "ai", "tool", "human", "ai", "tool"]
    assert [message.type for message in model.calls[2].messages] == kinds
    assert unread == {"ada": 0}


async def test_mail_to_a_graph_that_keeps_no_conversation_stays_unread() -> None:
    came, go = asyncio.Event(), asyncio.Event()

    async def first(state: Counted) -> dict[str, str]:
        came.set()
        await go.wait()
        return {"result": "half"}

    async def second(state: Counted) -> dict[str, str]:
        return {"result": "whole"}

    async def writes(brief: Brief, desk: Desk) -> str:
        await came.wait()
        desk.mail("ada", "Use last year's.")
        go.set()
        return "written"

    steps = StateGraph(Counted).add_sequence([first, second]).add_edge(START, "first").compile()
    graph = AgentSpec(name="ada", role="ada", run=steps)
    async with supervisor(graph, agent(writes, "bob", "bob")) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan({"id": "a", "role": "ada"}, {"id": "b", "role": "bob"}))
        unread = {member.agent: member.unread for member in await sup.team(THREAD)}

    assert run.tasks[0].result == "whole"
    assert unread == {"ada": 1, "bob": 0}
