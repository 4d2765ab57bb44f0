"""Which reader reads which suffix: what has none is passed over, unless it was named itself."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from nodes.tools.document import Document, Found
from nodes.tools.readers.decoding import Unreadable
from nodes.tools.readers.delimited import read_delimited
from nodes.tools.readers.jsonfile import read_json
from nodes.tools.readers.pdf import read_pdf
from nodes.tools.readers.plain import read_text
from nodes.tools.readers.webpage import read_html

READERS: dict[str, Callable[[str, bytes], Document]] = {
    ".md": read_text,
    ".markdown": read_text,
    ".txt": read_text,
    ".text": read_text,
    ".rst": read_text,
    ".log": read_text,
    ".html": read_html,
    ".htm": read_html,
    ".pdf": read_pdf,
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".json": read_json,
    ".jsonl": read_json,
}
"""By suffix. A file of another suffix that was given by its own name is taken for text."""


def read_document(found: Found, max_bytes: int) -> Document:
    """The file as a document.

    Raises:
        Unreadable: empty, larger than `max_bytes`, not permitted, or not what its suffix says.
    """
    if found.size > max_bytes:
        limit = f"{max_bytes / 1_048_576:.0f} MB" if max_bytes >= 1_048_576 else f"{max_bytes} bytes"
        raise Unreadable(f"it is larger than {limit}; split it or give an extract")
    data = _bytes(found.path, max_bytes)
    if not data.strip():
        raise Unreadable("it is empty; nothing to do")
    suffix = Path(found.path).suffix.lower()
    return READERS.get(suffix, read_text)(found.name, data)


def _bytes(path: str, max_bytes: int) -> bytes:
    """The content; not through a link, and not of a pipe or device, that came in its place since it was found."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise Unreadable(f"it cannot be opened ({error.strerror}); check its permissions") from error
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Unreadable("it is not a regular file; copy its content into one")
        return file.read(max_bytes)
