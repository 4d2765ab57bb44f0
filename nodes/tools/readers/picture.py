"""Pictures and scanned PDFs by Tesseract (the extra `ocr`, and the program itself), page by page."""

import io
import shutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from nodes.tools.document import Document
from nodes.tools.readers.decoding import Unreadable
from nodes.tools.readers.plain import unit_document

PAGES = 100
"""More are not recognised: a page takes a second or more."""
PIXELS = 60_000_000
SECONDS = 60
"""For one page."""
DOTS = 200 / 72
"""Of a PDF's page, a point: 200 dots an inch, which Tesseract reads well."""


def read_picture(file: str, data: bytes) -> Document:
    """The text in a picture.

    Raises:
        Unreadable: no text, damaged, too large, or text recognition is not installed.
    """
    return unit_document(file, "picture", "p", [recognised(picture) for picture in _frames(data)])


def read_scan(file: str, data: bytes) -> Document:
    """The text in the pictures of a PDF's pages.

    Raises:
        Unreadable: see `read_picture`.
    """
    _ready()
    try:
        document: Any = import_module("pypdfium2").PdfDocument(data)
        if len(document) > PAGES:
            raise Unreadable(f"it is a scanned PDF of {len(document)} pages, more than {PAGES}; split it")
        pictures = (page.render(scale=DOTS).to_pil() for page in document)
        return unit_document(file, "pdf", "p", [recognised(picture) for picture in pictures])
    except (RuntimeError, ValueError) as error:  # PDFium's errors are RuntimeErrors
        raise Unreadable(f"it is a broken PDF ({type(error).__name__}); export it again") from error


def recognised(picture: Any) -> str:
    """What Tesseract reads in one picture."""
    engine = _ready()
    try:
        return str(engine.image_to_string(picture, timeout=SECONDS))
    except (engine.TesseractError, RuntimeError) as error:  # its time-out is a RuntimeError
        raise Unreadable(f"its text could not be recognised ({str(error).splitlines()[0][:80]})") from error


def _ready() -> Any:
    """Tesseract, where it is.

    Raises:
        Unreadable: the extra or the program is missing.
    """
    if not shutil.which("tesseract"):
        raise Unreadable("it is a picture or a scan; install Tesseract and the extra `ocr` for text recognition")
    try:
        return import_module("pytesseract")
    except ModuleNotFoundError as error:
        raise Unreadable("it is a picture or a scan: these need the extra `ocr`: pip install 'baton[ocr]'") from error


def _frames(data: bytes) -> Iterator[Any]:
    _ready()
    images: Any = import_module("PIL.Image")
    try:
        picture = images.open(io.BytesIO(data))
        if picture.width * picture.height > PIXELS:
            raise Unreadable(f"it has {picture.width} x {picture.height} dots, too many to recognise; make it smaller")
        for frame in range(min(getattr(picture, "n_frames", 1), PAGES)):
            picture.seek(frame)
            whole = picture.convert("RGBA") if picture.mode == "P" else picture  # colours that may be see-through
            yield whole.convert("RGB")
    except (OSError, ValueError, SyntaxError, images.DecompressionBombError) as error:
        raise Unreadable("it is a damaged picture; export it again") from error
