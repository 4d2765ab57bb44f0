"""The built-in tools by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from langchain_core.tools import BaseTool

from nodes.tools.calculate import make_calculate
from nodes.tools.files import make_publish, make_unpublish, make_write
from nodes.tools.search import make_query, make_read, make_search
from nodes.tools.sources import Sources
from state.errors import TeamInvalid


@dataclass(frozen=True, slots=True)
class _Bench:
    """What tools are made with."""

    sources: Sources | None
    folder: Path
    task_id: str


MAKERS: dict[str, Callable[[_Bench], BaseTool]] = {
    "search": lambda bench: make_search(bench.sources),
    "read": lambda bench: make_read(bench.sources),
    "query": lambda bench: make_query(bench.sources),
    "calculate": lambda _: make_calculate(),
    "write": lambda bench: make_write(bench.folder, bench.task_id),
    "publish": lambda bench: make_publish(bench.folder),
    "unpublish": lambda bench: make_unpublish(bench.folder),
}
TOOL_NAMES = tuple(MAKERS)
"""All built-in tools."""


def build_tools(names: Sequence[str], sources: Sources | None, folder: Path, task_id: str) -> list[BaseTool]:
    """The named tools for one task, each once, in order.

    `folder` is the run's artifacts folder; it is made when something is first written.

    Raises:
        TeamInvalid: a name that is not a built-in tool.
    """
    if unknown := [name for name in names if name not in MAKERS]:
        raise TeamInvalid(f"unknown tools {unknown}; the built-in tools are {', '.join(TOOL_NAMES)}")
    bench = _Bench(sources, folder, task_id)
    return [MAKERS[name](bench) for name in dict.fromkeys(names)]
