"""Events are numbered without gaps, and stand in the Store with what they change."""

import ast
import asyncio
import re
from collections.abc import Iterable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import Op, PutOp, Result
from langgraph.store.memory import InMemoryStore

from graph.testing import HeldClock
from nodes.runtime.clock import SystemClock
from nodes.runtime.journal import PAGE, Journal, event_key, read_board, read_events
from nodes.runtime.rows import read_all, space
from state.event import FIELDS, EventKind
from state.text import Json
from tests.house.tracked import modules, parsed


async def test_numbers_go_on_where_another_process_left_off() -> None:
    store, clock = InMemoryStore(), HeldClock()
    await Journal(store, "t", clock).emit("phase_entered", phase="executing")
    clock.time += 5
    event = await Journal(store, "t", clock).emit("task_parked", phase="executing", task_id="a", agent="ada")

    assert (event.seq, event.ts, event.task_id, event.agent) == (2, 1_000_005, "a", "ada")
    assert [one.seq for one in await read_events(store, "t")] == [1, 2]


async def test_threads_are_numbered_each_for_itself() -> None:
    store = InMemoryStore()
    for thread in ("t", "t.1", "t%2E1"):
        await Journal(store, thread, HeldClock()).emit("phase_entered", phase=thread)

    for thread in ("t", "t.1", "t%2E1"):
        assert [(event.seq, event.phase) for event in await read_events(store, thread)] == [(1, thread)]


class SlowStore(InMemoryStore):
    """Gives others a turn before it answers, as a file does."""

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        await asyncio.sleep(0)
        return await super().abatch(ops)


async def test_events_at_the_same_time_get_different_numbers() -> None:
    store = SlowStore()
    journal = Journal(store, "t", HeldClock())
    heard: list[Json] = []
    journal.writer = heard.append
    await asyncio.gather(*(journal.emit("task_parked", phase="executing", task_id=f"t{n}") for n in range(20)))

    assert [event["seq"] for event in heard] == list(range(1, 21))
    assert [event.model_dump(mode="json") for event in await read_events(store, "t")] == heard


async def test_what_can_wait_is_written_with_the_next_event_in_one_transaction_or_when_it_is_flushed() -> None:
    store = InMemoryStore()
    journal = Journal(store, "t", HeldClock())
    heard: list[Json] = []
    journal.writer = heard.append
    await journal.emit("task_started", phase="executing", task_id="a", data={"iteration": 0})
    assert (await read_events(store, "t"), heard) == ([], [])

    await journal.emit("task_parked", phase="executing", task_id="a")
    assert [(event.seq, event.kind) for event in await read_events(store, "t")] == [
        (1, "task_started"),
        (2, "task_parked"),
    ]
    await journal.emit("task_started", phase="executing", task_id="b", data={"iteration": 0})
    await journal.flush()
    assert [event["task_id"] for event in heard] == ["a", "a", "b"]


class FailingStore(InMemoryStore):
    """Fails to write, as long as it is full."""

    is_full = True

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        listed = list(ops)
        if self.is_full and any(isinstance(op, PutOp) for op in listed):
            raise OSError("disk full")
        return await super().abatch(listed)


async def test_whoever_tells_what_cannot_be_written_is_told_so_and_no_number_is_lost() -> None:
    store = FailingStore()
    journal = Journal(store, "t", HeldClock())
    told = [journal.emit("task_parked", phase="executing", task_id=f"t{n}") for n in range(3)]
    failed = await asyncio.gather(*told, return_exceptions=True)
    assert [str(error) for error in failed] == ["disk full"] * 3

    store.is_full = False
    assert (await journal.emit("task_parked", phase="executing")).seq == 1


async def test_more_events_than_a_page_are_read() -> None:
    store = InMemoryStore()
    journal = Journal(store, "t", HeldClock())
    for _ in range(PAGE + 3):
        await journal.emit("phase_entered", phase="executing")

    assert len(await read_events(store, "t")) == PAGE + 3
    assert [event.seq for event in await read_events(store, "t", after=PAGE + 1)] == [PAGE + 2, PAGE + 3]
    assert await read_events(store, "t", after=PAGE + 3) == []


async def test_what_an_event_changes_is_on_the_board() -> None:
    store = InMemoryStore()
    journal = Journal(store, "t", HeldClock())
    await journal.emit("task_parked", phase="executing", also=[journal.row("task:a", {"status": "running"})])

    assert await read_board(store, "t") == {"task:a": {"status": "running"}}
    assert await read_board(store, "other") == {}


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("phase_entered", {"mood": "good"}, "phase_entered tells mood, which is not listed in FIELDS"),
        (
            "task_retried",
            {"attempt": 2, "delay_s": 0.5},
            "task_retried does not tell reason, which is listed in FIELDS",
        ),
        ("sun_has_risen", {}, "there is no event called 'sun_has_risen'; known are phase_entered, "),
    ],
)
async def test_an_event_that_does_not_tell_what_its_kind_tells_is_refused(kind: Any, data: Json, said: str) -> None:
    store = InMemoryStore()
    with pytest.raises(ValueError, match=re.escape(said)):
        await Journal(store, "t", HeldClock()).emit(kind, phase="executing", data=data)
    assert await read_events(store, "t") == []


def test_every_kind_of_event_lists_what_it_tells() -> None:
    assert set(FIELDS) == set(get_args(EventKind))


def test_every_kind_of_event_is_told_by_somebody() -> None:
    calls = (node for path in modules() for node in ast.walk(parsed(path)) if isinstance(node, ast.Call))
    told = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in ("emit", "_emit")]
    named = {str(call.args[0].value) for call in told if call.args and isinstance(call.args[0], ast.Constant)}
    assert named == set(get_args(EventKind))


async def test_rows_are_read_in_the_order_of_their_keys_and_only_those_asked_for() -> None:
    store = InMemoryStore()
    for key in ("b", "a", "c"):
        await store.aput(("rows", "t"), key, {"key": key})
    await store.aput(("rows", "t", "below"), "d", {})
    await store.aput(("rows", "t2"), "e", {})

    assert [item.key for item in await read_all(store, ("rows", "t"))] == ["a", "b", "c"]


@given(st.sets(st.text(min_size=1, max_size=8) | st.sampled_from([".", "%", "%2E", "a.b", "a%2Eb", "%25"])))
def test_no_two_threads_share_a_place_and_none_has_a_name_the_store_refuses(threads: set[str]) -> None:
    places = {space("events", thread) for thread in threads}

    assert len(places) == len(threads)
    assert all("." not in part and part for place in places for part in place)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_keys_of_events_sort_by_number(one: int, other: int) -> None:
    assert (event_key(one) < event_key(other)) == (one < other)


async def test_the_machines_clock_moves_on_and_spreads_retries() -> None:
    clock = SystemClock()
    before = clock.now()
    await clock.sleep(0)

    assert clock.now() >= before > 1_700_000_000
    assert all(0 <= clock.jitter() <= 1 for _ in range(100))
