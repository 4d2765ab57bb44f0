"""LangSmith by its usual variables: a run is one root between two waits, all of one thread, with names to read."""

import asyncio
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tracers.langchain import wait_for_all_tracers

from nodes.llm.scripted import ScriptedModel
from nodes.runtime.clock import SystemClock
from state.agent import AgentSpec, Brief
from tests.runs import agent, opened, plan
from tests.servers import forks
from tests.servers.loopback import Loopback

PLAIN = {
    "use_multipart_endpoint": False,
    "size_limit": 100,
    "size_limit_bytes": 20_000_000,
    "scale_up_qsize_trigger": 1000,
    "scale_up_nthreads_limit": 1,
    "scale_down_nempty_trigger": 4,
}
"""What its server says of batches: JSON, one after the other."""


class LangSmith(Loopback):
    """Takes what LangSmith's library sends: runs in batches, begun and then changed."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._say(200, {"version": "0", "instance_flags": {}, "batch_ingest_config": PLAIN})

            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert (self.path, self.headers["x-api-key"]) == ("/runs/batch", "key")
                for one in [*sent.get("post", []), *sent.get("patch", [])]:
                    known = {name: value for name, value in one.items() if value is not None}
                    outer.runs.setdefault(one["id"], {}).update(known)
                self._say(202, {})

            def _say(self, code: int, told: object) -> None:
                text = json.dumps(told).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(Handler)

    def below(self, parent: str | None) -> list[dict[str, Any]]:
        """The runs that belong to one, in the order in which they began; None: those that belong to none."""
        found = [one for one in self.runs.values() if one.get("parent_run_id") == parent]
        return sorted(found, key=lambda one: str(one["start_time"]))


@pytest.fixture
def langsmith() -> Iterator[LangSmith]:
    made = LangSmith()
    yield made
    made.close()


def carry_out(folder: Path) -> None:
    """A process: a run that asks, is answered, and ends."""

    async def works(brief: Brief, desk: Any) -> str:
        return str((await desk.ask("launch", risk="medium")).type)

    async def go() -> None:
        team = [AgentSpec(name="ada", role="generalist"), agent(works, name="bo", role="slow")]
        model = ScriptedModel(["Ada's words."], usage=(30, 7))
        async with opened(*team, model=model, db=folder / "runs.db", clock=SystemClock()) as sup:
            tasks = plan("a", {"id": "b", "role": "slow", "depends_on": ["a"]})
            waiting = await sup.start("Q", thread_id="market", plan=tasks)
            run = await sup.answer("market", {waiting.approvals[0].id: "approve"})
            sys.stdout.write(run.status)

    asyncio.run(go())
    wait_for_all_tracers()


def test_a_run_is_one_root_between_two_waits_and_everything_in_it_is_below_and_named(
    tmp_path: Path, langsmith: LangSmith
) -> None:
    usual = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": langsmith.url, "LANGSMITH_API_KEY": "key"}
    done = forks.run(carry_out, tmp_path, cwd=tmp_path, environment=usual)

    assert (done.returncode, done.stdout, done.stderr) == (0, "complete", "")
    roots = langsmith.below(None)
    assert [root["name"] for root in roots] == ["baton market", "baton market"]  # until it asks, and from the answer on
    assert [root["extra"]["metadata"]["thread_id"] for root in roots] == ["market", "market"]
    assert len({run["trace_id"] for run in langsmith.runs.values()}) == 2
    nodes = [[run["name"] for run in langsmith.below(root["id"])] for root in roots]
    assert nodes[0] == ["intake", "decompose", "route", "execute", "approve"]
    assert nodes[1] == ["approve", "execute", "review", "assemble", "finish"]
    [execute] = [run for run in langsmith.below(roots[0]["id"]) if run["name"] == "execute"]
    tasks = langsmith.below(execute["id"])
    assert [task["name"] for task in tasks] == ["work:a", "work:b"]
    assert [run["name"] for run in langsmith.below(tasks[0]["id"])] == ["try:a.0.0:ada:1"]
    calls = [run for run in langsmith.runs.values() if run["run_type"] == "llm"]
    used = [run["extra"]["metadata"]["usage_metadata"]["total_tokens"] for run in calls if not run.get("error")]
    assert (sum(used), {run["name"] for run in calls}) == (37, {"ScriptedModel"})
