"""The log of signals: in order, kept until handled, and afterwards with what came of it."""

import asyncio

from langgraph.store.memory import InMemoryStore

from graph.testing import HeldClock
from nodes.runtime.services import WakeUps
from nodes.runtime.signals import handled, read_log, send, waiting
from state.signal import Pause, Resume, SendMail

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
    await store.abatch(handled(THREAD, found, raw, "done", 7.0))

    assert await waiting(store, THREAD) == []
    assert await read_log(store, THREAD) == [(key, {"signal": raw, "outcome": "done", "at": 7.0})]


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
    async with asyncio.timeout(1):
        await mine.wait()
    assert not other.is_set()


def test_a_bell_is_forgotten_when_nobody_holds_it() -> None:
    wake_ups = WakeUps()
    wake_ups.bell("t").set()
    assert not wake_ups.bell("t").is_set()
