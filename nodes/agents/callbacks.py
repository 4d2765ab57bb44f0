"""LangChain callback handlers inside agents, told before each model or tool call and after it; the budget's is one.

What is called with `await` tells its handlers on its own event loop, and what they raise stops the call. For what is
called without, LangChain runs async handlers on an event loop made for that and drops what they raise: there a plain
handler is told in place of them. It is told everywhere, and leaves alone what is awaited.

Of model calls, room in the budget is reserved before each and settled after it; one for which the agent's own limits or
the run's budget have no room fails. LangChain logs what stops a call as a warning; its log is the program's.
"""

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook

from nodes.agents.internals import is_awaited
from nodes.agents.invocation import Invocation
from nodes.llm.ask import COUNTED, AskedModel, explain, headers_of, is_of_provider, usage_of
from nodes.llm.cut_off import CUT_OFF_ONCE, doubt_of_end, is_cut_off
from nodes.llm.server import address_in
from nodes.llm.streaming import arrived, is_lost
from nodes.llm.tokens import prompt_tokens
from nodes.runtime.calling import Parked
from nodes.runtime.nesting import OuterReservation
from nodes.runtime.turns import Turn, patience, turn
from state.errors import AgentFailed
from state.record import NOTHING, Doubt, ModelUsed, Usage


@dataclass(frozen=True)
class ModelCall:
    """A chat model is called."""

    id: UUID
    size: int
    """Tokens of the prompt, estimated."""
    model: str = ""
    """What people call it."""
    server: str = ""
    """The address of its server."""
    cap: int | None = None
    """The longest reply it was made for, where its maker set one."""
    is_counted: bool = False
    """Whether whoever makes the call puts it on the ledger."""


@dataclass(frozen=True)
class ToolCalled:
    """A tool is called."""

    id: UUID
    name: str
    args: dict[str, Any]
    marks: Mapping[str, Any]
    """The tool's `metadata`, and LangGraph's."""
    within: UUID | None
    """The run, in LangChain's sense, that calls it."""


Call = ModelCall | ToolCalled


class AgentCallbacks(AsyncCallbackHandler):
    """To be subclassed. `handlers` is what LangChain is given."""

    raise_error = True
    """What is raised here has to stop the call."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.plain: set[UUID] = set()
        """Calls that are made without `await`."""
        self._later: set[asyncio.Task[None]] = set()
        self.handlers: list[BaseCallbackHandler] = [_SyncCallbacks(self), self]
        """For LangChain."""

    async def on_start(self, call: Call) -> None:
        """A call is about to be made; what is raised here stops it."""

    def on_start_sync(self, call: Call) -> None:
        """The same where nothing can be waited for: the call is made on the run's own event loop, without `await`."""

    def on_end_sync(self, call_id: UUID, made: object) -> None:
        """The same as `on_end`, which follows it, where nothing can be waited for."""

    def on_piece(self, call_id: UUID, piece: str) -> None:
        """A piece of a reply has come that is streamed; in any thread."""

    async def on_end(self, call_id: UUID, made: object) -> None:
        """A call has ended: with an LLMResult or with a tool's answer, or with the exception that it raised."""

    async def close(self) -> None:
        """Wait for what could not be waited for."""
        while self._later:
            await asyncio.gather(*self._later)

    def is_on_loop(self) -> bool:
        """Whether whoever calls this holds up the run's own event loop until it returns."""
        try:
            return asyncio.get_running_loop() is self.loop
        except RuntimeError:
            return False

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it as soon as this event loop has a turn."""
        task = self.loop.create_task(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _started(self, about: dict[str, Any], given: Any, *, run_id: UUID, **more: Any) -> None:
        if run_id not in self.plain:
            await self._here(self.on_start(_call(run_id, about, given, more)))

    async def _ended(self, made: object, *, run_id: UUID, **_: Any) -> None:
        if run_id not in self.plain:
            await self._here(self.on_end(run_id, made))

    async def _streamed(self, token: object, *, run_id: UUID, **_: Any) -> None:
        if run_id not in self.plain:
            self.on_piece(run_id, str(token))

    on_llm_new_token = _streamed
    on_chat_model_start = on_tool_start = _started  # type: ignore[assignment] # LangChain names arguments differently
    on_llm_end = on_llm_error = on_tool_end = on_tool_error = _ended  # type: ignore[assignment]

    async def _here(self, work: Coroutine[Any, Any, None]) -> None:
        """On the run's own event loop: a node may have made one of its own."""
        if asyncio.get_running_loop() is self.loop:
            await work
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))


