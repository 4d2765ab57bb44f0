"""What signals did to a run is there again in the next process, once, and gone with the next run."""

from langgraph.store.memory import InMemoryStore

from nodes.runtime.rows import clearing
from nodes.runtime.signals import SignalState
from state.agent import Mail
from state.approval import Decision
from state.signal import Control
from tests.builders import make_record

THREAD = "t"
HELLO = Mail(id="m1", sender="ann", to="ada", text="hello")
YES, NO = Decision(type="approve", by="ana"), Decision(type="reject", by="ben")


async def steered(store: InMemoryStore) -> SignalState:
    signals = SignalState(store, THREAD)
    signals.deliver("ada", [HELLO])
    rows = [
        signals.set_control(Control(driving="paused", by="ana")),
        signals.retire("bob"),
        *(signals.add_recruit(make_record(f"r{n}")) for n in range(12)),
    ]
    await store.abatch([*rows, *signals.unsaved()])
    return signals


async def loaded(store: InMemoryStore) -> SignalState:
    signals = SignalState(store, THREAD)
    await signals.load()
    return signals


async def test_everything_is_there_again_after_a_crash() -> None:
    store = InMemoryStore()
    before, after = await steered(store), await loaded(store)

    assert (after.control.driving, after.is_stopping) == ("paused", True)
    assert after.retired == {"bob"}
    assert [record.id for record in after.recruits] == [f"r{n}" for n in range(12)]  # in the order of granting
    assert after.mailboxes == before.mailboxes


async def test_recruits_after_a_crash_go_behind_those_before() -> None:
    store = InMemoryStore()
    await steered(store)
    after = await loaded(store)
    await store.abatch([after.add_recruit(make_record("late"))])
    assert [record.id for record in (await loaded(store)).recruits][-2:] == ["r11", "late"]


async def test_an_answer_that_is_only_a_row_is_none() -> None:
    store = InMemoryStore()
    await store.abatch([SignalState(store, THREAD).decide("q1", YES)])
    signals = SignalState(store, THREAD)
    await signals.load()
    signals.know({"q2": NO.model_dump(mode="json")})
    assert signals.decisions == {"q2": NO}


async def test_mail_is_stored_once_and_a_message_sent_again_changes_nothing() -> None:
    signals = SignalState(InMemoryStore(), THREAD)
    signals.deliver("ada", [HELLO])
    assert len(signals.unsaved()) == 1
    signals.changed.clear()
    signals.deliver("ada", [HELLO])
    assert (signals.unsaved(), signals.changed.is_set()) == ([], False)


async def test_whoever_drives_is_told_to_the_dispatcher() -> None:
    signals, told = SignalState(InMemoryStore(), THREAD), list[str]()
    signals.on_control = lambda control: told.append(control.driving)
    signals.set_control(Control(driving="cancelled"))
    assert told == ["cancelled"]


async def test_the_next_run_on_a_thread_starts_unsteered() -> None:
    store = InMemoryStore()
    await steered(store)
    await store.abatch(await clearing(store, THREAD))
    after = await loaded(store)
    assert (after.control, after.retired, after.recruits) == (Control(), set(), [])
    assert (after.decisions, after.mailboxes) == ({}, {})
