"""The compiled supervisor with `invoke`, `stream` and `batch`, and any saver or store for sync and async code alike.

Nodes are async: LangGraph's own `invoke` cannot run them, and its sync savers have no async methods. So what runs nodes
runs its async twin in a portal. What only reads and writes checkpoints (`get_state`, `update_state`) is LangGraph's.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from contextvars import Context
from typing import Any, Self, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_config_list, var_child_runnable_config
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.sqlite import SqliteStore
from langgraph.types import Durability

from graph.portal import Portal, open_level
from nodes.runtime.background import to_its_end
from state.drawn import Box, as_svg
from state.errors import BadInput
from state.supervisor import SupervisorInput, SupervisorOutput, SupervisorState

T = TypeVar("T")


class CompiledSupervisor(CompiledStateGraph[SupervisorState, None, SupervisorInput, SupervisorOutput]):
    """A compiled LangGraph like any other; `invoke` and what else is not overridden here goes through `stream`."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Its drawing for a notebook, made here: LangGraph's own asks a server on the internet for it."""
        drawn = self.get_graph()
        leads = [(edge.source, edge.target) for edge in drawn.edges]
        boxes = [Box(name, after=[before for before, after in leads if after == name]) for name in drawn.nodes]
        return {"text/plain": repr(self), "image/svg+xml": as_svg(boxes)}

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:  # noqa: A002 - LangGraph's name
        """LangGraph's `stream`, with its arguments. Whoever stops early, or presses Ctrl-C, cancels the run.

        Raises:
            BadInput: the saver or store is on an event loop that cannot run meanwhile.
        """
        graph, portal, context = self._elsewhere()
        items = cast(AsyncGenerator[Any, None], graph.astream(input, _elsewhere_config(config), **kwargs))
        yield from portal.iterate(items, context)

    def astream(
        self,
        input: Any,  # noqa: A002 - LangGraph's name
        config: RunnableConfig | None = None,
        *,
        durability: Durability | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """LangGraph's `astream`, with its arguments; `durability` is "sync" where this graph has a saver.

        With LangGraph's "async" a kill may repeat calls of models that have come back.
        """
        if durability is None and isinstance(self.checkpointer, BaseCheckpointSaver):
            durability = "sync"
        items = super().astream(input, config, durability=durability, **kwargs)
        own = [one.thread for one in (self.checkpointer, self.store) if isinstance(one, SaverInThread | StoreInThread)]
        return _until_settled(cast(AsyncGenerator[Any, None], items), own) if own else items

    def batch(
        self,
        inputs: list[Any],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Any]:
        """Several threads at once, at most `max_concurrency` of the config; all end before the error of one is raised.

        LangChain's own would go on with all of them after Ctrl-C.
        """
        graph, portal, context = self._elsewhere()
        configs = [_elsewhere_config(one) for one in get_config_list(config, len(inputs))]

        async def all_of_them() -> list[Any]:
            at_once = asyncio.Semaphore((configs[0] or {}).get("max_concurrency") or len(inputs))

            async def one_of_them(given: Any, its_config: RunnableConfig | None) -> Any:
                async with at_once:
                    return await graph.ainvoke(given, its_config, **kwargs)

            runs = [one_of_them(*one) for one in zip(inputs, configs, strict=True)]
            return await asyncio.gather(*runs, return_exceptions=True)

        made = portal.call(all_of_them(), context) if inputs else []
        if not return_exceptions and (errors := [one for one in made if isinstance(one, BaseException)]):
            raise errors[0]
        return made

    def _elsewhere(self) -> tuple[Self, Portal, Context]:
        """The graph as another thread can run it, and where it does."""
        portal, context = open_level()
        context.run(var_child_runnable_config.set, _elsewhere_config(context.get(var_child_runnable_config)))
        own = {"checkpointer": self.checkpointer, "store": self.store}
        other = {name: on_any_loop(value) for name, value in own.items()}
        return self if own == other else self.copy(other), portal, context


async def _until_settled(items: AsyncGenerator[Any, None], threads: Sequence["OneThread"]) -> AsyncIterator[Any]:
    """The items; the end comes when these threads have done what they were given until then.

    Nobody then closes a database under a thread that writes to it, which would end the process.
    """
    try:
        async with aclosing(items):
            async for item in items:
                yield item
    finally:
        for thread in threads:
            await thread.do(int)


def invokable(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> CompiledSupervisor:
    """What `StateGraph.compile` has made: it names its class itself."""
    compiled.__class__ = CompiledSupervisor
    return cast(CompiledSupervisor, compiled)


def with_async(given: T) -> T:
    """A saver or store with async methods, also where LangGraph gave it none."""
    if isinstance(given, BaseCheckpointSaver) and _lacks_async(given):
        return cast(T, SaverInThread(given))
    return cast(T, StoreInThread(given)) if isinstance(given, BaseStore) and _lacks_async(given) else given


def _elsewhere_config(config: RunnableConfig | None) -> RunnableConfig | None:
    """The config of a call, where it inherits from a graph around it."""
    if not config or not config.get("configurable"):
        return config
    return {**config, "configurable": {key: on_any_loop(value) for key, value in config["configurable"].items()}}


def on_any_loop(value: Any) -> Any:
    """A saver, a store, or a runtime with one, as any event loop can use it; anything else as it is.

    Raises:
        BadInput: it is on an event loop that cannot run while this thread waits.
    """
    if isinstance(value, Runtime) and value.store:
        return value.override(store=on_any_loop(value.store))
    if isinstance(value, BaseCheckpointSaver) and (_lacks_async(value) or _is_bound(value)):
        return SaverInThread(value)
    if isinstance(value, BaseStore) and (_lacks_async(value) or _is_bound(value)):
        return StoreInThread(value)
    return value


def _lacks_async(given: BaseCheckpointSaver[Any] | BaseStore) -> bool:
    if isinstance(given, BaseStore):
        return type(given).abatch is SqliteStore.abatch
    return type(given).aget_tuple in (BaseCheckpointSaver.aget_tuple, SqliteSaver.aget_tuple)


def _is_bound(given: object) -> bool:
    """Whether it belongs to an event loop, as LangGraph's async savers and stores do."""
    loop = getattr(given, "loop", None)
    if not isinstance(loop, asyncio.AbstractEventLoop):
        return False
    try:
        waits = asyncio.get_running_loop() is loop
    except RuntimeError:
        waits = False
    if waits or not loop.is_running():
        name = type(given).__name__
        raise BadInput(f"{name} works on an event loop that cannot run during this call: use `await graph.ainvoke(…)`")
    return True


class OneThread:
    """Does what it is given in a thread of its own, in the order in which it is asked, from whichever event loop."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="baton-checkpoints")

    def do(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> Coroutine[Any, Any, T]:
        """What `work` returns; it is begun at once, awaited or not.

        Where whoever waits is cancelled, that is raised when it is over.
        """
        doing = self._thread.submit(work, *args, **kwargs)

        async def done() -> T:
            return await to_its_end(asyncio.wrap_future(doing))

        return done()


class SaverInThread(BaseCheckpointSaver[Any]):
    """A saver by its sync methods, called in a thread where it is called with `await`."""

    def __init__(self, saver: BaseCheckpointSaver[Any], thread: OneThread | None = None) -> None:
        super().__init__(serde=saver.serde)
        self.saver = saver
        self.thread = thread or OneThread()

    @property
    def config_specs(self) -> list[Any]:
        """See LangGraph, as for all that follows."""
        return self.saver.config_specs

    def with_allowlist(self, extra_allowlist: Any) -> "SaverInThread":
        """With more types that it may load."""
        return SaverInThread(self.saver.with_allowlist(extra_allowlist), self.thread)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The version after `current`."""
        return self.saver.get_next_version(current, channel)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """One checkpoint."""
        return self.saver.get_tuple(config)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """One checkpoint."""
        return await self.thread.do(self.saver.get_tuple, config)

    def list(self, config: RunnableConfig | None, **which: Any) -> Iterator[CheckpointTuple]:
        """Checkpoints, the newest first."""
        return self.saver.list(config, **which)

    async def alist(self, config: RunnableConfig | None, **which: Any) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints, the newest first."""
        for found in await self.thread.do(lambda: [*self.saver.list(config, **which)]):
            yield found

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint."""
        return self.saver.put(config, checkpoint, metadata, new_versions)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint."""
        return await self.thread.do(self.saver.put, config, checkpoint, metadata, new_versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a node or @task returned."""
        self.saver.put_writes(config, writes, task_id, task_path)

    def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> Coroutine[Any, Any, None]:
        """Keep what a node or @task returned; begun at once, as LangGraph waits for no write of a cancelled run."""
        return self.thread.do(self.saver.put_writes, config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread."""
        self.saver.delete_thread(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        """Forget a thread."""
        await self.thread.do(self.saver.delete_thread, thread_id)


class StoreInThread(BaseStore):
    """A store by its sync methods, likewise."""

    def __init__(self, store: BaseStore) -> None:
        self.store = store
        self.supports_ttl, self.ttl_config = store.supports_ttl, store.ttl_config
        self.thread = OneThread()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, in order."""
        return self.store.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, in order."""
        return await self.thread.do(self.store.batch, [*ops])
