"""Traces and metrics of runs for OpenTelemetry, by its conventions for generative AI (the extra `otel`).

One trace a run: the run, its tasks, each try of an agent, the calls of models and tools in it, and questions to humans.
Ids follow from thread, start and place, so what a process told before it was killed, and what the next one tells, are
one tree. Tries and calls are told when they end; the run, its tasks and its questions when the run does, from its event
log, which all its processes have written. Texts are not told: only names, times, tokens, cost and errors.
Where to is said by OpenTelemetry's own variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME` …).
"""

# ruff: noqa: ARG002 # LangChain hands its handlers more than is told

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook

from nodes.runtime.observing import EndedRun, Place, harmless
from state.errors import ExtraMissing
from state.event import Event

try:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
except ModuleNotFoundError as missing:
    raise ExtraMissing("traces", "otel") from missing

SCOPE = InstrumentationScope("baton")
Attributes = Mapping[str, str | int | float | bool]
OFTEN_MS = 500
"""Milliseconds after which spans are sent, unless OTEL_BSP_SCHEDULE_DELAY says otherwise: a kill loses no more."""
FLUSH_S = 10
"""Seconds that the end of a run may take to be told."""

_place: ContextVar[Place | None] = ContextVar("traced_place", default=None)
_calls: ContextVar["_Calls | None"] = ContextVar("traced_calls", default=None)
register_configure_hook(_calls, inheritable=True)


class Telemetry:
    """Tells a collector."""

    def __init__(self) -> None:
        resource = Resource.create({"service.name": "baton"})
        self._resource = resource
        delay = None if "OTEL_BSP_SCHEDULE_DELAY" in os.environ else OFTEN_MS
        self._spans = BatchSpanProcessor(OTLPSpanExporter(), schedule_delay_millis=delay)
        self._metrics = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource)
        meter = self._metrics.get_meter("baton")
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of a call")
        self._seconds = meter.create_histogram("gen_ai.client.operation.duration", "s", "How long a call took")
        self._runs = meter.create_counter("baton.runs", "{run}", "Runs that have ended")
        self._handler = _Calls(self)

    @contextmanager
    def watching(self, place: Place) -> Iterator[None]:
        """Within this, calls of models and tools are told as of that place; so is the try itself, when it ends."""
        began, here, calls = time.time(), _place.set(place), _calls.set(self._handler)
        failed = ""
        try:
            yield
        except BaseException as error:
            failed = type(error).__name__
            raise
        finally:
            _place.reset(here)
            _calls.reset(calls)
            if place.label:
                with harmless():
                    about = {
                        "gen_ai.operation.name": "invoke_agent",
                        "gen_ai.agent.name": place.agent,
                        "baton.task.id": place.task_id,
                        "baton.attempt": place.label,
                    }
                    up = _id(place, f"task:{place.task_id}")
                    span = (f"invoke_agent {place.agent}", _try(place), up, began, time.time())
                    self.tell(place, *span, about, failed)

    async def ended(self, run: EndedRun) -> None:
        """Tell the run, its tasks and its questions, and wait until all of it is there."""
        for name, own, up, start, end, about, failed in spans_of(run):
            self.tell(run.place, name, own, up, start, end, about, failed)
        self._runs.add(1, {"baton.run.status": run.status})
        await asyncio.to_thread(self._flush)

    def tell(
        self,
        place: Place,
        name: str,
        own: int,
        up: int | None,
        start: float,
        end: float,
        about: Attributes,
        failed: str = "",
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        """Tell one span; times in seconds since the epoch."""
        trace = _trace(place)
        status = Status(StatusCode.ERROR, failed) if failed else Status(StatusCode.UNSET)
        self._spans.on_end(
            ReadableSpan(
                name,
                _context(trace, own),
                _context(trace, up) if up is not None else None,
                self._resource,
                {"gen_ai.conversation.id": place.thread_id, **about},
                kind=kind,
                status=status,
                start_time=int(start * 1e9),
                end_time=int(max(start, end) * 1e9),
                instrumentation_scope=SCOPE,
            )
        )

    def count(self, seconds: float, about: Attributes, tokens: Mapping[str, int]) -> None:
        """Tell the metrics of one call."""
        self._seconds.record(seconds, dict(about))
        for kind, number in tokens.items():
            self._tokens.record(number, {**about, "gen_ai.token.type": kind})

    def _flush(self) -> None:
        with harmless():
            self._spans.force_flush(FLUSH_S * 1000)
            self._metrics.force_flush(FLUSH_S * 1000)


Span = tuple[str, int, int | None, float, float, dict[str, str | int | float | bool], str]
"""Name, id, the id above, start, end, attributes, and what went wrong."""


def spans_of(run: EndedRun) -> list[Span]:
    """The run, its tasks and its questions, from its event log."""
    place = run.place
    root = _id(place, "run")
    about: dict[str, str | int | float | bool] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "baton",
        "gen_ai.request.model": run.model,
        "gen_ai.usage.input_tokens": run.used.input_tokens,
        "gen_ai.usage.output_tokens": run.used.output_tokens,
        "baton.cost_usd": run.used.cost,
        "baton.calls": run.used.calls,
        "baton.run.status": run.status,
    }
    failed = (run.error or run.status) if run.status == "failed" else ""
    told: list[Span] = [("invoke_agent baton", root, None, place.started_at, run.finished_at, about, failed)]
    began: dict[str, Event] = {}
    asked: dict[str, Event] = {}
    for event in run.events:
        task = event.task_id or ""
        if event.kind == "task_started" and not event.is_nested:
            began.setdefault(task, event)
        elif event.kind == "task_finished" and task in began and not event.is_nested:
            told.append(_task(place, root, began[task], event))
        elif event.kind == "approval_requested":
            asked.setdefault(str(event.data.get("id")), event)
        elif event.kind == "approval_answered" and (question := asked.pop(str(event.data.get("id")), None)):
            told.append(_approval(place, root, question, event, set(began)))
    return told


