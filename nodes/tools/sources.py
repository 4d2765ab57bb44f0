"""The sources of a run: what the user gave to read, opened once and then held in memory.

Opening is the only time files are touched. After it a name is looked up, never opened, so no name that an agent
makes up can lead outside. What was opened is kept for the process, so that ten agents and a resume read it once.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

from nodes.language.words import keywords
from nodes.tools.codebooks import codebooks
from nodes.tools.collect import Collection, collect
from nodes.tools.document import BREAK, Document, Found, Listing, Located, Skipped, TableDocument
from nodes.tools.index import TOGETHER, Hits, Index
from nodes.tools.likeness import text_vectors
from nodes.tools.passages import Passage
from nodes.tools.readers.decoding import Unreadable
from nodes.tools.readers.table import READ, read_documents
from nodes.tools.snapshots import addresses
from nodes.tools.storage import location
from nodes.tools.tables import Tables
from state.citation import UNITS
from state.errors import SourcesInvalid, ToolRefused
from state.quotation import Part

FILE_BYTES = 50 * 1024 * 1024
TOTAL_BYTES = 400 * 1024 * 1024
"""Of all files together; they are held in memory."""
INDEXED_ROWS = 20_000
"""Rows of one table that are searched; the rest is there for SQL."""
READ_UNITS = 400
READ_CHARS = 24_000
"""What one `read` returns at most."""
ALIKE = 3
"""Files that are named one by one when they were left out for the same reason."""
OPENED = 4
"""Sets of sources that are kept open."""

CacheKey = tuple[tuple[str, ...], tuple[Found, ...], int]
_opened: OrderedDict[CacheKey, "Sources"] = OrderedDict()
_opening = threading.Lock()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a file."""

    file: str
    chunks: list[Passage]
    """In order; each with its place."""
    left: int
    """Units after the last chunk."""
    next: int
    """The unit to go on from."""
    size: str
    """Of the whole file: `120 lines`."""
    note: str = ""
    """What was cut out of the chunks, if anything."""


