"""The tools that write: `write`, `publish`, and `unpublish`, which undoes publishing.

A file has a name that an agent chose: it goes inside one folder, whole or not at all. Publishing, which is
sensitive, puts a text into a channel's folder, `published/<channel>/`, from where whatever delivers it may fetch it.
It can be repeated safely: the same text again changes nothing, another text under the same name is refused.
"""

import asyncio
import re
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from langchain_core.tools import BaseTool, StructuredTool

from nodes.tools.storage import Location, RemotePath, lies_in
from state.errors import ToolRefused
from state.record import Artifact
from state.text import Json

BYTES = 10 * 1024 * 1024
DEPTH = 6
UNSAFE = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>|\ud800-\udfff]")


def place_in(folder: Location, name: str) -> Location:
    """Where `name` lies below `folder`.

    Raises:
        ToolRefused: it is empty, absolute, hidden, leads upwards or through a link, or no file can have it.
    """
    parts = name.split("/")
    if not name.strip() or UNSAFE.search(name) or len(parts) > DEPTH:
        raise ToolRefused(f"the name {name[:200]!r} cannot be used; use letters, digits, spaces and . _ - in each part")
    if any(not part.strip() or part.startswith(".") or len(part.encode()) > 200 for part in parts):
        raise ToolRefused(f"the name {name[:200]!r} is absolute, hidden, too long or leads upwards; use notes/a.md")
    if any(part != part.strip() for part in parts):  # some systems drop them: ` published/a` would be `published/a`
        raise ToolRefused(f"a part of the name {name[:200]!r} begins or ends with a blank; leave that out")
    target = folder.joinpath(*parts)
    if isinstance(target, Path) and (target.is_symlink() or not lies_in(target.parent.resolve(), folder.resolve())):
        raise ToolRefused(f"the name {name[:200]!r} leads through a link; use another")
    if target.is_dir():
        raise ToolRefused(f"{name[:200]!r} is a folder; use another name")
    return target


def encoded(content: str) -> bytes:
    """The content as UTF-8.

    Raises:
        ToolRefused: it is too large, or has characters that cannot be stored.
    """
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolRefused(f"the content cannot be stored as UTF-8 (character {error.start}); leave that out") from None
    if len(data) > BYTES:
        raise ToolRefused(f"the content has {len(data)} bytes, more than {BYTES}; write several smaller files")
    return data


