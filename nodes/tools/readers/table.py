"""Which reader reads which suffix: what has none is passed over, unless it was named itself.

A reader takes the name of a file and its bytes. Most make one document of it; a workbook has one for each sheet.
"""

import os
import re
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
from nodes.tools.storage import RemotePath, is_address

Reader = Callable[[str, bytes], Document] | Callable[[str, bytes], Iterator[Document | Skipped]]

TEXTS = "txt text rst log xml yaml yml toml ini cfg adoc tex"
CODE = "py js ts tsx jsx java kt scala go rs c h cpp hpp cc cs rb php pl swift lua r jl sh sql css scss proto vue"
FORMATS: tuple[tuple[str, str, Reader], ...] = (
    ("text", TEXTS, read_text),
    ("Markdown", "md markdown", read_text),
    ("source code", CODE, read_text),
    ("HTML", "html htm xhtml", read_html),
    ("PDF", "pdf", read_pdf),
    ("Word (docx)", "docx", read_word),
    ("PowerPoint (pptx)", "pptx", read_slides),
    ("workbooks (xlsx, xls, ods)", "xlsx xlsm xlsb xls ods", read_workbook),
    ("CSV", "csv tsv", read_delimited),
    ("JSON", "json jsonl", read_json),
    ("mail", "eml", read_message),
    ("mailboxes", "mbox", read_mailbox),
    ("EPUB", "epub", read_book),
    ("notebooks", "ipynb", read_notebook),
    ("pictures", "png jpg jpeg tif tiff webp bmp gif", read_picture),
)
"""What people call a format, its suffixes, and who reads it."""
READERS: dict[str, Reader] = {f".{one}": reader for _, suffixes, reader in FORMATS for one in suffixes.split()}
"""By suffix. A file of another suffix that was given by its own name is taken for text."""
READABLE = frozenset({*READERS, *ARCHIVES})
"""The suffixes that are read, of whatever name."""
_TEXT_BY_NAME = re.compile(r"[A-Z][A-Z_-]{2,}(?:\.[A-Za-z]{1,12})?")
READ = f"{', '.join(name for name, *_ in FORMATS)} or archives of them"
"""What is read, for people."""
CONVERT = f"convert it to {READ}"
DEPTH = 3
"""How many archives may lie in one another."""


def is_readable(name: str) -> bool:
    """Whether a file of that name is read: by its suffix, or as a text that is called so (`README`, `NEWS.Debian`)."""
    last = PurePosixPath(name).name
    return PurePosixPath(last).suffix.lower() in READABLE or bool(_TEXT_BY_NAME.fullmatch(last))


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
    if suffix in READERS:
        made = READERS[suffix](name, data)
        yield from [made] if isinstance(made, Document) else made
        return
    try:
        yield read_text(name, data)
    except Unreadable:
        raise Unreadable(f"it is no text, and {suffix or 'its kind'} is not read; {CONVERT}") from None


def _members(name: str, data: bytes, depth: int) -> Iterator[Document | Skipped]:
    is_empty = True
    for part in unpacked(name, data):
        if isinstance(part, Skipped):
            is_empty = False
            yield part
            continue
        member, content = safe_name(part[0]), part[1]
        suffix = PurePosixPath(member).suffix.lower()
        if is_readable(member):
            is_empty = False
            try:
                yield from _documents(member, suffix, content, depth - 1)
            except Unreadable as reason:
                yield Skipped(member, str(reason))
    if is_empty:
        raise Unreadable("there is no file in it of a kind that is read; nothing to do")


def _bytes(path: str, max_bytes: int) -> bytes:
    """The content; not through a link, and not of a pipe or device, that came in its place since it was found."""
    if is_address(path):
        try:
            return RemotePath(path).read_bytes(max_bytes)
        except OSError as error:
            raise Unreadable(f"it cannot be opened ({error.strerror})") from error
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise Unreadable(f"it cannot be opened ({error.strerror}); check its permissions") from error
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Unreadable("it is not a regular file; copy its content into one")
        return file.read(max_bytes)