class Sources:
    """Files that can be searched, read, queried and quoted. May be used from any thread."""

    def __init__(
        self, documents: Sequence[Document], skipped: Sequence[Skipped], addresses: Mapping[str, str] | None = None
    ) -> None:
        self.addresses = addresses or {}
        """Of pages of the web, by file: where each was, and when it was read."""
        self._documents = {document.file: document for document in documents}
        self._index = Index(_searchable(documents), text_vectors)
        self.tables = Tables({d.file: d.grid for d in documents if d.grid})
        """The tables among them, for SQL."""
        self._codebooks = codebooks(documents, self.tables.by_file)
        self.skipped = [*skipped, *(Skipped(file, why) for file, why in self.tables.failed.items())]
        """What was left out, and why."""

    @property
    def files(self) -> list[str]:
        """All names, in order."""
        return list(self._documents)

    @cached_property
    def names(self) -> frozenset[str]:
        """What files and tables are called, in lower case, with and without folder and suffix."""
        paths = [PurePosixPath(file.casefold()) for file in self._documents]
        tables = [table.name.casefold() for table in self.tables.by_file.values()]
        return frozenset([*map(str, paths), *(path.name for path in paths), *(path.stem for path in paths), *tables])

    def describe(self) -> list[str]:
        """One line a file: `prices.csv: table prices (vendor VARCHAR, price DOUBLE), 12 rows`; see `codebooks`."""
        return [self._line(one) + self._codebooks.get(one.file, "") for one in self._documents.values()]

    def search(self, query: str, limit: int = 8, chars: int = TOGETHER) -> Hits:
        """The passages that match any word of `query`, best first, and how well. Any punctuation is harmless.

        Those near each other are one, with what stands between them, as far as it has no more than `chars` characters.
        Long rows are shown by their first cells and those that have words of `query`.
        """
        hits, wanted = self._index.search(query, limit, chars), keywords(query)
        return replace(hits, passages=[self._brief(one, wanted) for one in hits.passages])

    def passages(self, file: str) -> list[Passage]:
        """What of a file can be found by a search, in order."""
        return list(_searchable([self._document(file)]))

    @property
    def listings(self) -> Iterator[Listing]:
        """Every table, row by row, also those that stand in texts."""
        return (listing for document in self._documents.values() for listing in document.listings)

    def read(self, file: str, start: int = 1, count: int = 80) -> Excerpt:
        """Lines, pages or rows from `start` (from 1), at most `count` and never more than `READ_CHARS` characters.

        Raises:
            ToolRefused: no such file, or nothing at `start`.
        """
        document = self._document(file)
        total = len(document.units)
        if not 1 <= start <= total or count < 1:
            raise ToolRefused(f"{document.file} has {document.size}; start at 1 to {total}, with a count of 1 or more")
        last = min(total, start + min(count, READ_UNITS) - 1)
        chunks, last, note = _bounded(document, start, last)
        return Excerpt(document.file, chunks, total - last, last + 1, document.size, note)

    def text_at(self, file: str, place: str) -> str:
        """What stands at a place, to the letter; of `table`, its columns and number of rows.

        Raises:
            ToolRefused: no such file or place.
        """
        document = self._document(file)
        if place == "table" and document.file in self.tables.by_file:
            return self._line(document).removeprefix(f"{document.file}: ")
        text = document.text_at(place)
        if text is None:
            example = f"{document.unit}1"
            raise ToolRefused(f"{document.file} has no place {place!r}; it has {document.size}, such as {example}")
        return text.replace(BREAK, "\n")

    def shown_at(self, file: str, place: str) -> str:
        """What stands at a place as people read it: of rows, each cell with the name of its column.

        Raises:
            ToolRefused: no such file or place.
        """
        text, document = self.text_at(file, place), self._document(file)
        if not isinstance(document, TableDocument) or place == "table":
            return text
        begin, _, end = place.partition("-")
        return "\n".join(row.text for row in document.chunks(int(begin[1:]), int((end or begin)[1:])))

    def holds(self, file: str, quote: str) -> bool:
        """Whether the file has `quote`, to the letter or else with white space taken as equal."""
        name = self.resolve(file)
        return name is not None and self._documents[name].holds(quote)

    def find(self, parts: Sequence[Part], file: str, place: str = "") -> Located | None:
        """Where a quotation stands in a file, or within a place of it; None if nowhere."""
        name = self.resolve(file)
        return self._documents[name].find(parts, place) if name else None

    def find_anywhere(self, parts: Sequence[Part]) -> Located | None:
        """The first place of a quotation in any file."""
        return next((found for document in self._documents.values() if (found := document.find(parts))), None)

    def trail_at(self, file: str, place: str) -> str:
        """The headings above a place, `Guide > Prices`, where that is how people find it (see `BY_SECTION`)."""
        name = self.resolve(file)
        document = self._documents[name] if name else None
        passage = document.heading_at(place) if document and document.shows_sections else None
        return passage.trail if passage else ""

    def cells_at(self, file: str, place: str) -> str:
        """The cells of a sheet that a place takes: `=A7:C7`; empty where there is no sheet."""
        name = self.resolve(file)
        document = self._documents[name] if name else None
        return document.cells(place) if isinstance(document, TableDocument) else ""

    def resolve(self, file: str) -> str | None:
        """The exact name of a file as somebody may have written it (`./Guide.md`, `docs/guide.md`); None if unclear."""
        if file in self._documents:
            return file
        wanted = file.strip().strip("[]`\"'").split("#")[0].replace("\\", "/").removeprefix("./").casefold()
        if not wanted or wanted.startswith(("/", "~")) or ".." in wanted.split("/") or "\x00" in wanted:
            return None
        for matches in (
            [name for name in self._documents if name.casefold() == wanted],
            [name for name in self._documents if _ends_alike(name.casefold(), wanted)],
        ):
            if matches:
                return matches[0] if len(matches) == 1 else None
        parts = [name for name in self._documents if name.casefold().startswith(f"{wanted}/")]
        return parts[0] if len(parts) == 1 else None

    def _brief(self, passage: Passage, wanted: Iterable[str]) -> Passage:
        document = self._documents[passage.file]
        if not isinstance(document, TableDocument):
            return passage
        return replace(passage, text=document.brief(int(passage.place[1:]), wanted))

    def _document(self, file: str) -> Document:
        name = self.resolve(file)
        if name is None:
            names = ", ".join(self.files[:40]) + (" …" if len(self.files) > 40 else "")
            raise ToolRefused(f"there is no file {file[:200]!r} in the sources, or more than one; there are: {names}")
        return self._documents[name]

    def _line(self, document: Document) -> str:
        table = self.tables.by_file.get(document.file)
        if table:
            return f"{document.file}: table {table}, {table.rows} {'row' if table.rows == 1 else 'rows'}"
        return f"{document.file}: {document.kind}, {document.size}"


