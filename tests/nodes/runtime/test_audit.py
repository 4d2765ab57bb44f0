"""The audit log as it is read while whoever runs the thread appends to it."""

from collections.abc import Iterable

from langgraph.store.base import Op, Result, SearchOp
from langgraph.store.memory import InMemoryStore

from nodes.runtime.audit import Audit, Seals, read_audit
from state.approval import Entry

THREAD = "t"


class Growing(InMemoryStore):
    """A Store in which somebody appends to the log each time before it is searched, a few times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        asked = list(ops)
        if self.times and any(isinstance(op, SearchOp) and op.namespace_prefix[0] == "audit" for op in asked):
            self.times -= 1
            await append(self)
        return await super().abatch(asked)


async def append(store: InMemoryStore) -> None:
    entry = Entry(at=1.0, kind="steered", approval="", action="pause", by="eve")
    async with Audit(store, THREAD, Seals()).sealing(entry) as rows:
        await store.abatch(rows)


async def test_a_log_that_grows_while_it_is_read_is_not_broken() -> None:
    store = Growing(0)
    await append(store)
    store.times = 3

    entries, broken = await read_audit(store, THREAD, Seals())

    assert (len(entries), broken) == (4, "")
