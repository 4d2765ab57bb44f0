"""Putting text into a folder under a name that an agent chose: inside that folder, whole or not at all."""

import os
import re
import tempfile
from hashlib import sha256
from pathlib import Path

from state.errors import ToolRefused

BYTES = 10 * 1024 * 1024
DEPTH = 6
UNSAFE = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>|\ud800-\udfff]")


def place_in(folder: Path, name: str) -> Path:
    """Where `name` lies below `folder`.

    Raises:
        ToolRefused: it is empty, absolute, hidden, leads upwards or through a link, or no file can have it.
    """
    parts = name.split("/")
    if not name.strip() or UNSAFE.search(name) or len(parts) > DEPTH:
        raise ToolRefused(f"the name {name[:200]!r} cannot be used; use letters, digits, spaces and . _ - in each part")
    if any(not part.strip() or part.startswith(".") or len(part.encode()) > 200 for part in parts):
        raise ToolRefused(f"the name {name[:200]!r} is absolute, hidden, too long or leads upwards; use notes/a.md")
    target = folder.joinpath(*parts)
    if not target.parent.resolve().is_relative_to(folder.resolve()) or target.is_symlink():
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


def put(target: Path, data: bytes, *, overwrite: bool) -> bool:
    """Writes `data` to `target` in one step; false when it is there already, to the byte.

    Raises:
        ToolRefused: another content is there and `overwrite` is not set, or the folder cannot be written to.
    """
    try:
        if _holds(target, data):
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        return _move_in(target, data, overwrite=overwrite)
    except OSError as error:
        raise ToolRefused(f"{target.name!r} cannot be written ({error.strerror}); try another name") from None


def digest(data: bytes) -> str:
    """Its SHA-256, in hex."""
    return sha256(data).hexdigest()


def _move_in(target: Path, data: bytes, *, overwrite: bool) -> bool:
    """A whole file beside the target, then one rename (or a link, which fails where something is)."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".part-")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        part.chmod(0o644)
        if overwrite:
            part.replace(target)
            return True
        target.hardlink_to(part)
    except FileExistsError:
        if _holds(target, data):
            return False
        raise ToolRefused(f"{target.name!r} is there already with another content; use another name") from None
    finally:
        part.unlink(missing_ok=True)
    return True


def _holds(target: Path, data: bytes) -> bool:
    try:
        return target.stat().st_size == len(data) and target.read_bytes() == data
    except FileNotFoundError:
        return False
