"""The control room on a port of this machine, with a team of functions that do what their task's id says."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from langchain_core.tools import tool
from starlette.applications import Starlette
from starlette.middleware import Middleware

from graph.supervisor import Supervisor
from graph.web.routes import HANDLERS, ROUTES, opened_room
from nodes.runtime.clock import SystemClock
from state.agent import AgentSpec, Brief
from tests.runs import agent, opened, plan

EVIL = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1"> [x](javascript:window.hacked=1)'
ARABIC = ("تقرير عن السوق 📈 " * 60_000).strip()
"""About a million characters."""
FACTS = "The market grew to **7.84 billion** in 2025 [market.md#L2-L3], three vendors hold most of it."


@tool
def unsend(to: str) -> str:
    """Take a letter back."""
    return f"{to} has thrown it away"


async def works(brief: Brief, desk: Any) -> Any:
    """What the task's id begins with: asks, works until it is stopped, fails, recruits, delegates, acts or reports."""
    match brief.task.id.partition("-")[0]:
        case "ask":
            name = "launch.md"
            said = await desk.ask("publish", {"name": name, "text": "First.\nSecond."}, risk="high")
            return f"{said.type}: {(said.args or {}).get('name', '')}"
        case "long":
            while True:
                await desk.pause_point()
                await asyncio.sleep(0.02)
        case "fail":
            raise ValueError("the price list has no column `price`")
        case "recruit":
            added = await desk.recruit("expert", "Check the figures.")
            return f"{added} was asked"
        case "delegate":
            first = await desk.delegate("eve", "Count the vendors.")
            return f"eve says: {first}"
        case "send":
            await desk.once("deliver", lambda to: f"sent to {to}", {"to": "all customers"}, undo="unsend")
            await desk.once("announce", lambda to: f"told {to}", {"to": "the press"})
            said = await desk.ask("launch", {"day": "Monday"}, risk="medium")
            return f"It is sent, and launched: {said.type}"
        case "evil":
            return EVIL
        case "huge":
            return ARABIC
        case "cite":
            return {"result": FACTS, "confidence": 0.82}
        case _:
            return {"result": f"{brief.task.id} is done", "confidence": 0.9}


async def counts(brief: Brief, desk: Any) -> str:
    """What comes of being asked by others."""
    return "there are seven"


def team() -> list[AgentSpec]:
    """`ada`, who may delegate to `eve`, and `ian`, an expert who comes when he is recruited."""
    return [
        agent(works, workers=["eve"], tools=[unsend]),
        agent(counts, name="eve", role="assistant"),
        agent(counts, name="ian", role="expert"),
    ]


@contextmanager
def serving(
    port: int, sup: Callable[[], AbstractAsyncContextManager[Supervisor]] | None = None, *, gate: bool = False
) -> Iterator[str]:
    """The room's address, up while inside. `gate`: behind the server's token and its rules of origin."""
    from graph.access import Gate  # noqa: PLC0415 # reads the settings when the first request comes

    middleware = [Middleware(Gate)] if gate else []
    app = Starlette(routes=ROUTES, exception_handlers=HANDLERS, middleware=middleware)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", timeout_graceful_shutdown=1))

    async def serve() -> None:
        made = sup() if sup else opened(*team(), clock=SystemClock())
        async with made as runs, opened_room(app, runs._runs, Path("uploads")):
            await server.serve()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(transport=httpx.HTTPTransport(retries=8), trust_env=False) as client:
            client.get(f"{url}/")
        yield url
    finally:
        server.should_exit = True
        thread.join()


def start(url: str, *tasks: str | dict[str, Any], query: str = "Look into it", **given: Any) -> str:
    """A run of these tasks (as `tests.runs.plan` reads them); its thread. One that will ask waits when this returns."""
    body = {"query": query, "plan": plan(*tasks), **given}
    done = httpx.post(f"{url}/api/runs", json=body, trust_env=False, timeout=60)
    assert done.status_code == 202, done.text
    thread = str(done.json()["thread_id"])
    is_asked = (given.get("policy") or {}).get("oversight") == "in_command"
    while (is_asked or any(str(task).startswith("ask") for task in tasks)) and (
        shown(url, thread)["run"]["status"] == "running"
    ):
        time.sleep(0.05)
    return thread


def shown(url: str, thread: str) -> Any:
    """What the server says of a run."""
    return httpx.get(f"{url}/api/runs/{thread}", trust_env=False, timeout=60).json()


def does(url: str, thread: str, verb: str, **body: Any) -> None:
    """A verb, as another person's page sends it."""
    done = httpx.post(f"{url}/api/runs/{thread}/{verb}", json=body, trust_env=False, timeout=60)
    assert done.status_code == 202, done.text
