"""A graph run as a graph of its own, on a thread below the run's, with the run's checkpointer.

Called the way LangGraph calls subgraphs, a graph that asks would stop the whole superstep, and its place would hang on
the order of calls. On a thread of its own its questions come back as data, it is found again by its name after a
crash, goes on where it stood, and what it finished is not done again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.pregel import Pregel
from langgraph.types import Command, Interrupt, StateSnapshot
from pydantic import BaseModel, JsonValue

from nodes.runtime.floor import Floor

AnyGraph = Pregel[Any, Any, Any, Any]
Callbacks = list[Any]
DEEPEST = 20
"""Levels of nested data that are passed on as data."""


@dataclass(frozen=True)
class Stand:
    """Where a graph stands: at its end, at what it asks, or at a breakpoint."""

    values: Mapping[str, Any]
    questions: tuple[Interrupt, ...]
    has_ended: bool
    upcoming: tuple[str, ...] = ()
    """The steps that come next."""
    checkpoint: str = ""
    """The same as long as it stands there."""


@dataclass(frozen=True)
class SubThread:
    """One run of one graph."""

    graph: AnyGraph
    name: str
    """The thread's id: the same after a crash and while it waits."""
    context: object = None
    callbacks: tuple[Any, ...] = ()

    async def stand(self) -> Stand | None:
        """Where it stands; None if it has not begun."""
        snapshot = await self.graph.aget_state(self._config)
        return _stand(snapshot) if snapshot.created_at else None

    async def run(
        self, given: object, answers: Mapping[str, object], hear: Callable[[object], Any] | None = None
    ) -> Stand:
        """From the beginning, from where it stood, or with answers by question, to the end or to the next question.

        `hear` gets what the graph writes to its custom stream.
        """
        snapshot = await self.graph.aget_state(self._config)
        go, entry = _entry(snapshot, given, answers)
        if go:
            stream = self.graph.astream(
                entry,
                self._config,
                context=self.context,
                stream_mode=["custom"],
                subgraphs=True,
                durability="sync",
            )
            async for _, _, said in stream:
                if hear:
                    await hear(said)
            snapshot = await self.graph.aget_state(self._config)
        return _stand(snapshot)

    @property
    def _config(self) -> RunnableConfig:
        # A thread id of its own keeps LangGraph from taking the graph for a subgraph of whoever calls it.
        return {"configurable": {"thread_id": self.name}, "callbacks": [*_tracers(), *self.callbacks]}


def open_subthread(
    floor: Floor, graph: AnyGraph, name: str, context: object = None, callbacks: tuple[Any, ...] = ()
) -> SubThread:
    """The run of `graph` under `name`, a path below the run's thread."""
    ours = graph.copy(update={"checkpointer": floor.saver, "store": graph.store or floor.run.store})
    return SubThread(ours, f"{floor.run.thread_id}/{name}", context, callbacks)


def _entry(snapshot: StateSnapshot, given: object, answers: Mapping[str, object]) -> tuple[bool, Any]:
    """Whether there is anything to run, and with what."""
    if not snapshot.created_at:
        return True, given
    if snapshot.interrupts:
        known = {asked.id: answers[asked.id] for asked in snapshot.interrupts if asked.id in answers}
        return bool(known), Command(resume=known)
    # `next` leaves out a step whose writes are saved; where a crash came before the checkpoint, `tasks` still has it.
    return bool(snapshot.tasks), None


def _stand(snapshot: StateSnapshot) -> Stand:
    values = cast(Mapping[str, Any], snapshot.values or {})
    return Stand(
        values,
        tuple(snapshot.interrupts),
        has_ended=not snapshot.tasks,
        upcoming=tuple(snapshot.next),
        checkpoint=str(snapshot.config["configurable"].get("checkpoint_id", "")),
    )


def _tracers() -> Callbacks:
    """Whoever traces the run.

    LangGraph's own handlers would mix the graph's messages with the run's; Baton's are those of whoever runs the graph.
    """
    found = get_config().get("callbacks")
    handlers = found.handlers if isinstance(found, BaseCallbackManager) else found or []
    return [handler for handler in handlers if type(handler).__module__.partition(".")[0] not in ("langgraph", "nodes")]


def plain(value: object, longest: int = 20_000, most: int = 200) -> JsonValue:
    """Whatever a graph said as plain JSON: texts up to `longest` characters, lists and mappings up to `most` items."""
    return cast(JsonValue, _plain(value, longest, most, 0))


def _plain(value: object, longest: int, most: int, depth: int) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:longest]
    if depth > DEEPEST:
        return str(value)[:2_000]
    if isinstance(value, Mapping):
        return {str(key): _plain(item, longest, most, depth + 1) for key, item in islice(value.items(), most)}
    if isinstance(value, list | tuple | set):
        return [_plain(item, longest, most, depth + 1) for item in islice(value, most)]
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(mode="json"), longest, most, depth + 1)
    return str(value)[:2_000]