def _task(place: Place, root: int, began: Event, ended: Event) -> Span:
    status, data = str(ended.data.get("status")), ended.data
    about: dict[str, str | int | float | bool] = {
        "baton.task.id": str(ended.task_id),
        "baton.task.status": status,
        "baton.task.attempts": int(str(data.get("attempts") or 0)),
        "baton.tokens": int(str(data.get("tokens") or 0)),
        "gen_ai.agent.name": ended.agent or "",
    }
    failed = str(data.get("reason") or status) if status == "failed" else ""
    return f"task {ended.task_id}", _id(place, f"task:{ended.task_id}"), root, began.ts, ended.ts, about, failed


def _approval(place: Place, root: int, asked: Event, answered: Event, tasks: set[str]) -> Span:
    name = str(asked.data.get("id"))
    about: dict[str, str | int | float | bool] = {
        "baton.approval.id": name,
        "baton.approval.action": str(asked.data.get("action") or ""),
        "baton.approval.risk": str(asked.data.get("risk") or ""),
        "baton.approval.decision": str(answered.data.get("decision") or ""),
        "baton.approval.by": str(answered.data.get("by") or ""),
    }
    up = _id(place, f"task:{asked.task_id}") if asked.task_id in tasks else root
    return f"approval {name}", _id(place, f"approval:{name}"), up, asked.ts, answered.ts, about, ""


def _trace(place: Place) -> int:
    """16 bytes, the same in each process that works on the run."""
    return int.from_bytes(sha256(f"{place.thread_id}\0{place.started_at!r}".encode()).digest()[:16])


def _id(place: Place, what: str) -> int:
    """8 bytes, likewise."""
    named = f"{place.thread_id}\0{place.started_at!r}\0{what}"
    return int.from_bytes(sha256(named.encode("utf-8", "surrogatepass")).digest()[:8])


def _try(place: Place) -> int:
    """That of a try, or of a stretch of one."""
    return _id(place, f"{place.label}\0{place.segment}")


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


@dataclass
class _Open:
    """A call that has begun."""

    place: Place
    start: float
    name: str
    about: dict[str, str | int | float | bool] = field(default_factory=dict)


class _Calls(BaseCallbackHandler):
    """Hears of calls of models and tools, wherever LangChain makes them."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._open: dict[UUID, _Open] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A model is asked."""
        said = metadata or {}
        model = str(said.get("ls_model_name") or (kwargs.get("invocation_params") or {}).get("model") or "model")
        self._begin(run_id, f"chat {model}", {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": str(said.get("ls_provider") or "unknown"),
            "gen_ai.request.model": model,
        })  # fmt: skip

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """It has replied."""
        first = response.generations[0][0] if response.generations and response.generations[0] else None
        message = first.message if isinstance(first, ChatGeneration) else None
        counted = message.usage_metadata if isinstance(message, AIMessage) else None
        tokens = {"input": counted["input_tokens"], "output": counted["output_tokens"]} if counted else {}
        self._end(run_id, {f"gen_ai.usage.{kind}_tokens": number for kind, number in tokens.items()}, tokens=tokens)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """It has not."""
        self._end(run_id, {"error.type": type(error).__name__}, failed=type(error).__name__)

    def on_tool_start(self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool is called."""
        name = str((serialized or {}).get("name") or kwargs.get("name") or "tool")
        self._begin(run_id, f"execute_tool {name}", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name})

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """It has answered."""
        self._end(run_id, {})

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """It has failed."""
        self._end(run_id, {"error.type": type(error).__name__}, failed=type(error).__name__)

    def _begin(self, run_id: UUID, name: str, about: dict[str, str | int | float | bool]) -> None:
        if place := _place.get():
            self._open[run_id] = _Open(place, time.time(), name, about)

    def _end(
        self, run_id: UUID, about: Attributes, *, tokens: Mapping[str, int] | None = None, failed: str = ""
    ) -> None:
        call = self._open.pop(run_id, None)
        if call is None:
            return
        with harmless():
            end, place = time.time(), call.place
            up = _try(place) if place.label else _id(place, "run")
            is_chat = call.about["gen_ai.operation.name"] == "chat"
            span = (call.name, _id(place, str(run_id)), up, call.start, end, {**call.about, **about}, failed)
            self._telemetry.tell(place, *span, kind=SpanKind.CLIENT if is_chat else SpanKind.INTERNAL)
            if is_chat:
                self._telemetry.count(end - call.start, call.about, tokens or {})
