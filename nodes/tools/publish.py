"""The `publish` tool, which is sensitive, and `unpublish`, which undoes it.

Publishing puts a text into a channel's folder, `published/<channel>/`, from where whatever delivers it may fetch it.
It can be repeated safely: the same text again changes nothing, another text under the same name is refused.
"""

import asyncio
import re
from pathlib import Path

from langchain_core.tools import BaseTool, StructuredTool

from nodes.tools.filing import encoded, place_in, put
from state.errors import ToolRefused

PUBLISHED = "published"
CHANNEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def make_publish(folder: Path) -> BaseTool:
    """The tool; `folder` is the run's artifacts folder."""

    async def publish(name: str, content: str, channel: str = "outbox") -> str:
        """Publish a text under a name in a channel. People outside may see it at once."""
        added = await asyncio.to_thread(_publish, folder, name, content, channel)
        return f"published {channel}/{name}" if added else f"{channel}/{name} was published already, with this content"

    metadata = {"sensitive": True, "risk": "high", "undo": "unpublish", "cost": 0.0}
    return StructuredTool.from_function(coroutine=publish, name="publish", metadata=metadata)


def make_unpublish(folder: Path) -> BaseTool:
    """The tool that undoes `publish`; `folder` is the run's artifacts folder."""

    async def unpublish(name: str, channel: str = "outbox") -> str:
        """Take back what was published under a name in a channel."""
        removed = await asyncio.to_thread(_unpublish, folder, name, channel)
        return f"took back {channel}/{name}" if removed else f"{channel}/{name} is not published; nothing to take back"

    metadata = {"sensitive": True, "risk": "medium", "cost": 0.0}
    return StructuredTool.from_function(coroutine=unpublish, name="unpublish", metadata=metadata)


def _publish(folder: Path, name: str, content: str, channel: str) -> bool:
    return put(_target(folder, name, channel), encoded(content), overwrite=False)


def _unpublish(folder: Path, name: str, channel: str) -> bool:
    target = _target(folder, name, channel)
    try:
        target.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ToolRefused(f"{channel}/{name} cannot be taken back ({error.strerror}); remove it by hand") from None
    return True


def _target(folder: Path, name: str, channel: str) -> Path:
    if not CHANNEL.fullmatch(channel):
        raise ToolRefused(f"the channel {channel[:100]!r} cannot be used; use letters, digits, _ and -, such as outbox")
    return place_in(folder, f"{PUBLISHED}/{channel}/{name}")
