"""The log of signals: in order, kept until handled, and afterwards with what came of it."""

import asyncio

import pytest
from langgraph.store.memory import InMemoryStore

from graph.testing import HeldClock
from nodes.runtime.rows import space
from nodes.runtime.services import WakeUps
from nodes.runtime.signals import Handled, handled, read_log, send, waiting
from state.signal import APPLIED, Pause, Resume, SendMail, SignalOutcome, refused

THREAD = "a.b"


async def test_signals_wait_in_the_order_in_which_they_were_sent() -> None:
    store, clock = InMemoryStore(), HeldClock()
    for signal in (Pause(), SendMail(to="ada", text="hello"), Resume()):
        await send(store, THREAD, signal, clock)
        clock.time += 0.000_001
    assert [raw["kind"] for _, raw in await waiting(store, THREAD)] == ["pause", "mail", "resume"]


async def test_a_handled_signal_waits_no_more_and_is_on_the_log_with_its_outcome() -> None:
    store, clock = InMemoryStore(), HeldClock()
    key = await send(store, THREAD, Pause(by="ana"), clock)
    ((found, raw),) = await waiting(store, THREAD)
    await store.abatch(handled(THREAD, found, raw, refused("no"), 7.0))

    assert await waiting(store, THREAD) == []
    assert await read_log(store, THREAD) == [Handled(key, raw, refused("no"), 7.0)]


@pytest.mark.parametrize(
    ("words", "outcome"), [("done", APPLIED), ("refused: the run is cancelled", refused("the run is cancelled"))]
)
async def test_what_an_earlier_version_wrote_in_words_is_read_as_fields(words: str, outcome: SignalOutcome) -> None:
    store = InMemoryStore()
    await store.aput(space("signal_log", THREAD), "1", {"signal": {"kind": "pause"}, "outcome": words, "at": 7.0})
    assert [handled.outcome for handled in await read_log(store, THREAD)] == [outcome]


async def test_threads_whose_names_look_alike_have_logs_of_their_own() -> None:
    store = InMemoryStore()
    await send(store, "a.b", Pause(), HeldClock())
    assert await waiting(store, "a%2Eb") == []
    assert await waiting(store, "a") == []


async def test_a_bell_wakes_who_listens_on_that_thread_and_nobody_else() -> None:
    wake_ups = WakeUps()
    mine, other = wake_ups.bell("mine"), wake_ups.bell("other")
    wake_ups.wake("mine")
    wake_ups.wake("nobody listens here")
    async with asyncio.timeout(90):
        await mine.wait()
    assert not other.is_set()


def test_a_bell_is_forgotten_when_nobody_holds_it() -> None:
    wake_ups = WakeUps()
    wake_ups.bell("t").set()
    assert not wake_ups.bell("t").is_set()
