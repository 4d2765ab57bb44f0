"""Word files by python-docx, presentations by python-pptx (the extra `office`).

A Word file has no pages before it is printed, so its places are paragraphs, told to people by the headings above them;
a row of a table in it is a paragraph. Macros are not looked at.
"""

import io
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from nodes.tools.document import Document
from nodes.tools.passages import Heading
from nodes.tools.readers.decoding import Unreadable
from nodes.tools.readers.drawn import drawn
from nodes.tools.readers.plain import line_document, unit_document
from nodes.tools.readers.zipped import open_zip

WORD, SLIDES = "a Word file", "a presentation"


def read_word(file: str, data: bytes) -> Document:
    """A docx file: its paragraphs and tables in order.

    Raises:
        Unreadable: damaged, protected, empty, or the extra is missing.
    """
    paragraphs: list[str] = []
    headings: dict[int, Heading] = {}
    for text, level in _opened(data, "docx", "Document", WORD, _blocks):
        paragraphs.append(f"{text}\n")
        if level:
            headings[len(paragraphs)] = Heading(level, text)
    return line_document(file, paragraphs, headings, "prose", unit="b")


def read_slides(file: str, data: bytes) -> Document:
    """A pptx file: each slide with what is on it and its notes.

    Raises:
        Unreadable: damaged, protected, without text, or the extra is missing.
    """
    slides = _opened(data, "pptx", "Presentation", SLIDES, _slides)
    titles = {number: Heading(1, title) for number, (title, _) in enumerate(slides, 1) if title}
    return unit_document(file, "slides", "s", [text for _, text in slides], titles)


def _opened(data: bytes, module: str, name: str, what: str, parts: Callable[[Any], Iterator[Any]]) -> list[Any]:
    open_zip(data, what).close()
    try:
        opened = getattr(import_module(module), name)(io.BytesIO(data))
        return list(parts(opened))
    except ModuleNotFoundError as error:
        raise Unreadable(f"it is {what}: these need the extra `office`: pip install 'baton[office]'") from error
    except Exception as error:  # both raise almost anything on a broken file: KeyError, lxml's errors, their own
        raise Unreadable(f"it is damaged, or not {what} ({type(error).__name__}); export it again") from error


def _blocks(document: Any) -> Iterator[tuple[str, int]]:
    """Each paragraph with the level of its heading, 0 for none; each row of a table as one."""
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            for row in block.rows:
                yield drawn([cell.text for cell in _once(row.cells)]), 0
        elif text := block.text.strip():
            yield from ((line, _level(block)) for line in text.splitlines() if line.strip())
        else:
            yield "", 0


def _once(cells: Any) -> list[Any]:
    """The cells of a row; one that was merged over several columns is there once."""
    seen: dict[int, Any] = {id(cell._tc): cell for cell in cells}  # how python-docx says to tell them
    return list(seen.values())


def _level(paragraph: Any) -> int:
    style = (paragraph.style.name or "") if paragraph.style else ""
    if style == "Title":
        return 1
    number = style.removeprefix("Heading ")
    return min(int(number), 9) + 1 if style != number and number.isdigit() else 0


def _slides(presentation: Any) -> Iterator[tuple[str, str]]:
    for slide in presentation.slides:
        title = slide.shapes.title.text_frame.text if slide.shapes.title is not None else ""
        texts = [text for shape in slide.shapes for text in _texts(shape)]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame:
            texts.append(slide.notes_slide.notes_text_frame.text)
        yield " ".join(title.split()), "\n\n".join(text.replace("\v", "\n") for text in texts if text.strip())


def _texts(shape: Any) -> Iterator[str]:
    """What is written in a shape, in those that it groups, and in its table."""
    for inner in getattr(shape, "shapes", ()):
        yield from _texts(inner)
    if getattr(shape, "has_table", False):
        yield "\n".join(drawn([cell.text for cell in row.cells]) for row in shape.table.rows)
    elif getattr(shape, "has_text_frame", False):
        yield shape.text_frame.text
