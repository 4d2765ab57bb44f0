"""Files in a message, as chat pages send them: kept in the thread's folder, where they are sources like any other.

Pages name the parts of such a block differently: `data` or `base64`, in a data URL, or as `text`; the name is in
`metadata` or in `extras`.
"""

import binascii
import mimetypes
import re
from base64 import b64decode
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from nodes.tools.files import put
from nodes.tools.readers.table import READ, is_readable
from nodes.tools.sources import open_sources
from nodes.tools.storage import Location, files_below
from state.errors import SourcesInvalid

FOLDER = "uploads"
"""The folder for them, in the thread's."""
_OF_TEXT = frozenset({"text", "tool_use", "tool_call", "reasoning", "thinking"})
_DATA_URL = re.compile(r"data:(?P<mime>[\w.+-]+/[\w.+-]+)[^,]*;base64,(?P<data>.*)", re.DOTALL)
_URL_SAFE = str.maketrans("-_", "+/")
"""The two characters of base64 that addresses have instead."""
_TEXT = {"text/markdown": ".md", "text/plain": ".txt"}


def kept_uploads(content: str | Sequence[object], folder: Location, most: int) -> list[str]:
    """The files that were uploaded on a thread, by path, with those in `content`, of a message. Blocking.

    `folder`: the thread's. `most`: bytes that one may have.

    Raises:
        SourcesInvalid: one that cannot be read, by its name; then none of the message is kept.
    """
    blocks = [] if isinstance(content, str) else [one for one in content if isinstance(one, Mapping)]
    files = [one for one in blocks if one.get("type") not in _OF_TEXT]
    home = folder / FOLDER
    before: dict[Location, bytes | None] = {}
    try:
        for name, data in [_read(one, number, most) for number, one in enumerate(files, 1)]:
            path = _free(home / name, before)
            before[path] = path.read_bytes() if path.exists() else None
            put(path, data, overwrite=True)
            try:
                open_sources([str(path)], max_file_bytes=most)
            except SourcesInvalid as error:
                raise SourcesInvalid(f"the upload {name!r} cannot be used: {error.reason}") from None
    except SourcesInvalid:
        for path, old in before.items():
            path.unlink() if old is None else path.write_bytes(old)
        raise
    return _kept_in(home)


def _kept_in(home: Location) -> list[str]:
    """What lies in a folder of uploads, in a fixed order."""
    if isinstance(home, Path):
        return [str(path.resolve()) for path in sorted(home.glob("*"))]
    with suppress(FileNotFoundError):
        return [str(home / file.name) for file in files_below(home)]
    return []


def _free(path: Location, taken: Container[Location]) -> Location:
    """The path, with a number where another file of the message has it; one of an earlier message is replaced."""
    stem = path.name.removesuffix(path.suffix)
    numbered = (path.parent / f"{stem}-{number}{path.suffix}" for number in count(2))
    return path if path not in taken else next(one for one in numbered if one not in taken)


def file_name(given: str) -> str:
    """A name that a file can have here: the last part of what was given, without what a shell or a page could take."""
    return re.sub(r"[^\w.-]+", "_", given.replace("\\", "/").rpartition("/")[2]).lstrip(".")[-80:]


def _read(block: Mapping[str, Any], number: int, most: int) -> tuple[str, bytes]:
    mime, data = _content(block)
    held = (block.get(key) for key in ("extras", "metadata", "file", "source"))
    about = {key: one for part in (*held, block) if isinstance(part, Mapping) for key, one in part.items()}
    given = str(about.get("filename") or about.get("name") or about.get("title") or f"upload-{number}")
    what = f"the upload {given[:80]!r} ({mime or block.get('type')})"
    named = file_name(given)
    suffix = _TEXT.get(mime) or mimetypes.guess_extension(mime) or ""
    name = named if Path(named).suffix else f"{named or f'upload-{number}'}{suffix}"
    if not data:
        raise SourcesInvalid(f"{what} has no content that can be read; send the file itself, as base64")
    if not is_readable(name):
        raise SourcesInvalid(f"{what} cannot be read; send {READ}")
    if len(data) > most:
        raise SourcesInvalid(f"{what} has {len(data)} bytes; give at most {most}")
    return name, data


def _content(block: Mapping[str, Any]) -> tuple[str, bytes]:
    """The kind and the bytes; none where they are somewhere else, or are no base64."""
    inner = block.get("file") or block.get("source") or block.get("image_url") or {}
    parts = {**(inner if isinstance(inner, Mapping) else {"url": inner}), **block}
    mime = str(parts.get("mime_type") or parts.get("mimeType") or parts.get("media_type") or "")
    coded = str(parts.get("data") or parts.get("base64") or parts.get("file_data") or parts.get("url") or "")
    if inside := _DATA_URL.fullmatch(coded):
        mime, coded = mime or inside["mime"], inside["data"]
    if not coded and isinstance(parts.get("text"), str):
        return mime or "text/plain", parts["text"].encode()
    plain = "".join(coded.split()).translate(_URL_SAFE).rstrip("=")
    try:
        return mime, b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return mime, b""
