"""Search services of the web: SearXNG, Tavily, Brave, by as much of their protocols as a list of hits takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from state.errors import ToolRefused

Kind = Literal["searxng", "tavily", "brave"]
HOMES: Mapping[str, str] = {"tavily": "https://api.tavily.com", "brave": "https://api.search.brave.com"}
"""Where the services are, unless an address is given; everybody has a SearXNG of their own."""
SECONDS = 15.0
CHARS = 400
"""Of what a service says about a page."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that a service names."""

    url: str
    title: str
    said: str


@dataclass(frozen=True)
class SearchService:
    """One that is configured. `key` is never shown."""

    kind: Kind
    address: str = ""
    key: str = ""

    async def search(self, query: str, limit: int) -> list[Hit]:
        """The first hits.

        Raises:
            ToolRefused: it does not answer, or with something else; says what.
        """
        home = (self.address or HOMES.get(self.kind, "")).rstrip("/")
        try:
            async with httpx.AsyncClient(timeout=SECONDS, trust_env=False) as client:
                response = await self._asked(client, home, query, limit)
            if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
                raise ToolRefused("the search service asks to wait (429); go on with what there is")
            response.raise_for_status()
            return _hits(response.json(), self.kind)[:limit]
        except ToolRefused:
            raise
        except httpx.HTTPStatusError as error:
            raise ToolRefused(f"the search service answers {error.response.status_code}; check its key") from None
        except httpx.HTTPError as error:
            raise ToolRefused(f"the search service cannot be reached ({type(error).__name__})") from None
        except (ValueError, TypeError, AttributeError, LookupError):
            raise ToolRefused(f"the search service answers something that is not {self.kind}'s") from None

    async def _asked(self, client: httpx.AsyncClient, home: str, query: str, limit: int) -> httpx.Response:
        match self.kind:
            case "searxng":
                return await client.get(f"{home}/search", params={"q": query, "format": "json"})
            case "tavily":
                body = {"query": query, "max_results": limit}
                return await client.post(f"{home}/search", json=body, headers={"Authorization": f"Bearer {self.key}"})
            case "brave":
                return await client.get(
                    f"{home}/res/v1/web/search",
                    params={"q": query, "count": limit},
                    headers={"X-Subscription-Token": self.key, "Accept": "application/json"},
                )


def _hits(answer: Any, kind: Kind) -> list[Hit]:
    found = answer["web"]["results"] if kind == "brave" else answer["results"]
    said = "description" if kind == "brave" else "content"
    return [
        Hit(str(one["url"]), " ".join(str(one.get("title") or "").split()), str(one.get(said) or "")[:CHARS])
        for one in found
    ]
