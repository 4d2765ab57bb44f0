"""A run's trace at a collector: one tree, before and after a kill, with tokens and cost."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from graph import composition
from graph.settings import read_settings
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.errors import SettingsInvalid
from tests.runs import agent, opened, plan


class Collector:
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

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

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


async def test_a_run_is_one_tree_at_the_collector_before_and_after_a_kill(collector: Collector) -> None:
    began, tries = asyncio.Event(), 0

    async def slow(brief: Brief, desk: Any) -> str:
        nonlocal tries
        tries += 1
        began.set()
        if tries == 1:
            await asyncio.Event().wait()
        return str((await desk.ask("launch", risk="medium")).type)

    model = ScriptedModel(["Ada's words."], usage=(30, 7))
    team = [AgentSpec(name="ada", role="generalist"), agent(slow, name="bo", role="slow")]
    price: Any = {model._llm_type: {"input": 1_000_000, "output": 1_000_000}}
    async with opened(*team, model=model, learning="off", prices=price) as sup:
        given: Any = {"plan": plan("a", {"id": "b", "role": "slow", "depends_on": ["a"]})}
        running = asyncio.create_task(sup.start("Q", thread_id="t", **given))
        await began.wait()
        async with asyncio.timeout(60):
            while not collector.named("invoke_agent ada"):  # noqa: ASYNC110 # another thread tells
                await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.wait({running})
    await asyncio.to_thread(ended)  # another process
    async with opened(*team, model=model, learning="off", prices=price) as sup:
        waiting = await sup.resume("t")
        run = await sup.answer("t", {waiting.approvals[0].id: "approve"}, by="ana")

    assert (run.status, tries) == ("complete", 3)
    assert len({span.trace_id for span in collector.spans}) == 1
    ids = {span.span_id for span in collector.spans}
    roots = [span for span in collector.spans if not span.parent_span_id]
    assert [span.name for span in roots] == ["invoke_agent baton"]
    assert {span.parent_span_id for span in collector.spans} - ids == {b""}
    about = attributes(roots[0])
    assert (about["gen_ai.usage.input_tokens"], about["gen_ai.usage.output_tokens"]) == (30, 7)
    assert about["baton.cost_usd"] == run.usage.cost
    chat = next(attributes(span) for span in collector.spans if span.name.startswith("chat "))
    assert (chat["gen_ai.operation.name"], chat["gen_ai.usage.input_tokens"]) == ("chat", 30)
    assert {one["baton.task.status"] for one in collector.named("task a") + collector.named("task b")} == {"done"}
    assert collector.named("invoke_agent ada")
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
