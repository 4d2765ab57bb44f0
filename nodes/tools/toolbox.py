"""The built-in tools by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.tools import BaseTool

from nodes.tools.calculate import make_calculate
from nodes.tools.files import make_publish, make_unpublish, make_write
from nodes.tools.python import make_python
from nodes.tools.search import make_query, make_read, make_search
from nodes.tools.sources import Sources
from nodes.tools.storage import Location
from nodes.tools.web import Outside, make_fetch, make_web_search
from state.errors import TeamInvalid


@dataclass(frozen=True, slots=True)
class _Place:
    """What tools are made with."""

    sources: Sources | None
    folder: Location
    task_id: str
    outside: Outside


MAKERS: dict[str, Callable[[_Place], BaseTool]] = {
    "search": lambda place: make_search(place.sources),
    "read": lambda place: make_read(place.sources),
    "query": lambda place: make_query(place.sources),
    "calculate": lambda _: make_calculate(),
    "write": lambda place: make_write(place.folder, place.task_id),
    "fetch": lambda place: make_fetch(place.outside, place.folder),
    "web_search": lambda place: make_web_search(place.outside, place.folder),
    "python": lambda place: make_python(place.sources, place.folder, place.task_id),
    "publish": lambda place: make_publish(place.folder),
    "unpublish": lambda place: make_unpublish(place.folder),
}
TOOL_NAMES = tuple(MAKERS)
"""All built-in tools."""


def build_tools(
    names: Sequence[str], sources: Sources | None, folder: Location, task_id: str, outside: Outside
) -> list[BaseTool]:
    """The named tools for one task, each once, in order.

    `folder` is the run's artifacts folder; it is made when something is first written.

    Raises:
        TeamInvalid: a name that is not a built-in tool.
    """
    if unknown := [name for name in names if name not in MAKERS]:
        raise TeamInvalid(f"unknown tools {unknown}; the built-in tools are {', '.join(TOOL_NAMES)}")
    place = _Place(sources, folder, task_id, outside)
    return [MAKERS[name](place) for name in dict.fromkeys(names)]
