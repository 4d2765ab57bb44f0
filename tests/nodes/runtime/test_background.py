"""Work in the background ends with whoever began it, and hides nothing from them."""

import asyncio

import pytest

from nodes.runtime.background import stop, to_its_end


async def test_who_is_cancelled_while_the_work_ends_is_cancelled() -> None:
    ending, may_end = asyncio.Event(), asyncio.Event()

    async def works() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await may_end.wait()

    work = asyncio.create_task(works())
    await asyncio.sleep(0)
    waiting = asyncio.create_task(stop(work))
    await ending.wait()
    waiting.cancel()
    await asyncio.wait({waiting})
    assert (waiting.cancelled(), work.done()) == (True, False)
    may_end.set()
    await asyncio.wait({work})


async def test_work_that_had_failed_says_so() -> None:
    async def fails() -> None:
        raise ValueError("no")

    work = asyncio.create_task(fails())
    await asyncio.sleep(0)
    with pytest.raises(ValueError, match="no"):
        await stop(work)


async def test_work_is_done_whole_however_often_whoever_waits_is_cancelled() -> None:
    done, may_end = list[str](), asyncio.Event()

    async def works() -> None:
        await may_end.wait()
        done.append("whole")
        raise ValueError("read by nobody")

    waiting = asyncio.create_task(to_its_end(works()))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    may_end.set()
    await asyncio.wait({waiting})

    assert (waiting.cancelled(), done) == (True, ["whole"])
