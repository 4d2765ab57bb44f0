"""EPUB: a zip of web pages in the order of reading. No library is there for it but one under the AGPL."""

import posixpath
from collections.abc import Sequence
from urllib.parse import quote, unquote

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from nodes.tools.document import Document, Listing
from nodes.tools.passages import Heading
from nodes.tools.readers.decoding import Unreadable
from nodes.tools.readers.plain import unit_document
from nodes.tools.readers.webpage import read_html
from nodes.tools.readers.zipped import DAMAGED, ENCRYPTED, open_zip

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
"""Says which of its files are encrypted, and how (EPUB's open container format, section 3.5.2.2)."""
CHAPTERS = 5_000


def read_book(file: str, data: bytes) -> Document:
    """Its chapters: the files of its spine.

    Raises:
        Unreadable: damaged, protected, or without text.
    """
    with open_zip(data, "an EPUB") as archive:
        try:
            if any(member.flag_bits & ENCRYPTED for member in archive.infolist()):
                raise Unreadable("it is protected by a password; save it without")
            package = next(iter(_all(fromstring(archive.read(CONTAINER)), "rootfile"))).get("full-path", "")
            content = fromstring(archive.read(package))
            places = {item.get("id"): item.get("href", "") for item in _all(content, "item")}
            spine = [places[ref] for item in _all(content, "itemref") if (ref := item.get("idref")) in places]
            folder = posixpath.dirname(package)
            chapters = [posixpath.normpath(posixpath.join(folder, unquote(href))) for href in spine[:CHAPTERS]]
            if ENCRYPTION in archive.namelist():  # fonts alone are often so
                hidden = {one.get("URI", "") for one in _all(fromstring(archive.read(ENCRYPTION)), "CipherReference")}
                if hidden & {*chapters, *map(quote, chapters)}:
                    raise Unreadable("it is protected by its publisher; give a copy without that")
            pages = [archive.read(chapter) for chapter in chapters]
        except (KeyError, StopIteration, ParseError, DefusedXmlException, *DAMAGED) as error:
            raise Unreadable(f"it is a broken EPUB ({type(error).__name__}); export it again") from error
    texts, titles, tables = list[str](), dict[int, Heading](), dict[int, Sequence[Listing]]()
    for page in pages:
        try:
            shown = read_html("", page)
        except Unreadable:
            continue
        texts.append("".join(shown.units))
        tables[len(texts)] = shown.inner
        if title := next((cut.heading for cut in shown.cuts if cut.heading), ""):
            titles[len(texts)] = Heading(1, title)
    return unit_document(file, "book", "h", texts, titles, tables)


def _all(tree: object, name: str) -> list[dict[str, str]]:
    """The attributes of all elements of a name, whatever their namespace."""
    return [dict(node.attrib) for node in tree.iter() if str(node.tag).rpartition("}")[2] == name]  # type: ignore[attr-defined]
