"""The listener applies what waits: in order, each once, effect and log together; and refuses what may not be."""

import asyncio
from collections.abc import Iterable
from typing import get_args

import pytest
from langgraph.store.base import Op, PutOp, Result
from langgraph.store.memory import InMemoryStore
from pydantic import JsonValue

from nodes.runtime import listener
from nodes.runtime.execution import ExecutionContext
from nodes.runtime.rows import read_all, space
from nodes.runtime.signals import SignalState, read_log, send, waiting
from state.agent import Mail
from state.approval import Approval, Decision
from state.record import Outcome, TaskRecord
from state.signal import (
    APPLIED,
    Cancel,
    Decide,
    HandBack,
    Held,
    Pause,
    Recruit,
    Resume,
    Retire,
    SendMail,
    Signal,
    SignalOutcome,
    Takeover,
    refused,
)
from tests.builders import make_outcome, make_record
from tests.nodes.runtime.executions import THREAD, events, make_floor


async def handle(execution: ExecutionContext, *signals: Signal) -> list[SignalOutcome]:
    """What came of each."""
    for number, signal in enumerate(signals):
        key = f"{len(await read_log(execution.run.store, THREAD)):03d}-{number}"
        await execution.run.store.aput(space("signals", THREAD), key, signal.model_dump(mode="json"))
    await execution.listener.look()
    assert await waiting(execution.run.store, THREAD) == []
    return [handled.outcome for handled in await read_log(execution.run.store, THREAD)]


EVERY_SIGNAL: list[Signal] = [
    SendMail(to="ada", text="hello"),
    Recruit(role="helper", task="more"),
    Retire(agent="bob"),
    Decide(approval="q", decision=Decision(type="approve")),
    Pause(),
    Resume(),
    Takeover(),
    HandBack(results={"t1": "done by hand"}),
    Cancel(),
]


async def test_every_signal_has_somebody_who_applies_it() -> None:
    execution = make_floor(make_record("t1", "parked", outcome=asking("q")))

    assert {type(signal) for signal in EVERY_SIGNAL} == set(get_args(get_args(Signal)[0]))
    said = await handle(execution, *EVERY_SIGNAL)
    assert said == [APPLIED] * len(EVERY_SIGNAL)
    on_record = [row.value for row in await read_all(execution.run.store, space("audit", THREAD))]
    assert [line["action"] for line in on_record if line["kind"] == "steered"] == [
        signal.kind for signal in EVERY_SIGNAL if not isinstance(signal, Decide)
    ]


async def test_signals_are_applied_in_their_order() -> None:
    execution = make_floor()
    assert await handle(execution, Pause(), Resume(), Pause(reason="the last word")) == [APPLIED] * 3
    assert (execution.signals.control.driving, execution.signals.control.reason) == ("paused", "the last word")


@pytest.mark.parametrize(("of", "driving"), [("paused", "handed_over"), ("handed_over", "running"), (None, "running")])
async def test_who_lets_a_paused_run_go_on_does_not_take_it_from_whoever_took_it_over_meanwhile(
    of: Held | None, driving: str
) -> None:
    execution = make_floor()
    await handle(execution, Pause(), Takeover(), Resume(of=of))
    assert execution.signals.control.driving == driving


async def test_a_signal_takes_effect_once_however_often_the_listener_looks() -> None:
    execution = make_floor()
    await handle(execution, SendMail(to="ada", text="hello"), Recruit(role="helper", task="more"), Retire(agent="bob"))
    for _ in range(3):
        await execution.listener.look()
    assert await events(execution) == ["mail_delivered", "agent_recruited", "agent_retired"]
    assert execution.signals.mail("ada").received == 1


async def test_its_effect_is_stored_with_it() -> None:
    store = InMemoryStore()
    execution = make_floor(store=store)
    await handle(execution, SendMail(to="ada", text="hello"), Recruit(role="helper", task="more"), Retire(agent="bob"))
    after = SignalState(store, THREAD)
    await after.load()
    assert (after.retired, len(after.recruits), after.mail("ada").received) == ({"bob"}, 1, 1)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"kind": "explode"}, "does not match any of the expected tags"),
        ({"kind": "mail", "to": "ada"}, "Field required"),
        ({"kind": "pause", "surprise": 1}, "Extra inputs are not permitted"),
        ({"kind": "cancel", "by": "ada"}, "an agent may not send cancel"),
        (Decide(approval="q", by="ada", decision=Decision(type="approve")).model_dump(), "may not send decide"),
        ({"kind": "retire", "agent": "nobody"}, "there is no agent 'nobody'"),
        ({"kind": "mail", "to": "nobody", "text": "hello"}, "there is nobody called 'nobody'"),
    ],
)  # fmt: skip
async def test_what_is_malformed_or_not_allowed_is_refused_logged_and_holds_up_nobody(
    raw: dict[str, JsonValue], said: str
) -> None:
    execution = make_floor()
    await execution.run.store.aput(space("signals", THREAD), "000", raw)
    outcomes = await handle(execution, Pause())
    assert outcomes[0].status == "refused"
    assert said in outcomes[0].reason
    assert outcomes[1] == APPLIED
    assert await events(execution) == ["signal_refused", "control_changed"]


