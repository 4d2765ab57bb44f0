"""The `read` tool: a file of the sources from some line, page or row on."""

import asyncio

from langchain_core.tools import BaseTool, StructuredTool

from nodes.tools.search import NO_SOURCES, shown
from nodes.tools.sources import Excerpt, Sources
from state.errors import ToolRefused


def make_read(sources: Sources | None) -> BaseTool:
    """The tool over `sources`; without any it refuses."""

    async def read(file: str, start: int = 1, count: int = 80) -> str:
        """Read a source file: its lines (or pages, or table rows) from `start` on, each part after its label."""
        if sources is None:
            raise ToolRefused(NO_SOURCES)
        excerpt = await asyncio.to_thread(sources.read, file, start, count)
        return "\n\n".join([*(shown(chunk) for chunk in excerpt.chunks), _ending(excerpt)])

    return StructuredTool.from_function(coroutine=read, name="read")


def _ending(excerpt: Excerpt) -> str:
    """The last line: how much is left and how to get it."""
    if excerpt.left:
        rest = f"{excerpt.left} of {excerpt.size} are left; go on with start={excerpt.next}."
    else:
        rest = f"This is the end of {excerpt.file} ({excerpt.size})."
    return f"({excerpt.note} {rest})" if excerpt.note else f"({rest})"
