"""The tools that look outside: `fetch` a page, `web_search`. What they bring is kept with the run and cited from there.

A page is material: what it says to whoever reads it is no order.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from langchain_core.tools import BaseTool, StructuredTool

from nodes.tools.document import Document, Found, Skipped
from nodes.tools.pages import Page, Web
from nodes.tools.readers.decoding import Unreadable
from nodes.tools.readers.table import read_documents
from nodes.tools.search import shown
from nodes.tools.search_service import Hit, SearchService
from nodes.tools.snapshots import FOLDER, addresses, keep
from nodes.tools.sources import Sources
from nodes.tools.storage import Location
from state.errors import ToolRefused

OPENED = 3
"""Pages of a search that are fetched."""
PASSAGES = 8
CHARS = 20_000
"""Of one page that are shown at once."""


@dataclass
class Outside:
    """The way of one run to the web: how pages are had, the search service if there is one, the time."""

    web: Web
    service: SearchService | None
    now: Callable[[], float]
    _has_pages: bool | None = None

    async def has_pages(self, folder: Location) -> bool:
        """Whether any page is kept below the run's folder."""
        if self._has_pages is None:
            self._has_pages = await asyncio.to_thread((folder / FOLDER).is_dir)
        return self._has_pages

    async def has_kept(self, folder: Location, url: str) -> bool:
        """Whether the page of an address is among those that are kept."""
        known = await asyncio.to_thread(addresses, folder / FOLDER)
        return any(said.startswith(f"{url}, ") for said in known.values())

    async def read(self, folder: Location, url: str) -> Document:
        """A page, kept, as a document.

        Raises:
            ToolRefused: it cannot or may not be had, or nothing in it can be read.
        """
        return await asyncio.to_thread(self._kept, folder, await self.web.fetch(url))

    async def gather(self, folder: Location, url: str) -> list[str]:
        """Keep a page, or those of a sitemap or below an address; what could not be had, a line each.

        Raises:
            ToolRefused: nothing could be had.
        """
        pages, failed = await self.web.gather(url)
        for page in pages:
            await asyncio.to_thread(keep, folder, page, self.now())
        self._has_pages = True
        return failed

    def _kept(self, folder: Location, page: Page) -> Document:
        name = keep(folder, page, self.now())
        self._has_pages = True
        found = Found(name, str(folder / FOLDER / name), len(page.data), 0)
        try:
            [document] = [one for one in read_documents(found, len(page.data)) if not isinstance(one, Skipped)]
        except (Unreadable, ValueError) as error:
            raise ToolRefused(f"{page.url[:200]} cannot be read: {error}") from None
        return document


def make_fetch(outside: Outside, folder: Location) -> BaseTool:
    """The tool for one run; `folder` is its artifacts folder."""

    async def fetch(url: str, start: int = 1) -> str:
        """Fetch a page of the web; gives its text from line `start` on, each part after its label, as sources do."""
        document = await outside.read(folder, url)
        parts, used = list[str](), 0
        for passage in document.chunks(start, len(document.units)):
            parts.append(shown(passage))
            used += len(parts[-1])
            if used > CHARS:
                parts.append(f"(It goes on; fetch it again with start={document.last_of(passage.place) + 1}.)")
                break
        return "\n\n".join(parts) or f"(There is nothing from line {start} on; it has {document.size}.)"

    return StructuredTool.from_function(coroutine=fetch, name="fetch")


def make_web_search(outside: Outside, folder: Location) -> BaseTool:
    """The tool for one run; `folder` is its artifacts folder."""

    async def web_search(query: str) -> str:
        """Search the web for a few words; gives the best passages of the first pages, each after its label."""
        if outside.service is None:
            raise ToolRefused("no search service is set up (BATON_SEARCH); use the sources")
        hits = await outside.service.search(query, 2 * OPENED)
        if not hits:
            return f"The search service knows no page for {query[:200]!r}; try other words."
        opened = await asyncio.gather(*(_opened(outside, folder, hit) for hit in hits[:OPENED]))
        documents = [found for found in opened if isinstance(found, Document)]
        listed = [f"- {hit.title} ({hit.url}){why}" for hit, why in zip(hits, _notes(opened, hits), strict=True)]
        passages = Sources(documents, []).search(query, PASSAGES).passages if documents else []
        return "\n\n".join([*map(shown, passages), "Pages that were named:\n" + "\n".join(listed)])

    return StructuredTool.from_function(coroutine=web_search, name="web_search")


async def _opened(outside: Outside, folder: Location, hit: Hit) -> Document | str:
    """The page of a hit, kept; or why it could not be had."""
    try:
        return await outside.read(folder, hit.url)
    except ToolRefused as error:
        return str(error)


def _notes(opened: list[Document | str], hits: list[Hit]) -> list[str]:
    """After the name of each page: why it could not be read, or what the service says of it."""
    notes = [f": not read: {found}" if isinstance(found, str) else "" for found in opened]
    return [*notes, *(f": {hit.said}" for hit in hits[len(opened) :])]