async def test_agents_may_send_mail_and_recruit() -> None:
    execution = make_floor()
    await handle(execution, SendMail(to="ada", text="hello", by="bob"), Recruit(role="helper", task="more", by="bob"))
    assert await events(execution) == ["mail_delivered", "agent_recruited"]


async def test_nothing_revives_a_cancelled_run() -> None:
    execution = make_floor()
    assert await handle(execution, Cancel(), Resume(), Pause()) == [
        APPLIED,
        refused("came too late: the run is cancelled"),
        refused("came too late: the run is cancelled"),
    ]
    assert execution.signals.control.driving == "cancelled"


@pytest.mark.parametrize(
    ("to", "reached"), [("all", ["ada", "bob", "hal"]), ("bob", ["bob"]), ("writer", ["bob"]), ("t1", ["ada"])]
)
async def test_mail_goes_to_all_a_name_a_role_or_whoever_does_a_task(to: str, reached: list[str]) -> None:
    execution = make_floor()
    await handle(execution, SendMail(to=to, text="hello"))
    assert [name for name in ("ada", "bob", "hal") if execution.signals.mail(name).received] == reached


async def test_who_writes_to_all_does_not_write_to_itself() -> None:
    execution = make_floor()
    await handle(execution, SendMail(to="all", text="hello", by="bob"))
    assert execution.signals.mail("bob").received == 0


async def test_the_event_of_a_mail_says_how_much_was_lost() -> None:
    execution = make_floor()
    await handle(execution, *(SendMail(to="ada", text=str(n)) for n in range(101)))
    last = (await read_all(execution.run.store, space("events", THREAD)))[-1].value
    assert last["data"]["lost"] == {"ada": 51}


def asking(*questions: str) -> Outcome:
    approvals = [Approval(id=one, task_id="t1", agent="ada", action="send", reason="it asks") for one in questions]
    return make_outcome(status="parked").model_copy(update={"approvals": approvals})


async def test_only_an_open_question_is_answered_and_the_first_answer_wins() -> None:
    execution = make_floor(make_record("t1", "parked", outcome=asking("q1")))
    yes, no = Decision(type="approve", by="ana"), Decision(type="reject", by="ben")
    said = await handle(
        execution,
        Decide(approval="q1", decision=yes),
        Decide(approval="q1", decision=no),
        Decide(approval="q2", decision=yes),
    )
    assert said == [
        APPLIED,
        refused("q1 was answered before: ana said approve; the first answer stands"),
        refused("no open question is called 'q2'"),
    ]
    assert execution.signals.decisions == {"q1": yes.model_copy(update={"door": "signal"})}


async def test_a_recruit_that_is_asked_for_again_is_neither_added_nor_announced_again() -> None:
    execution = make_floor()
    admitted: list[str] = []

    def admit(record: TaskRecord) -> None:
        admitted.append(record.id)
        execution.records[record.id] = record

    execution.listener.on_recruit = admit
    asked = Recruit(role="helper", task="more", recruiter="t1", by="ada")
    first, second = await execution.listener.recruit(asked), await execution.listener.recruit(asked)
    assert first == second
    assert (admitted, await events(execution)) == (["t1.r1"], ["agent_recruited"])


async def test_while_it_listens_it_hears_at_once_when_somebody_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "POLL_S", 3600)
    execution = make_floor()
    async with asyncio.timeout(90), execution.listener.listening():
        await send(execution.run.store, THREAD, SendMail(to="ada", text="hello"), execution.run.services.clock)
        execution.run.services.wake_ups.wake(THREAD)
        while not execution.signals.mail("ada").received:
            execution.signals.changed.clear()
            await execution.signals.changed.wait()
    assert await waiting(execution.run.store, THREAD) == []


class CountedStore(InMemoryStore):
    """Counts how often it is read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.writes = 0
        self.asked: asyncio.Queue[None] = asyncio.Queue()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        writes = any(isinstance(op, PutOp) for op in ops)
        self.writes, self.reads = self.writes + writes, self.reads + (not writes)
        return await super().abatch(ops)

    async def changes(self) -> tuple[int, int]:
        self.asked.put_nowait(None)
        return self.writes, 0


async def test_a_run_that_only_waits_does_not_read_the_store_until_somebody_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "POLL_S", 0.001)
    store = CountedStore()
    execution = make_floor(store=store)
    async with asyncio.timeout(90), execution.listener.listening():
        for _ in range(2):
            await store.asked.get()
        before = store.reads
        for _ in range(4):
            await store.asked.get()
        assert store.reads == before
        await send(store, THREAD, SendMail(to="ada", text="hello"), execution.run.services.clock)
        while not execution.signals.mail("ada").received:
            execution.signals.changed.clear()
            await execution.signals.changed.wait()


async def test_mail_of_agents_is_stored_by_the_time_it_stops_listening() -> None:
    store = InMemoryStore()
    execution = make_floor(store=store)
    async with execution.listener.listening():
        assert execution.listener.outbox.deliver(Mail(id="m1", sender="bob", to="ada", text="hello")) == ""
    after = SignalState(store, THREAD)
    await after.load()
    assert after.mail("ada").received == 1