class _SyncCallbacks(BaseCallbackHandler):
    """Hears what is called without `await`."""

    raise_error = True
    run_inline = True

    def __init__(self, callbacks: AgentCallbacks) -> None:
        self._callbacks = callbacks

    def _started(self, about: dict[str, Any], given: Any, *, run_id: UUID, **more: Any) -> None:
        callbacks = self._callbacks
        if is_awaited():
            return
        callbacks.plain.add(run_id)
        call = _call(run_id, about, given, more)
        if callbacks.is_on_loop():
            callbacks.on_start_sync(call)
        else:
            asyncio.run_coroutine_threadsafe(callbacks.on_start(call), callbacks.loop).result()

    def _ended(self, made: object, *, run_id: UUID, **_: Any) -> None:
        callbacks = self._callbacks
        if run_id not in callbacks.plain:
            return
        if callbacks.is_on_loop():
            callbacks.on_end_sync(run_id, made)
            callbacks.later(callbacks.on_end(run_id, made))
        else:
            asyncio.run_coroutine_threadsafe(callbacks.on_end(run_id, made), callbacks.loop).result()

    def _streamed(self, token: object, *, run_id: UUID, **_: Any) -> None:
        if run_id in self._callbacks.plain:
            self._callbacks.on_piece(run_id, str(token))

    on_llm_new_token = _streamed
    on_chat_model_start = on_tool_start = _started  # type: ignore[assignment]
    on_llm_end = on_llm_error = on_tool_end = on_tool_error = _ended  # type: ignore[assignment]


def _call(call_id: UUID, about: Mapping[str, Any], given: Any, more: Mapping[str, Any]) -> Call:
    """A call as LangChain tells of it: of a model with lists of messages, of a tool with a text and perhaps inputs."""
    if not isinstance(given, str):
        params = more.get("invocation_params") or {}
        told = (params.get(field) for field in ("max_tokens", "max_completion_tokens", "max_output_tokens"))
        marks = more.get("metadata") or {}
        return ModelCall(
            id=call_id,
            size=sum(prompt_tokens(batch, params.get("tools") or ()) for batch in given),
            model=str(marks.get("ls_model_name") or params.get("model") or about.get("name") or ""),
            server=address_in(about, str(marks.get("ls_provider") or "")),
            cap=next((cap for cap in (*told, marks.get("ls_max_tokens")) if isinstance(cap, int) and cap > 0), None),
            is_counted=COUNTED in (more.get("tags") or ()),
        )
    args = more.get("inputs")
    return ToolCalled(
        id=call_id,
        name=str(about.get("name", "")),
        args=dict(args) if isinstance(args, Mapping) else {"input": given},
        marks=more.get("metadata") or {},
        within=more.get("parent_run_id"),
    )


_innermost: ContextVar["BudgetCallbacks | None"] = ContextVar("innermost_budget_callbacks", default=None)
"""Those of the agent at work here, where one works for another: it alone counts its calls."""


_plain: ContextVar[BaseCallbackHandler | None] = ContextVar("budget_handler_for_plain_calls", default=None)
_awaited: ContextVar[BaseCallbackHandler | None] = ContextVar("budget_handler_for_awaited_calls", default=None)
for _handler in (_plain, _awaited):  # LangChain adds them to what brings callbacks of its own, too; empty elsewhere
    register_configure_hook(_handler, inheritable=True)


