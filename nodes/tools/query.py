"""The `query` tool: SQL over the tables of the sources."""

import asyncio
from collections.abc import Sequence

from langchain_core.tools import BaseTool, StructuredTool

from nodes.tools.search import NO_SOURCES
from nodes.tools.sources import Sources
from nodes.tools.tables import QueryResult
from state.errors import ToolRefused

ROWS = 50
CELL = 300
"""Characters of one cell that are shown."""


def make_query(sources: Sources | None) -> BaseTool:
    """The tool over the tables of `sources`; without any it refuses."""

    async def query(sql: str) -> str:
        """Run one read-only SQL statement (DuckDB) over the tables of the sources; SHOW TABLES lists them."""
        if sources is None:
            raise ToolRefused(NO_SOURCES)
        return as_markdown(await asyncio.to_thread(sources.tables.query, sql, ROWS))

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
