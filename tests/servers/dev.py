"""`langgraph dev` in a process of its own: started, stopped, killed and started again on one folder."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient

ROOT = Path(__file__).resolve().parents[2]
UP_WITHIN_S = 150
IDLE_S = 1.0
"""How long a client keeps a connection that it does not use; the server hangs up after five seconds."""
DOWN_WITHIN_S = 90


def client_of(url: str) -> LangGraphClient:
    """As `langgraph_sdk.get_client`, which keeps connections as long as the server, and may ask as it hangs up."""
    transport = httpx.AsyncHTTPTransport(retries=5, limits=httpx.Limits(keepalive_expiry=IDLE_S))
    return LangGraphClient(httpx.AsyncClient(base_url=url, transport=transport, timeout=httpx.Timeout(300, connect=5)))


@dataclass
class Server:
    """A server on one folder, which has its langgraph.json; it logs into `server.log` there."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    url: str = ""
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def db(self) -> Path:
        """The database, where it serves the checkout."""
        return self.folder / "baton.db"

    @property
    def log(self) -> str:
        """What it has logged, from its first start on."""
        return (self.folder / "server.log").read_text(encoding="utf-8")

    def start(self) -> None:
        """Start it on a free port, and wait until it is up."""
        self.url = f"http://127.0.0.1:{free_port()}"
        where = ["--host", "127.0.0.1", "--port", self.url.rpartition(":")[2]]
        command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", *where]
        environment = {**os.environ, "BATON_DB": str(self.db), **self.environment}
        with (self.folder / "server.log").open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*command, "--n-jobs-per-worker", "8"], cwd=self.folder, env=environment, stdout=log, stderr=log
            )
        self._wait_until_up(self.process)

    def stop(self, with_signal: signal.Signals = signal.SIGINT) -> int:
        """End it by a signal; its exit code."""
        assert self.process
        self.process.send_signal(with_signal)
        code = self.process.wait(timeout=DOWN_WITHIN_S)
        self.process = None
        return code

    def _wait_until_up(self, process: "subprocess.Popen[bytes]") -> None:
        until = time.monotonic() + UP_WITHIN_S
        while process.poll() is None and time.monotonic() < until:
            try:
                headers = {"x-api-key": token} if (token := self.environment.get("BATON_TOKEN")) else None
                if httpx.get(f"{self.url}/ok", headers=headers, trust_env=False).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.1)  # another process starts; nothing here can be held still
        pytest.fail(f"the server did not start:\n{self.log}")


@contextmanager
def serving(folder: Path, **environment: str) -> Iterator[Server]:
    """A server on a folder, up while inside."""
    made = Server(folder, environment)
    try:
        made.start()
        yield made
    finally:
        if made.process:
            made.stop()


@contextmanager
def serving_the_checkout(folder: Path, *, app: str = "", **environment: str) -> Iterator[Server]:
    """Serves the checkout from a folder of its own, without whatever `.env` lies there; `app`: with this `http.app`."""
    for name in ("langgraph.json", "graph", "nodes", "state"):
        (folder / name).symlink_to(ROOT / name)
    if app:
        config = json.loads((folder / "langgraph.json").read_text(encoding="utf-8"))
        (folder / "langgraph.json").unlink()
        config["http"]["app"] = app
        (folder / "langgraph.json").write_text(json.dumps(config), encoding="utf-8")
    with serving(folder, **environment) as server:
        yield server


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
