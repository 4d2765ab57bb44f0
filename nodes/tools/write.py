"""The `write` tool: a file below the run's artifacts folder."""

import asyncio
from pathlib import Path

from langchain_core.tools import BaseTool, StructuredTool

from nodes.tools.filing import digest, encoded, place_in, put
from nodes.tools.publish import PUBLISHED
from state.artifact import Artifact
from state.errors import ToolRefused
from state.supervisor import Json

REPORT = "report.md"
"""Kept free for the report of the run."""


def make_write(folder: Path, task_id: str) -> BaseTool:
    """The tool for one task; `folder` is the run's artifacts folder (made when first needed)."""

    async def write(name: str, content: str) -> tuple[str, Json]:
        """Write a text file (an artifact) such as notes/summary.md; the same name again replaces it."""
        artifact = await asyncio.to_thread(store, folder, name, content, task_id)
        return f"wrote {artifact.name} ({artifact.bytes} bytes)", artifact.model_dump(mode="json")

    return StructuredTool.from_function(coroutine=write, name="write", response_format="content_and_artifact")


def store(folder: Path, name: str, content: str, task_id: str) -> Artifact:
    """Writes the artifact, whole or not at all; the same content again changes nothing. Blocking.

    Raises:
        ToolRefused: a name or content that cannot be used.
    """
    name = name.removeprefix("./")
    if name.split("/")[0].casefold() == PUBLISHED:
        raise ToolRefused(f"{name[:200]!r} lies in the published folder; use the publish tool, or another name")
    if name.casefold() == REPORT:
        raise ToolRefused(f"{REPORT} is where the run's report goes; use another name")
    target = place_in(folder, name)
    data = encoded(content)
    put(target, data, overwrite=True)
    return Artifact(name=name, path=str(target.resolve()), bytes=len(data), sha256=digest(data), task_id=task_id)
