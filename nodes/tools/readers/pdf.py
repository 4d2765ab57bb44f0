"""PDF by pypdf: text page by page. Pages are the places, since a PDF has no lines that people could look up."""

import io
import logging
from dataclasses import replace

from pypdf import PdfReader

from nodes.tools.document import Document
from nodes.tools.passages import Passage, cut_lines
from nodes.tools.readers.decoding import Unreadable, lines_of

PAGES = 2000
"""More are not read: a page takes 10 to 50 ms."""


def read_pdf(file: str, data: bytes) -> Document:
    """A PDF with a text layer.

    Raises:
        Unreadable: broken, encrypted, too long, or without text.
    """
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its complaints about a file go into our one-line reason
    try:
        pages = _pages(data)
    except Unreadable:
        raise
    except Exception as error:  # pypdf raises almost anything on a broken file: KeyError, RecursionError, its own …
        raise Unreadable(f"it is a broken PDF ({type(error).__name__}); export it again") from error
    passages = [cut for number, page in enumerate(pages, start=1) for cut in _cut(file, number, page)]
    if not passages:
        raise Unreadable("it is a PDF without text, perhaps scanned; run text recognition (OCR) over it")
    return Document(file, "pdf", "p", pages, passages)


def _pages(data: bytes) -> list[str]:
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("it is an encrypted PDF; save it without the password")
    if len(reader.pages) > PAGES:
        raise Unreadable(f"it has {len(reader.pages)} pages, more than {PAGES}; split it")
    return [_storable(page.extract_text()) for page in reader.pages]


def _storable(text: str) -> str:
    """Without lone surrogates and NULs, which some fonts map to and neither SQLite nor JSON takes."""
    return text.encode("utf-8", errors="replace").decode("utf-8").replace("\x00", "")


def _cut(file: str, number: int, page: str) -> list[Passage]:
    return [replace(cut, place=f"p{number}") for cut in cut_lines(file, lines_of(page), {})]
