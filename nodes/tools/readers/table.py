"""Which reader reads which suffix: what has none is passed over, unless it was named itself.

A reader takes the name of a file and its bytes. Most make one document of it; a workbook has one for each sheet.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from nodes.tools.document import Document, Found, Skipped, safe_name
from nodes.tools.readers.archive import ARCHIVES, unpacked
from nodes.tools.readers.book import read_book
from nodes.tools.readers.decoding import Unreadable
from nodes.tools.readers.delimited import read_delimited
from nodes.tools.readers.jsonfile import read_json
from nodes.tools.readers.mail import read_mailbox, read_message
from nodes.tools.readers.notebook import read_notebook
from nodes.tools.readers.office import read_slides, read_word
from nodes.tools.readers.pdf import read_pdf
from nodes.tools.readers.picture import read_picture
from nodes.tools.readers.plain import read_text
from nodes.tools.readers.webpage import read_html
from nodes.tools.readers.workbook import read_workbook

Reader = Callable[[str, bytes], Document] | Callable[[str, bytes], Iterator[Document | Skipped]]

TEXTS = "md markdown txt text rst log xml yaml yml toml ini cfg adoc tex"
CODE = "py js ts tsx jsx java kt scala go rs c h cpp hpp cc cs rb php pl swift lua r jl sh sql css scss proto vue"
READERS: dict[str, Reader] = {
    **{f".{suffix}": read_text for suffix in f"{TEXTS} {CODE}".split()},
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".json": read_json,
    ".jsonl": read_json,
    **dict.fromkeys([".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"], read_workbook),
    ".docx": read_word,
    ".pptx": read_slides,
    ".eml": read_message,
    ".mbox": read_mailbox,
    ".epub": read_book,
    ".ipynb": read_notebook,
    **dict.fromkeys([".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif"], read_picture),
}
"""By suffix. A file of another suffix that was given by its own name is taken for text."""
READABLE = frozenset({*READERS, *ARCHIVES})
"""The suffixes that are read."""
DEPTH = 3
"""How many archives may lie in one another."""


def read_documents(found: Found, max_bytes: int) -> Iterator[Document | Skipped]:
    """The file as documents, and what of it was left out.

    Raises:
        Unreadable: empty, larger than `max_bytes`, not permitted, or not what its suffix says.
    """
    if found.size > max_bytes:
        limit = f"{max_bytes / 1_048_576:.0f} MB" if max_bytes >= 1_048_576 else f"{max_bytes} bytes"
        raise Unreadable(f"it is larger than {limit}; split it or give an extract")
    yield from _documents(found.name, Path(found.path).suffix.lower(), _bytes(found.path, max_bytes), DEPTH)


def _documents(name: str, suffix: str, data: bytes, depth: int) -> Iterator[Document | Skipped]:
    if not data.strip():
        raise Unreadable("it is empty; nothing to do")
    if suffix in ARCHIVES:
        if not depth:
            raise Unreadable(f"it lies more than {DEPTH} archives deep; unpack it by hand")
        yield from _members(name, data, depth)
        return
    made = READERS.get(suffix, read_text)(name, data)
    yield from [made] if isinstance(made, Document) else made


def _members(name: str, data: bytes, depth: int) -> Iterator[Document | Skipped]:
    is_empty = True
    for part in unpacked(name, data):
        if isinstance(part, Skipped):
            is_empty = False
            yield part
            continue
        member, content = safe_name(part[0]), part[1]
        suffix = PurePosixPath(member).suffix.lower()
        if suffix in READABLE:
            is_empty = False
            try:
                yield from _documents(member, suffix, content, depth - 1)
            except Unreadable as reason:
                yield Skipped(member, str(reason))
    if is_empty:
        raise Unreadable("there is no file in it of a kind that is read; nothing to do")


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