def put(target: Location, data: bytes, *, overwrite: bool) -> bool:
    """Writes `data` to `target` in one step; false when it is there already, to the byte.

    Raises:
        ToolRefused: another content is there and `overwrite` is not set, or the folder cannot be written to.
    """
    try:
        if _holds(target, data):
            return False
        if isinstance(target, RemotePath):
            return _send(target, data, overwrite=overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        return _move_in(target, data, overwrite=overwrite)
    except OSError as error:
        raise ToolRefused(f"{target.name!r} cannot be written ({error.strerror}); try another name") from None


def digest(data: bytes) -> str:
    """Its SHA-256, in hex."""
    return sha256(data).hexdigest()


def _move_in(target: Path, data: bytes, *, overwrite: bool) -> bool:
    """A whole file beside the target, then one rename (or a link, which fails where something is)."""
    part = target.parent / f".part-{uuid4().hex}"
    try:
        with part.open("xb") as file:  # by the umask, which `tempfile` does not ask
            file.write(data)
        if overwrite:
            part.replace(target)
            return True
        target.hardlink_to(part)
    except FileExistsError:
        return _was_put(target, data)
    finally:
        part.unlink(missing_ok=True)
    return True


def _send(target: RemotePath, data: bytes, *, overwrite: bool) -> bool:
    """One request of the storage's; what it leaves of one that breaks off is the storage's promise (S3: nothing)."""
    try:
        (target.write_bytes if overwrite else target.create)(data)
    except FileExistsError:
        return _was_put(target, data)
    return True


def _was_put(target: Location, data: bytes) -> bool:
    """False: it is there, to the byte, since somebody put it there a moment ago; anything else is refused."""
    if _holds(target, data):
        return False
    raise ToolRefused(f"{target.name!r} is there already with another content; use another name") from None


def _holds(target: Location, data: bytes) -> bool:
    try:
        if isinstance(target, Path) and target.stat().st_size != len(data):
            return False
        return target.read_bytes() == data
    except FileNotFoundError:
        return False


REPORT = "report.md"
"""Kept free for the report of the run."""


def make_write(folder: Location, task_id: str) -> BaseTool:
    """The tool for one task; `folder` is the run's artifacts folder (made when first needed)."""

    async def write(name: str, content: str) -> tuple[str, Json]:
        """Write a text file (an artifact) such as notes/summary.md; the same name again replaces it."""
        artifact = await asyncio.to_thread(store, folder, name, content, task_id)
        return f"wrote {artifact.name} ({artifact.bytes} bytes)", artifact.model_dump(mode="json")

    return StructuredTool.from_function(coroutine=write, name="write", response_format="content_and_artifact")


def store(folder: Location, name: str, content: str, task_id: str) -> Artifact:
    """Writes the artifact, whole or not at all; the same content again changes nothing. Blocking.

    Raises:
        ToolRefused: a name or content that cannot be used.
    """
    return put_artifact(folder, name, encoded(content), task_id)


def put_artifact(folder: Location, name: str, data: bytes, task_id: str) -> Artifact:
    """Writes bytes as an artifact; see `store`."""
    name = name.removeprefix("./")
    if name.split("/")[0].casefold() == PUBLISHED:
        raise ToolRefused(f"{name[:200]!r} lies in the published folder; use the publish tool, or another name")
    if name.casefold() == REPORT:
        raise ToolRefused(f"{REPORT} is where the run's report goes; use another name")
    if len(data) > BYTES:
        raise ToolRefused(f"{name[:200]!r} has {len(data)} bytes, more than {BYTES}; make several smaller files")
    target = place_in(folder, name)
    put(target, data, overwrite=True)
    return Artifact(name=name, path=str(target.resolve()), bytes=len(data), sha256=digest(data), task_id=task_id)


PUBLISHED = "published"
CHANNEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def make_publish(folder: Location) -> BaseTool:
    """The tool; `folder` is the run's artifacts folder."""

    async def publish(name: str, content: str, channel: str = "outbox") -> str:
        """Publish a text under a name in a channel. People outside may see it at once."""
        added = await asyncio.to_thread(_publish, folder, name, content, channel)
        return f"published {channel}/{name}" if added else f"{channel}/{name} was published already, with this content"

    metadata = {"sensitive": True, "risk": "high", "undo": "unpublish", "cost": 0.0}
    return StructuredTool.from_function(coroutine=publish, name="publish", metadata=metadata)


def make_unpublish(folder: Location) -> BaseTool:
    """The tool that undoes `publish`; `folder` is the run's artifacts folder."""

    async def unpublish(name: str, channel: str = "outbox") -> str:
        """Take back what was published under a name in a channel."""
        removed = await asyncio.to_thread(_unpublish, folder, name, channel)
        return f"took back {channel}/{name}" if removed else f"{channel}/{name} is not published; nothing to take back"

    metadata = {"sensitive": True, "risk": "medium", "cost": 0.0}
    return StructuredTool.from_function(coroutine=unpublish, name="unpublish", metadata=metadata)


def _publish(folder: Location, name: str, content: str, channel: str) -> bool:
    return put(_target(folder, name, channel), encoded(content), overwrite=False)


def _unpublish(folder: Location, name: str, channel: str) -> bool:
    target = _target(folder, name, channel)
    try:
        target.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ToolRefused(f"{channel}/{name} cannot be taken back ({error.strerror}); remove it by hand") from None
    return True


def _target(folder: Location, name: str, channel: str) -> Location:
    if not CHANNEL.fullmatch(channel):
        raise ToolRefused(f"the channel {channel[:100]!r} cannot be used; use letters, digits, _ and -, such as outbox")
    return place_in(folder, f"{PUBLISHED}/{channel}/{name}")
