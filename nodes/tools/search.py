"""The `search` tool: passages of the sources that match a few words."""

import asyncio

from langchain_core.tools import BaseTool, StructuredTool

from nodes.tools.passages import Passage
from nodes.tools.sources import Sources
from state.errors import ToolRefused

MOST = 50
CHARS = 4000
"""Characters of one passage that are shown; only table rows can be longer."""
NO_SOURCES = "no sources were given to this run; answer from the request and the inputs"


def make_search(sources: Sources | None) -> BaseTool:
    """The tool over `sources`; without any it refuses."""

    async def search(query: str, limit: int = 8) -> str:
        """Search the sources for a few words; gives the best passages, each after its label, as [guide.md#L3-L9]."""
        if sources is None:
            raise ToolRefused(NO_SOURCES)
        passages = await asyncio.to_thread(sources.search, query, max(1, min(limit, MOST)))
        if not passages:
            files = ", ".join(sources.files[:20])
            return f"No passage matches {query[:200]!r}. Try other words; the files are: {files}"
        return "\n\n".join(shown(passage) for passage in passages)

    return StructuredTool.from_function(coroutine=search, name="search")


def shown(passage: Passage) -> str:
    """A passage after its label, line for line, so that a sentence in it can be cited by its own lines."""
    text = passage.text.replace("\r\n", "\n").rstrip()
    return f"{passage.label} {text if len(text) <= CHARS else text[:CHARS] + ' …'}"
