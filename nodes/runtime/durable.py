"""Steps that LangGraph records, and graphs on threads of their own: what is not done again after a crash.

Here the supervisor's own model calls are retried; agents' calls are retried task by task
(`nodes.execution.attempts`), and the model clients themselves do not retry at all.

A graph that asks and is called the way LangGraph calls subgraphs would stop the whole superstep, and its place would
hang on the order of calls. On a thread of its own, below the run's and with its checkpointer, its questions come
back as data, it is found again by its name after a crash, goes on where it was, and what it finished is not done
again.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.func import task
from langgraph.pregel import Pregel
from langgraph.types import Command, Interrupt, StateSnapshot

from nodes.llm.ask import used_of
from nodes.llm.server import address_of
from nodes.policy.failures import retry_delay
from nodes.runtime.budget import Budget, asking
from nodes.runtime.calling import Parked
from nodes.runtime.context import RunContext
from nodes.runtime.execution import ExecutionContext
from nodes.runtime.nesting import OuterReservation
from nodes.runtime.signals import is_stop_waiting
from nodes.runtime.turns import Turn, in_turn
from state.errors import ModelUnavailable
from state.policy import Reply
from state.record import Usage
from state.text import Json

OBJECTION = 200
"""Tokens, about, of the complaints about a reply."""
Thunk = Callable[[], Awaitable[Json]]


def own_calls(run: RunContext, budget: Budget, prompt: int, reply: Reply) -> Callable[[Thunk], Awaitable[Json]]:
    """A function that makes one of the supervisor's own calls, within the budget of the run.

    `prompt`: its estimated tokens; what is asked again has the reply before in it. The call's reply carries what it has
    used under `usage`. Nothing is recorded here: what is recorded, as one step, is what could be used in the end, so
    that a run which is taken up again asks anew instead of reading a bad reply again.

    Raises:
        BudgetUsedUp: by the function, when a limit of the run leaves no room.
        Parked: by the function, when the run is stopped while the model's server is waited for.
    """
    size = prompt

    async def call(thunk: Thunk) -> Json:
        nonlocal size
        async with budget.supervising(size, reply) as room:
            with run.services.observer.watching(run.place()):
                made = await _patiently(run, thunk, room, size)
            told = Usage.model_validate(made["usage"])
            room.used = told + Usage(models=[used_of(run.services.models.default)]) + (room.used or Usage())
        size += told.output_tokens + OBJECTION
        return made

    return call


async def recorded_step(name: str, thunk: Thunk) -> Json:
    """What `thunk` returns, kept by LangGraph under `name`: after a crash it is not called again.

    Names are unique within whatever calls this, and come in a fixed order: LangGraph tells results apart by both.
    """

    async def made() -> Json:
        return await thunk()

    kept: Json = await task(name=name)(made)()  # type: ignore[arg-type] # its type fits no closure
    return kept


PATIENCE_S = 600
"""Seconds that one of the supervisor's own calls may wait for its server; agents have limits of their own."""


async def _patiently(run: RunContext, thunk: Thunk, room: OuterReservation, prompt: int) -> Json:
    """The call, tried again while the model is merely unavailable, as often as the policy grants."""

    async def once(own: Turn) -> Json:
        with asking(room, prompt, run.policy.call_timeout_s) as bounds:
            made = await thunk()
        own.answered(bounds.headers)
        return made

    async def safe_point() -> None:
        if (run.outer and run.outer.signals.is_stopping) or await is_stop_waiting(run.store, run.thread_id):
            raise Parked

    server, number = address_of(run.services.models.default), 1
    while True:
        try:
            return await in_turn(run, server, once, PATIENCE_S, safe_point)
        except ModelUnavailable:
            if number >= run.policy.max_attempts:
                raise
        await run.services.clock.sleep(retry_delay(number, run.services.clock.jitter()))
        number += 1


AnyGraph = Pregel[Any, Any, Any, Any]
Callbacks = list[Any]


@dataclass(frozen=True)
class GraphPosition:
    """Where a graph stands: at its end, at what it asks, or at a breakpoint."""

    values: Mapping[str, Any]
    questions: tuple[Interrupt, ...]
    has_ended: bool
    upcoming: tuple[str, ...] = ()
    """The steps that come next."""
    checkpoint: str = ""
    """The same as long as it stands there."""


@dataclass(frozen=True)
class GraphThread:
    """One run of one graph."""

    graph: AnyGraph
    name: str
    """The thread's id: the same after a crash and while it waits."""
    context: object = None
    callbacks: tuple[Any, ...] = ()

    async def position(self) -> GraphPosition | None:
        """Where it stands; None if it has not begun."""
        snapshot = await self.graph.aget_state(self._config)
        return _stand(snapshot) if snapshot.created_at else None

    async def run(
        self,
        given: object,
        answers: Mapping[str, object],
        hear: Callable[[object], Any] | None = None,
        *,
        is_more: bool = False,
    ) -> GraphPosition:
        """From the beginning, from where it stood, or with answers by question, to the end or to the next question.

        `hear` gets what the graph writes to its custom stream. `is_more`: it has ended, and is given something more.
        """
        snapshot = await self.graph.aget_state(self._config)
        go, entry = (True, given) if is_more else _entry(snapshot, given, answers)
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


def open_graph_thread(
    execution: ExecutionContext, graph: AnyGraph, name: str, context: object = None, callbacks: tuple[Any, ...] = ()
) -> GraphThread:
    """The run of `graph` under `name`, a path below the run's thread."""
    ours = graph.copy(update={"checkpointer": execution.saver, "store": graph.store or execution.run.store})
    return GraphThread(ours, f"{execution.run.thread_id}/{name}", context, callbacks)


def _entry(snapshot: StateSnapshot, given: object, answers: Mapping[str, object]) -> tuple[bool, Any]:
    """Whether there is anything to run, and with what."""
    if not snapshot.created_at:
        return True, given
    if snapshot.interrupts:
        known = {asked.id: answers[asked.id] for asked in snapshot.interrupts if asked.id in answers}
        return bool(known), Command(resume=known)
    # `next` leaves out a step whose writes are saved; where a crash came before the checkpoint, `tasks` still has it.
    return bool(snapshot.tasks), None


def _stand(snapshot: StateSnapshot) -> GraphPosition:
    values = cast(Mapping[str, Any], snapshot.values or {})
    return GraphPosition(
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
