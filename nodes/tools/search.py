"""The tools over the sources: `search` their passages, `read` a place, `query` their tables by SQL."""

import asyncio
import json
import re
from collections.abc import Sequence
from functools import partial

from langchain_core.tools import BaseTool, StructuredTool

from nodes.tools.index import TOGETHER, Hits
from nodes.tools.passages import Passage
from nodes.tools.sources import Excerpt, Sources
from nodes.tools.tables import SECONDS, QueryResult, too_slow
from nodes.tools.thread import in_thread
from state.errors import ToolRefused

MOST = 50
CHARS = 4000
"""Characters of one passage that are shown; only table rows can be longer."""
GRACE_S = 1.0
"""Seconds that a query may take to stop."""
NO_SOURCES = "no sources were given to this run; answer from the request and the inputs"


def make_search(sources: Sources | None) -> BaseTool:
    """The tool over `sources`; without any it refuses."""

    async def search(query: str, limit: int = 8, chars: int = TOGETHER) -> str:
        """Search the sources for a few words; gives the best passages of so many chars, after labels: [a.md#L3-L9]."""
        if sources is None:
            raise ToolRefused(NO_SOURCES)
        hits = await asyncio.to_thread(sources.search, query, max(1, min(limit, MOST)), min(chars, CHARS))
        if not hits.passages:
            files = ", ".join(sources.files[:20])
            return f"No passage matches {query[:200]!r}. Try other words; the files are: {files}"
        return "\n\n".join([*(shown(passage) for passage in hits.passages), coverage(hits)])

    return StructuredTool.from_function(coroutine=search, name="search")


def coverage(hits: Hits) -> str:
    """The last line of a search: what it says about the query itself."""
    unknown = ", ".join(json.dumps(word, ensure_ascii=False) for word in hits.unknown[:10]) or "none"
    best = f"The best passages answer the query with a likelihood of {hits.likely:.0%}"
    return f"(Words in no passage: {unknown}. {best}; the second fits {hits.second:.0%} as well as the first.)"


def shown(passage: Passage) -> str:
    """A passage after its label, line for line, so that a sentence in it can be cited by its own lines."""
    text = passage.text.replace("\r\n", "\n").rstrip()
    if len(text) > CHARS:
        text = re.sub(r"\s+\S{0,80}\Z", "", text[:CHARS]) + " …"
    return f"{passage.label} {text}"


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


ROWS = 50
CELL = 300
"""Characters of one cell that are shown."""


def make_query(sources: Sources | None, seconds: float = SECONDS) -> BaseTool:
    """The tool over the tables of `sources`; without any it refuses."""

    async def query(sql: str) -> str:
        """Run one read-only SQL statement (DuckDB) over the tables of the sources; SHOW TABLES lists them."""
        if sources is None:
            raise ToolRefused(NO_SOURCES)
        try:  # in a thread of its own: one that DuckDB does not stop in time holds up nobody
            async with asyncio.timeout(seconds + GRACE_S):
                return as_markdown(await in_thread(partial(sources.tables.query, sql, ROWS, seconds=seconds)))
        except TimeoutError:
            raise too_slow(seconds) from None

    return StructuredTool.from_function(coroutine=query, name="query")


def as_markdown(result: QueryResult) -> str:
    """The labels of the tables used, the rows as a Markdown table, and whether there were more."""
    parts = [" ".join(f"[{file}#table]" for file in result.tables)] if result.tables else []
    head = [_line(result.columns), _line(["---"] * len(result.columns))]
    parts.append("\n".join([*head, *(_line(row) for row in result.rows)]))
    if not result.rows:
        parts.append("(no rows)")
    if result.truncated:
        parts.append(f"(only the first {len(result.rows)} rows are shown; aggregate, filter or use LIMIT with OFFSET)")
    return "\n\n".join(parts)


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(value: object) -> str:
    """A value in one line; figures with up to 12 significant digits, so that 0.1 + 0.2 is 0.3."""
    if value is None:
        return ""
    text = f"{value:.12g}" if isinstance(value, float) and abs(value) < 1e12 else str(value)
    text = " ".join(text.split()).replace("|", "\\|")
    return text if len(text) <= CELL else f"{text[:CELL]} …"
