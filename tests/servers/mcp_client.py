"""Calls of the server's tools by the Model Context Protocol's own client."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

Call = Callable[..., Awaitable[tuple[str, dict[str, Any]]]]
"""A tool's name and arguments; its text, and what it gives as data, which is empty where the call was refused."""


@asynccontextmanager
async def session_of(client: httpx.AsyncClient) -> AsyncIterator[ClientSession]:
    """A session with the server that the client reaches."""
    url = str(client.base_url.join("/mcp"))
    async with (
        streamable_http_client(url, http_client=client) as (reads, writes, _),
        ClientSession(reads, writes) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def tools_of(client: httpx.AsyncClient) -> AsyncIterator[Call]:
    """Its tools, by name."""
    async with session_of(client) as session:

        async def call(name: str, **given: Any) -> tuple[str, dict[str, Any]]:
            told = await session.call_tool(name, given)
            [content] = told.content
            assert isinstance(content, TextContent)
            assert told.isError == (told.structuredContent is None)
            return content.text, told.structuredContent or {}

        yield call