class BudgetCallbacks(AgentCallbacks):
    """For one try of one agent; with `is_limited` the limits of its own hold too, besides those of the run."""

    def __init__(self, invocation: Invocation, *, is_limited: bool = True) -> None:
        super().__init__()
        self._is_limited = is_limited
        self.used = NOTHING
        self.reached = ""
        """The agent's own limit that has stopped it."""
        self.cut_off: AIMessage | None = None
        """The last reply, where it was cut off."""
        self._invocation = invocation
        self._open: dict[UUID, tuple[AsyncExitStack, OuterReservation, Turn]] = {}
        self._asked: dict[UUID, ModelCall] = {}
        self._failed: tuple[Exception, ModelCall] | None = None
        """What the last call that failed has raised."""
        self._unreserved: set[UUID] = set()
        """Calls that were made at once, until they are settled."""
        self._pieces: defaultdict[UUID, list[str]] = defaultdict(list)
        """What has come of replies that are streamed."""

    async def on_start(self, call: Call) -> None:
        """Wait for the call's turn and reserve; AgentFailed of class `limit` when there is no room."""
        if isinstance(call, ModelCall) and self._is_to_count(call):
            self._check_limits()
            self._asked[call.id] = call
            invocation = self._invocation
            run, last = invocation.execution.run, patience(invocation.execution.run, invocation.spec.limits.timeout_s)
            async with AsyncExitStack() as stack:
                own = await stack.enter_async_context(turn(run, call.server, last, self._safe_point))
                reserving = invocation.execution.budget.call(
                    invocation.charged_task, invocation.spec.name, call.size, call.cap, model=call.model, is_fixed=True
                )
                room = await stack.enter_async_context(reserving)
                self._open[call.id] = (stack.pop_all(), room, own)

    async def _safe_point(self) -> None:
        if self._invocation.execution.signals.is_stopping:
            raise Parked(conversation=self._invocation.place)

    def on_start_sync(self, call: Call) -> None:
        """Nothing is reserved, because room could not be waited for: it is there now, or the call is refused."""
        if isinstance(call, ModelCall) and self._is_to_count(call):
            self._check_limits()
            self._asked[call.id] = call
            services = self._invocation.execution.run.services
            if left := services.servers.left(call.server, services.clock.now()):
                raise AgentFailed(
                    f"{call.server} asks to wait {left:.3g} s, which a call without `await` cannot", "transient"
                )
            budget = self._invocation.execution.budget
            if why := budget.refusal_now(self._invocation.spec.name, call.size, call.cap, call.model):
                raise AgentFailed(why, "limit")
            self._unreserved.add(call.id)
            budget.hold(call.id, Usage(calls=1))

    def on_end_sync(self, call_id: UUID, made: object) -> None:
        """Remember what it used until it is settled."""
        if call_id in self._unreserved and isinstance(made, LLMResult):
            used = _used(made, self._asked[call_id])
            self._invocation.execution.budget.hold(call_id, used)

    async def on_end(self, call_id: UUID, made: object) -> None:
        """Settle, or give the room back."""
        call, pieces = self._asked.pop(call_id, None), self._pieces.pop(call_id, [])
        used = _used(made, call) if isinstance(made, LLMResult) else None
        if call and used is None:
            most = self._open[call_id][1].cap if call_id in self._open else self._cap
            used = _broken_off(call, pieces, min(call.cap or most, most) if is_lost(_exception(made)) else 0)
        if call and isinstance(made, Exception):
            self._failed = made, call
        if isinstance(made, LLMResult) and (call_id in self._unreserved or call_id in self._open):
            message = _message(made)
            self.cut_off = message if message and is_cut_off(message) else None
        if call_id in self._unreserved:
            self._unreserved.discard(call_id)
            self._invocation.execution.budget.release(call_id)
            made_of = self._invocation.execution.budget.priced(used or Usage(calls=1))
            self.used += made_of
            await self._invocation.execution.budget.settle(
                self._invocation.charged_task, self._invocation.spec.name, made_of
            )
        elif found := self._open.pop(call_id, None):
            stack, room, own = found
            room.used = used
            if isinstance(made, BaseException):
                own.refused(headers_of(made))
            elif isinstance(made, LLMResult):
                own.answered({})
            await stack.aclose()
            self.used += room.used or Usage(calls=1)

    def on_piece(self, call_id: UUID, piece: str) -> None:
        """Keep it: if the reply breaks off, it was written all the same."""
        if call_id in self._asked:
            self._pieces[call_id].append(piece)

    @property
    def _cap(self) -> int:
        return self._invocation.execution.run.policy.max_tokens["worker"]

    def doubts(self, why: str = "") -> list[Doubt]:
        """What is in doubt of what came of the calls: the last reply may have no end, even though it was asked for."""
        said = why or (CUT_OFF_ONCE if self.cut_off else "")
        about = self._invocation.brief.task.id
        return [doubt_of_end(self._invocation.spec.name, about, said)] if said else []

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Within this, model calls are this agent's, and not those of one that it works for.

        Raises:
            ModelFailed: in place of what a model has raised, where the agent lets that through.
        """
        tokens = [(var, var.set(value)) for var, value in self._vars()]
        try:
            yield
        except Exception as error:
            if self._failed and self._failed[0] in _causes(error) and is_of_provider(self._failed[0]):
                broke, call = self._failed
                raise explain(broke, AskedModel(call.model, call.server)) from error
            raise
        finally:
            for var, token in tokens:
                var.reset(token)

    def _vars(self) -> Iterator[tuple[ContextVar[Any], object]]:
        yield _innermost, self
        yield from zip((_plain, _awaited), self.handlers, strict=True)

    def _is_to_count(self, call: ModelCall) -> bool:
        return not call.is_counted and _innermost.get() in (None, self)

    async def close(self) -> None:
        """Give back what calls that were cut off had reserved."""
        for call_id in list(self._open):
            await self.on_end(call_id, None)
        await super().close()
        for call_id in self._unreserved:
            self._invocation.execution.budget.release(call_id)

    def _check_limits(self) -> None:
        limits = self._invocation.spec.limits
        if not self._is_limited:
            return
        if self.used.calls + len(self._open) + len(self._unreserved) >= limits.iterations:
            self.reached = f"{limits.iterations} calls"
        elif limits.tokens is not None and self.used.total_tokens >= limits.tokens:
            self.reached = f"{limits.tokens} tokens"
        if self.reached:
            raise AgentFailed(f"it reached {self.reached} without an answer", "limit")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _used(made: LLMResult, call: ModelCall | None) -> Usage:
    message = _message(made)
    used = usage_of(message, call.size if call else 0) if message else Usage(calls=1)
    return used.model_copy(update={"models": [ModelUsed(name=call.model, provider=call.server)]}) if call else used


def _broken_off(call: ModelCall, pieces: Sequence[str], lost: int) -> Usage | None:
    """What a call has used whose reply has no end: what came of it; where all of that was `lost`, as much as it may."""
    written = arrived(pieces) or lost
    if not written:
        return None
    model = ModelUsed(name=call.model, provider=call.server)
    return Usage(input_tokens=call.size, output_tokens=written, calls=1, models=[model])


def _exception(made: object) -> BaseException | None:
    return made if isinstance(made, BaseException) else None


def _message(made: LLMResult) -> AIMessage | None:
    first = made.generations[0][0] if made.generations and made.generations[0] else None
    message = first.message if isinstance(first, ChatGeneration) else None
    return message if isinstance(message, AIMessage) else None
