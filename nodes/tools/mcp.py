"""Tools of MCP servers, through `langchain-mcp-adapters` (the extra `mcp`).

What a server offers is asked once per process; each call of a tool opens a session of its own, so that nothing is left
open between a worker's steps. Which of the tools ask a human first is decided like for any other: by their names, and
by the server's own hint that a tool destroys something.
"""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from langchain_core.tools import BaseTool

from state.agent import McpServer
from state.errors import AgentFailed, ExtraMissing

PACKAGE = "langchain_mcp_adapters"


class McpShelf:
    """The tools of every MCP server that was asked so far."""

    def __init__(self) -> None:
        self._known: dict[str, list[BaseTool]] = {}

    async def tools(self, servers: Mapping[str, McpServer]) -> list[BaseTool]:
        """All tools of `servers`, in order.

        Raises:
            AgentFailed: the extra is not installed, a server does not answer, or two offer a tool of the same name.
        """
        found: list[BaseTool] = []
        for name, server in servers.items():
            key = f"{name} {server.model_dump_json()}"
            if key not in self._known:
                self._known[key] = await _asked(name, server)
            found += self._known[key]
        names = [tool.name for tool in found]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise AgentFailed(f"the MCP servers {', '.join(servers)} all offer {', '.join(twice)}", "permanent")
        return found


async def _asked(name: str, server: McpServer) -> list[BaseTool]:
    if not await asyncio.to_thread(find_spec, PACKAGE):
        raise AgentFailed(str(ExtraMissing("tools of MCP servers", "mcp")), "permanent")
    client = (await asyncio.to_thread(import_module, f"{PACKAGE}.client")).MultiServerMCPClient(
        {name: _connection(server)}
    )
    try:
        tools: list[BaseTool] = await client.get_tools()
    except Exception as error:
        raise AgentFailed(f"the MCP server {name!r} does not answer: {_innermost(error)}", "transient") from error
    for tool in tools:
        hints: dict[str, Any] = tool.metadata or {}
        if hints.get("destructiveHint"):
            tool.metadata = {**hints, "sensitive": True, "risk": "high"}
    return tools


def _connection(server: McpServer) -> dict[str, object]:
    if server.url:
        return {"transport": "streamable_http", "url": server.url}
    given: dict[str, object] = {"transport": "stdio", "command": server.command, "args": server.args}
    return {**given, "env": server.env} if server.env else given


def _innermost(error: BaseException) -> str:
    """The first thing that really went wrong: the client wraps it in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