def open_sources(paths: Sequence[str], *, max_file_bytes: int = FILE_BYTES) -> Sources:
    """Opens files and folders (recursively). Blocking: call it in a thread. The same unchanged files open once.

    Raises:
        SourcesInvalid: none given, one does not exist, too many files, or nothing among them can be read.
    """
    collection = collect(paths)
    key = (tuple(paths), tuple(collection.found), max_file_bytes)
    with _opening:
        if key not in _opened:
            _opened[key] = _read_all(paths, collection, max_file_bytes)
        _opened.move_to_end(key)
        while len(_opened) > OPENED:
            _opened.popitem(last=False)
        return _opened[key]


def _read_all(paths: Sequence[str], collection: Collection, max_file_bytes: int) -> Sources:
    documents: list[Document] = []
    skipped = list(collection.skipped)
    total = 0
    for found in collection.found:
        try:
            for part in read_documents(found, min(max_file_bytes, TOTAL_BYTES - total)):
                (skipped if isinstance(part, Skipped) else documents).append(part)  # type: ignore[arg-type]
            total += found.size
        except Unreadable as reason:
            skipped.append(Skipped(found.name, str(reason)))
    if not documents:
        raise SourcesInvalid(_nothing(paths, skipped), skipped[0].reason if skipped else "")
    pages = {name: said for path in paths for name, said in addresses(location(path)).items()}
    return Sources(documents, _grouped(skipped), pages)


def _grouped(skipped: Sequence[Skipped]) -> list[Skipped]:
    """Many files that were left out for one reason, in one line."""
    groups: dict[str, list[Skipped]] = {}
    for one in skipped:
        groups.setdefault(one.reason, []).append(one)
    shown: list[Skipped] = []
    for reason, ones in groups.items():
        kinds = ", ".join(sorted({f"*{PurePosixPath(one.file).suffix.lower()}" for one in ones}))
        shown += ones if len(ones) <= ALIKE else [Skipped(kinds, f"{len(ones)} files: {reason}")]
    return shown


def _nothing(paths: Sequence[str], skipped: Sequence[Skipped]) -> str:
    given = ", ".join(repr(path) for path in paths) or "no path"
    why = f" ({skipped[0].file}: {skipped[0].reason})" if skipped else ""
    return f"nothing can be read in {given}{why}" + ("" if READ in why else f"; give {READ}")


def _searchable(documents: Sequence[Document]) -> Iterator[Passage]:
    for document in documents:
        if document.unit == "r":
            yield from document.chunks(1, INDEXED_ROWS)
        else:
            yield from document.passages


def _bounded(document: Document, first: int, last: int) -> tuple[list[Passage], int, str]:
    """The chunks that fit, the unit they end with, and what had to be cut."""
    taken: list[Passage] = []
    used = 0
    for chunk in document.chunks(first, last):
        if taken and used + len(chunk.text) > READ_CHARS:
            ends = document.last_of(taken[-1].place)
            if document.last_of(chunk.place) > ends:
                return taken, ends, ""
            return taken, ends, f"The rest of {UNITS[document.unit]} {ends} is too long to show; search finds it."
        taken.append(chunk)
        used += len(chunk.text)
    return taken, last, ""


def _ends_alike(name: str, wanted: str) -> bool:
    """Whether one path is the end of the other: with or without the folder in front."""
    return name.endswith(f"/{wanted}") or wanted.endswith(f"/{name}")
