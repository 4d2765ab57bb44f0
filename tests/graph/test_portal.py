"""The event loop in a thread: what is called ends, is cancelled, or is refused; nobody waits for ever."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from graph.portal import Portal, open_level
from state.errors import BatonError

ROOT = Path(__file__).resolve().parent.parent.parent

AT_THE_END = """
import os
from graph.portal import open_level

async def numbers():
    try:
        yield 1
        yield 2
    finally:
        print("cancelled", flush=True)

async def number():
    return 3

portal, context = open_level()
left_open = portal.iterate(numbers(), context)
print(next(left_open), flush=True)
child = os.fork()
if not child:
    portal, context = open_level()
    print(portal.call(number(), context), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.fixture
def portal() -> Iterator[Portal]:
    made = Portal("portal-of-a-test")
    yield made
    made.close()


def press_ctrl_c() -> None:
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


async def number() -> int:
    return 3


def test_a_closed_portal_refuses_calls_in_one_line(portal: Portal) -> None:
    portal.close()
    with pytest.raises(BatonError, match=r"^this supervisor is closed: open another$"):
        portal.call(number())


def test_a_call_that_would_wait_for_itself_is_refused(portal: Portal) -> None:
    async def calls() -> int:
        return portal.call(number())

    with pytest.raises(BatonError, match="would wait for itself: use the async form"):
        portal.call(calls())


def test_what_ends_the_loop_is_raised_where_somebody_waits(portal: Portal) -> None:
    async def exits() -> None:
        raise SystemExit(3)

    async def starts_what_exits() -> None:
        exiting = asyncio.create_task(exits())
        try:
            await asyncio.Event().wait()
        finally:
            exiting.exception()

    with pytest.raises(SystemExit, match="3"):
        portal.call(starts_what_exits())


def test_ctrl_c_waits_for_what_cleans_up_and_a_second_one_does_not(portal: Portal) -> None:
    log: list[str] = []
    let_go = threading.Event()

    async def cleans_up(word: str, *, slowly: bool = False) -> None:
        try:
            press_ctrl_c()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            if slowly:
                press_ctrl_c()
                await asyncio.to_thread(let_go.wait)
            log.append(word)

    with pytest.raises(KeyboardInterrupt):
        portal.call(cleans_up("first"))
    assert log == ["first"]
    with pytest.raises(KeyboardInterrupt):
        portal.call(cleans_up("second", slowly=True))
    assert log == ["first"]
    let_go.set()


def test_the_items_of_a_stream_are_made_when_they_are_asked_for_in_one_context(portal: Portal) -> None:
    place: ContextVar[str] = ContextVar("place", default="outside")
    made: list[int] = []

    async def counts() -> AsyncGenerator[tuple[int, str], None]:
        token = place.set("inside")
        for index in range(3):
            made.append(index)
            yield index, place.get()
        place.reset(token)

    items = portal.iterate(counts())
    assert (next(items), made) == ((0, "inside"), [0])
    assert [*items] == [(1, "inside"), (2, "inside")]
    assert place.get() == "outside"


def test_closing_ends_a_stream_that_nobody_reads_any_more(portal: Portal) -> None:
    log: list[str] = []

    async def counts() -> AsyncGenerator[int, None]:
        try:
            yield 1
        finally:
            log.append("cancelled")

    items = portal.iterate(counts())
    next(items)
    portal.close()

    assert log == ["cancelled"]


def test_what_runs_in_a_portal_gets_another_one() -> None:
    outer, context = open_level()

    async def calls() -> tuple[Any, int]:
        inner, inside = open_level()
        return inner, inner.call(number(), inside)

    inner, made = outer.call(calls(), context)
    assert (inner is outer, made) == (False, 3)


def test_a_process_ends_with_a_stream_open_and_a_forked_one_has_a_portal_of_its_own() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", AT_THE_END]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, check=False)

    assert (done.stdout.split(), done.stderr, done.returncode) == (["1", "3", "0", "cancelled"], "", 0)
