"""PDF by pypdf: text page by page. Pages are the places, since a PDF has no lines that people could look up."""

import io
import logging

from pypdf import PdfReader

from nodes.tools.document import Document
from nodes.tools.readers.decoding import Unreadable, storable
from nodes.tools.readers.picture import read_scan
from nodes.tools.readers.plain import unit_document

PAGES = 2000
"""More are not read: a page takes 10 to 50 ms."""


def read_pdf(file: str, data: bytes) -> Document:
    """A PDF with a text layer, or a scan.

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
    if not any(page.strip() for page in pages):
        return read_scan(file, data)
    return unit_document(file, "pdf", "p", pages)


def _pages(data: bytes) -> list[str]:
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("it is an encrypted PDF; save it without the password")
    if len(reader.pages) > PAGES:
        raise Unreadable(f"it has {len(reader.pages)} pages, more than {PAGES}; split it")
    return [storable(page.extract_text()) for page in reader.pages]
