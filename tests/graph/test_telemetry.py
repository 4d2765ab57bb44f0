"""A run's trace at a collector: one tree, before and after a kill, with tokens and cost."""

import asyncio
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from graph import composition
from graph.settings import read_settings
from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.clock import SystemClock
from state.agent import AgentSpec, Brief
from state.errors import SettingsInvalid
from tests.runs import agent, opened, plan
from tests.servers import forks
from tests.servers.loopback import Loopback


class Collector(Loopback):
    """Takes what OpenTelemetry sends over HTTP, as protobuf."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/v1/traces":
                    sent = ExportTraceServiceRequest.FromString(body)
                    outer.spans += [one for r in sent.resource_spans for s in r.scope_spans for one in s.spans]
                else:
                    told = ExportMetricsServiceRequest.FromString(body)
                    outer.metrics |= {m.name for r in told.resource_metrics for s in r.scope_metrics for m in s.metrics}
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(Handler)

    def named(self, name: str) -> list[dict[str, Any]]:
        """The attributes of the spans of a name."""
        return [attributes(span) for span in self.spans if span.name == name]


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def ended() -> None:
    """End the process that tells, as far as it tells: its threads would go on in other tests."""
    telling: Any = composition._telemetry()
    telling._spans.shutdown()
    telling._metrics.shutdown()
    composition._telemetry.cache_clear()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made = Collector()
    monkeypatch.setenv("BATON_TELEMETRY", "otlp")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.url)
    composition._telemetry.cache_clear()
    yield made
    ended()
    made.close()


MODEL = ScriptedModel(["Ada's words."], usage=(30, 7))


def team(folder: Path) -> list[AgentSpec]:
    """Ada, who thinks, and Bo, who works until he is killed, and at the next try asks."""

    async def slow(brief: Brief, desk: Any) -> str:
        if (mark := folder / "began").exists():
            return str((await desk.ask("launch", risk="medium")).type)
        mark.touch()
        return str(await asyncio.Event().wait())

    return [AgentSpec(name="ada", role="generalist"), agent(slow, name="bo", role="slow")]


def supervised(folder: Path) -> AbstractAsyncContextManager[Supervisor]:
    price: Any = {MODEL._llm_type: {"input": 1_000_000, "output": 1_000_000}}
    return opened(*team(folder), model=MODEL, db=folder / "runs.db", clock=SystemClock(), learning="off", prices=price)


def run_until_killed(folder: Path) -> None:
    """A process: starts the run, which never ends."""

    async def start() -> None:
        async with supervised(folder) as sup:
            await sup.start("Q", thread_id="t", plan=plan("a", {"id": "b", "role": "slow", "depends_on": ["a"]}))

    asyncio.run(start())


def go_on(folder: Path) -> None:
    """Another one: takes it up, and answers what it asks."""

    async def resume() -> None:
        async with supervised(folder) as sup:
            waiting = await sup.resume("t")
            run = await sup.answer("t", {waiting.approvals[0].id: "approve"}, by="ana")
            sys.stdout.write(f"{run.status} {run.usage.cost}")

    asyncio.run(resume())


def test_a_run_is_one_tree_at_the_collector_before_and_after_a_kill(tmp_path: Path, collector: Collector) -> None:
    environment = {"BATON_TELEMETRY": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    first = forks.spawn(run_until_killed, tmp_path, cwd=tmp_path, environment=environment)
    until = time.monotonic() + forks.PATIENCE_S
    while not (collector.named("invoke_agent ada") and (tmp_path / "began").exists()) and time.monotonic() < until:
        time.sleep(0.05)  # another process tells
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    before = list(collector.spans)
    second = forks.run(go_on, tmp_path, cwd=tmp_path, environment=environment)

    assert (second.returncode, second.stderr) == (0, "")
    status, cost = second.stdout.split()
    assert status == "complete"
    assert {span.name for span in before} >= {"invoke_agent ada"}
    assert len({span.trace_id for span in collector.spans}) == 1
    ids = [span.span_id for span in collector.spans]
    assert len(ids) == len({*ids})
    roots = [span for span in collector.spans if not span.parent_span_id]
    assert [span.name for span in roots] == ["invoke_agent baton"]
    assert {span.parent_span_id for span in collector.spans} - {*ids} == {b""}
    about, tokens = attributes(roots[0]), ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
    chats = [attributes(span) for span in collector.spans if span.name.startswith("chat ")]
    assert [sum(chat.get(kind, 0) for chat in chats) for kind in tokens] == [60, 14]  # a reply in each process
    assert [about[kind] for kind in tokens] == [60, 14]
    assert about["baton.cost_usd"] == float(cost) > 0
    assert {chat["gen_ai.operation.name"] for chat in chats} == {"chat"}
    assert {one["baton.task.status"] for one in collector.named("task a") + collector.named("task b")} == {"done"}
    assert len(collector.named("invoke_agent bo")) == 2  # until it asked, and to the end; the killed one told nothing
    decided = [attributes(span) for span in collector.spans if span.name.startswith("approval")]
    assert [one["baton.approval.decision"] for one in decided] == ["approve"]
    assert {"gen_ai.client.operation.duration", "baton.runs"} <= collector.metrics


async def test_a_collector_that_is_away_keeps_no_run_from_its_end(
    monkeypatch: pytest.MonkeyPatch, collector: Collector
) -> None:
    collector.close()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.1")
    async with opened(agent()) as sup:
        assert (await sup.start("Q", plan=plan("a"))).status == "complete"


def test_another_way_to_tell_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_TELEMETRY", "carrier pigeon")
    with pytest.raises(SettingsInvalid, match="BATON_TELEMETRY"):
        read_settings()
