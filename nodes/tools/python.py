"""The tool `python`: runs what a coder wrote, held in by the sandbox, and keeps the files that it makes."""

import asyncio
import os
import stat
import tempfile
from pathlib import Path

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import JsonValue

from nodes.tools.files import put_artifact
from nodes.tools.sandbox import ALL_BYTES, Ran, run_script
from nodes.tools.sources import Sources
from nodes.tools.storage import Location
from state.errors import ToolRefused
from state.record import Artifact
from state.text import Json, counted

SHOWN = 8_000
"""Characters of what was printed that its writer sees: the end of it, where errors stand."""
KEPT = 20
"""Files that become artifacts, at most."""


def make_python(sources: Sources | None, folder: Location, task_id: str) -> BaseTool:
    """The tool for one task; `folder` is the run's artifacts folder."""

    async def python(code: str) -> tuple[str, Json]:
        """Run a Python script, without network; tables are CSV files in /sources, files that it writes are kept."""
        with tempfile.TemporaryDirectory(prefix="baton-") as place:
            work, given = Path(place, "work"), Path(place, "sources")
            await asyncio.to_thread(_prepare, work, given, sources)
            ran = await run_script(code, work, given)
            kept, left = await asyncio.to_thread(_keep, work, folder, task_id)
        made: list[JsonValue] = [artifact.model_dump(mode="json") for artifact in kept]
        said = "\n".join(filter(None, [ran.printed[-SHOWN:].rstrip(), ran.ended and f"({ran.ended})"]))
        return _told(ran, kept, left), {"artifacts": made, "said": said}

    metadata = {"sensitive": True, "risk": "high", "cost": 0.0}
    return StructuredTool.from_function(
        coroutine=python, name="python", response_format="content_and_artifact", metadata=metadata
    )


def _prepare(work: Path, given: Path, sources: Sources | None) -> None:
    work.mkdir()
    given.mkdir()
    for table in sources.tables.by_file.values() if sources else ():
        sources.tables.export(table, given / f"{table.name}.csv")  # type: ignore[union-attr]


def _keep(work: Path, folder: Location, task_id: str) -> tuple[list[Artifact], list[str]]:
    """The files that the script made, as artifacts, and the names of those that could not be."""
    kept: list[Artifact] = []
    left: list[str] = []
    size = 0
    for path in sorted(work.rglob("*")):
        name = path.relative_to(work).as_posix()
        if path.is_symlink() or not path.is_file():
            continue
        try:
            content = _content(path)
            size += len(content)
            if len(kept) == KEPT or size > ALL_BYTES:
                raise ToolRefused(f"{KEPT} are kept")
            kept.append(put_artifact(folder, name, content, task_id))
        except (ToolRefused, OSError):
            left.append(name)
    return kept, left


def _content(path: Path) -> bytes:
    """What is in a file; not what a link that came in its place leads to."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ToolRefused("it is no file")
        return file.read()


def _told(ran: Ran, kept: list[Artifact], left: list[str]) -> str:
    parts = [ran.printed[-SHOWN:].rstrip() or "(it printed nothing)"]
    if ran.ended:
        parts.append(f"It did not come to its end: {ran.ended}.")
    if kept:
        parts.append("Artifacts: " + ", ".join(f"{one.name} ({one.bytes} bytes)" for one in kept))
    if left:
        parts.append(f"Not kept: {counted(len(left), 'file')} ({', '.join(left[:5])})")
    return "\n\n".join(parts)
