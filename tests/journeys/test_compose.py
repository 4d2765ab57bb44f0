"""What compose.yaml starts, by hand: tables, two workers and a server with the control room, each a process."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.conftest import ROOT
from tests.runs import plan
from tests.servers.dev import free_port

PATIENCE_S = 120
TOKEN = "open-sesame"  # of this test's server
BATON = "import sys; from graph.cli import main; sys.exit(main(sys.argv[1:]))"
TEAM = 'agents:\n  - {name: ada, role: generalist, run: "crew:works"}\n'
CREW = """
import asyncio, os
from pathlib import Path

HERE = Path(__file__).parent

async def works(brief, desk):
    with (HERE / "log").open("a") as log:
        log.write(f"{brief.task.id} {os.getpid()}\\n")
    while brief.task.id == "gate" and not (HERE / "open").exists():
        await asyncio.sleep(0.02)
    if brief.task.id == "asks":
        return (await desk.ask("launch")).type
    return f"{brief.task.id} is done"
"""


def composed() -> dict[str, Any]:
    """What compose.yaml says of its services."""
    services: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    return services


def test_the_image_has_what_it_is_made_of_and_no_more_than_the_packages() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    copied = [name for line in lines if line.startswith("COPY") for name in line.split()[1:-1]]
    assert all((ROOT / name).exists() for name in copied)
    assert {"state", "nodes", "graph", "constraints.txt", "langgraph.json"} <= {*copied}


def test_a_platform_that_brings_its_own_database_gets_the_graph_and_nothing_else() -> None:
    ours, theirs = (
        json.loads((ROOT / name).read_text("utf-8")) for name in ("langgraph.json", "langgraph.platform.json")
    )
    assert theirs == {name: ours[name] for name in ("dependencies", "graphs", "env")}


class Services:
    """The processes, by the names that compose.yaml gives them."""

    def __init__(self, folder: Path, db: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.environment = {
            **os.environ,
            "BATON_DB": db,
            "BATON_TEAM": str(folder / "team.yaml"),
            "BATON_FILES": str(folder / "files"),
            "BATON_TOKEN": TOKEN,
        }

    def command(self, service: str) -> list[str]:
        """What a service runs; elsewhere than in a container the server listens on a port of the test's."""
        words = [str(self.port) if word == "2024" else word for word in composed()[service]["command"]]
        return [sys.executable, "-c", BATON, *words]

    @contextmanager
    def up(self, service: str, **more: str) -> Iterator["subprocess.Popen[bytes]"]:
        """A service, until it is told to stop."""
        with (self.folder / f"{service}.log").open("ab") as log:
            process = subprocess.Popen(
                self.command(service), cwd=self.folder, env={**self.environment, **more}, stdout=log, stderr=log
            )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=90)

    def asked(self, method: str, path: str, **body: Any) -> Any:
        """What the control room answers."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        url = f"http://127.0.0.1:{self.port}{path}"
        answer = httpx.request(method, url, json=body or None, headers=headers, timeout=60, trust_env=False)
        if answer.is_error:
            raise httpx.HTTPError(answer.text)
        return answer.json()

    def is_up(self) -> bool:
        """Whether the control room can be asked."""
        try:
            self.asked("GET", "/api/runs")
        except httpx.HTTPError:
            return False
        return True


def until(what: Callable[[], bool], said: str) -> None:
    """Wait for what other processes do."""
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, f"{said}: it did not happen within {PATIENCE_S} seconds"
        time.sleep(0.05)


@pytest.mark.services
def test_a_run_of_the_control_room_is_answered_there_and_ended_by_the_other_worker_when_its_own_is_killed(
    empty_postgres: str, tmp_path: Path
) -> None:
    (tmp_path / "crew.py").write_text(CREW)
    (tmp_path / "team.yaml").write_text(TEAM)
    (tmp_path / "files").mkdir()
    services = Services(tmp_path, empty_postgres)

    def log() -> list[list[str]]:
        file = tmp_path / "log"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    with services.up("migrate") as migrating:
        assert migrating.wait(timeout=PATIENCE_S) == 0
    with ExitStack() as stack:
        workers = {worker.pid: worker for worker in (stack.enter_context(services.up("worker")) for _ in range(2))}
        stack.enter_context(services.up("server"))
        until(services.is_up, "the server is up")
        tasks = plan("asks", "gate <- asks", "last <- gate")
        thread_id = services.asked("POST", "/api/runs", query="Q", plan=tasks, queue=True)["thread_id"]

        def shown() -> dict[str, Any]:
            run: dict[str, Any] = services.asked("GET", f"/api/runs/{thread_id}")["run"]
            return run

        until(lambda: shown()["status"] == "waiting", "a worker asks")
        [question] = shown()["approvals"]
        services.asked("POST", f"/api/runs/{thread_id}/answer", answers={question["id"]: {"type": "approve"}}, by="eve")
        until(lambda: log()[-1][0] == "gate", "a worker is at the gate")
        killed = int(log()[-1][1])
        workers[killed].send_signal(signal.SIGKILL)
        (tmp_path / "open").touch()
        until(lambda: shown()["status"] == "complete", "the other worker goes on")

    [other] = workers.keys() - {killed}
    assert [task for task, _ in log()] == ["asks", "asks", "gate", "gate", "last"]
    assert [int(pid) for _, pid in log()[3:]] == [other, other]
