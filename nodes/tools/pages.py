"""Pages of the web, fetched with care: only from outside, only what robots.txt allows, within limits of time and size.

An address is resolved first, every one of its numbers has to be public, and the connection goes to a number that was
checked: a name that points elsewhere a moment later changes nothing. Each redirect is checked in the same way.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit, urlunsplit
from urllib.robotparser import RobotFileParser

import httpx
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from state.errors import ToolRefused

AGENT = "Baton"
"""How it calls itself, to servers and in robots.txt."""
PAGE_BYTES = 10 * 1024 * 1024
ROBOTS_BYTES = 500 * 1024
"""More of a robots.txt is not read (RFC 9309, section 2.5, asks for at least this)."""
SECONDS = 20.0
"""For one page, redirects included."""
REDIRECTS = 5
PAGES = 50
"""Pages of one sitemap or folder."""
GATHER_SECONDS = 120.0
"""For all of them."""
SUFFIXES: Mapping[str, str] = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/json": ".json",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "application/pdf": ".pdf",
}
"""The kinds of pages that are read, with the suffix under which each is kept."""
LINK = re.compile(r"<a\s[^>]*?href\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))", re.IGNORECASE)

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The numbers of a host name."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was when it was fetched."""

    url: str
    """Where it was, redirects followed."""
    suffix: str
    data: bytes


async def resolved(host: str, port: int) -> list[str]:
    """What the system's resolver says."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass
class Web:
    """A way to the web for one run. `is_open`: addresses inside are allowed too."""

    is_open: bool = False
    resolve: Resolve = resolved
    _robots: dict[str, RobotFileParser] = field(default_factory=dict)

    async def fetch(self, url: str) -> Page:
        """One page.

        Raises:
            ToolRefused: it cannot or may not be had; says why in one line.
        """
        try:
            async with asyncio.timeout(SECONDS), _client() as client:
                return await self._followed(client, url)
        except TimeoutError:
            raise ToolRefused(f"{_shown(url)} took more than {SECONDS:g} s; try another page") from None
        except httpx.HTTPError as error:
            raise ToolRefused(f"{_shown(url)} cannot be reached ({type(error).__name__})") from None

    async def gather(self, url: str, most: int = PAGES) -> tuple[list[Page], list[str]]:
        """A page; with it the pages that it lists, where it is a sitemap, or those below it, where it ends in a slash.

        Raises:
            ToolRefused: the first cannot be had. Of the others, `list[str]` says which could not.
        """
        first = await self.fetch(url)
        pages, failed = [first], list[str]()
        if found := listed(first):
            pages, todo, below = [], found, ""
        else:
            below = first.url if first.url.endswith("/") and first.suffix == ".html" else ""
            todo = list(links(first, below)) if below else []
        seen = {first.url}
        try:
            async with asyncio.timeout(GATHER_SECONDS):
                while todo and len(pages) < most:
                    if (address := todo.pop(0)) in seen:
                        continue
                    seen.add(address)
                    try:
                        page = await self.fetch(address)
                    except ToolRefused as error:
                        failed.append(str(error))
                        continue
                    pages.append(page)
                    todo += links(page, below) if below else ()
        except TimeoutError:
            failed.append(f"after {GATHER_SECONDS:g} s {len(pages)} pages were there; the rest was left")
        if todo:
            failed.append(f"of {_shown(url)} the first {len(pages)} pages were taken; give folders of it for more")
        if not pages:
            raise ToolRefused(f"none of the pages that {_shown(url)} lists can be had: {failed[0]}")
        return pages, failed

    async def _followed(self, client: httpx.AsyncClient, url: str) -> Page:
        for _ in range(REDIRECTS + 1):
            await self._check_robots(client, url)
            response = await self._got(client, url)
            try:
                if not response.is_redirect:
                    return await _page(url, response)
                url = urljoin(url, response.headers.get("location", ""))
            finally:
                await response.aclose()
        raise ToolRefused(f"{_shown(url)} redirects more than {REDIRECTS} times")

    async def _got(self, client: httpx.AsyncClient, url: str) -> httpx.Response:
        """The response, its body unread, from a number that was checked."""
        parts = urlsplit(checked(url))
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = str(parts.hostname)
        number = await self._checked_number(host, port)
        at = f"[{number}]:{port}" if ":" in number else f"{number}:{port}"
        asked = client.build_request(
            "GET",
            urlunsplit((parts.scheme, at, parts.path or "/", parts.query, "")),
            headers={"Host": parts.netloc},
            extensions={"sni_hostname": host},
        )
        return await client.send(asked, stream=True)

    async def _checked_number(self, host: str, port: int) -> str:
        try:
            numbers = [number] if (number := as_number(host)) else await self.resolve(host, port)
        except (OSError, UnicodeError):
            raise ToolRefused(f"there is no host {host[:100]!r}") from None
        if not numbers:
            raise ToolRefused(f"there is no host {host[:100]!r}")
        if not self.is_open and not all(map(is_public, numbers)):
            raise ToolRefused(f"{host[:100]} is an address inside this network, which is not fetched")
        return numbers[0]

    async def _check_robots(self, client: httpx.AsyncClient, url: str) -> None:
        """Whether robots.txt lets us (RFC 9309): without one all is allowed, of a server that fails nothing."""
        parts = urlsplit(checked(url))
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._robots:
            rules = RobotFileParser()
            rules.parse(await self._rules_of(client, f"{site}/robots.txt"))
            self._robots[site] = rules
        if not self._robots[site].can_fetch(AGENT, url):
            raise ToolRefused(f"the robots.txt of {parts.netloc} does not allow {_shown(url)}")

    async def _rules_of(self, client: httpx.AsyncClient, url: str) -> list[str]:
        response = await self._got(client, url)
        try:
            if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
                return ["User-agent: *", "Disallow: /"]
            if not response.is_success:
                return []
            data = await _body(response, ROBOTS_BYTES, is_cut=True)
            return data.decode("utf-8", "replace").splitlines()
        finally:
            await response.aclose()


@dataclass(frozen=True, slots=True)
class GivenSources:
    """What somebody has given to work from, by what it is."""

    paths: tuple[str, ...]
    """Files and folders."""
    pages: tuple[str, ...]
    """Addresses of the web."""

    @classmethod
    def of(cls, sources: Iterable[object] | Path | None) -> "GivenSources":
        """The sources, sorted into both; one path or address may stand without a list around it."""
        named = [str(source) for source in ([sources] if isinstance(sources, str | Path) else sources or [])]
        pages = tuple(name for name in named if name.startswith(("http://", "https://")))
        return cls(tuple(name for name in named if name not in pages), pages)

    def placed(self, place: Callable[[str], str]) -> list[str]:
        """All of them as texts, each path as `place` has it."""
        return [*map(place, self.paths), *self.pages]


def checked(url: str) -> str:
    """The address, if it is one of a page.

    Raises:
        ToolRefused: it is not.
    """
    try:
        parts = urlsplit(url)
        is_page = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and "%" not in parts.netloc and parts.port != 0
        )
    except ValueError:
        is_page, parts = False, urlsplit("")
    if not is_page or re.search(r"[\s\x00-\x1f\x7f\\]", url):
        raise ToolRefused(f"{url[:200]!r} is no address of a page; give one that begins with https://")
    if parts.username or parts.password:
        raise ToolRefused("an address with a name or a password in it is not fetched; leave them out")
    return url


def as_number(host: str) -> str:
    """The IP address that a host is written as, in any of the ways that the system reads one; empty for a name.

    Raises:
        UnicodeError: no host has such a name.
    """
    plain = host.encode("idna").decode("ascii")
    try:
        return str(ipaddress.ip_address(plain))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(plain))
    except OSError:
        return ""


def is_public(number: str) -> bool:
    """Whether an IP address is one of the internet at large; one that carries another inside is judged by that too."""
    address = ipaddress.ip_address(number.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is None and any(address in net for net in TRANSLATED):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None and not is_public(str(inner)):
            return False
        if inner is not None and address.ipv4_mapped:
            return True
    if any(address in net for net in SPECIAL):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


SPECIAL = [
    ipaddress.ip_network(net)
    for net in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "fec0::/10", "3fff::/20", "5f00::/16")
]
"""Networks inside that not every Python knows: of IANA's registries of special-purpose addresses (192.0.0.192 serves
the metadata of Oracle's cloud), site-local addresses (RFC 3879), and the host in Azure.
"""
TRANSLATED = [ipaddress.IPv6Network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")]
"""Networks whose last 32 bits are an IPv4 address: NAT64 (RFC 6052, 8215) and the old IPv4-compatible form."""


def listed(page: Page) -> list[str]:
    """The addresses that a sitemap lists, those of its own host; nothing for any other page."""
    if page.suffix != ".xml":
        return []
    try:
        tree = fromstring(page.data)
    except (ParseError, DefusedXmlException, ValueError):
        return []
    if str(tree.tag).rpartition("}")[2] != "urlset":
        return []
    found = (str(node.text or "").strip() for node in tree.iter() if str(node.tag).rpartition("}")[2] == "loc")
    return [url for url in dict.fromkeys(found) if urlsplit(url).netloc == urlsplit(page.url).netloc]


def links(page: Page, below: str) -> Iterator[str]:
    """The addresses that a page links to, those below another address."""
    if page.suffix == ".html":
        for match in LINK.finditer(page.data.decode("utf-8", "replace")):
            target = urldefrag(urljoin(page.url, unescape(next(filter(None, match.groups()), "")))).url
            if target.startswith(below):
                yield target


def _client() -> httpx.AsyncClient:
    """Without proxies and keys of the environment, and without redirects of its own."""
    return httpx.AsyncClient(
        headers={"User-Agent": f"{AGENT} (reads pages for a person)", "Accept-Encoding": "gzip, deflate"},
        trust_env=False,
        follow_redirects=False,
        timeout=SECONDS,
    )


async def _page(url: str, response: httpx.Response) -> Page:
    if not response.is_success:
        raise ToolRefused(f"{_shown(url)} answers {response.status_code} {response.reason_phrase}".strip())
    kind = response.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    if kind not in SUFFIXES:
        raise ToolRefused(f"{_shown(url)} is of the kind {kind[:60]!r}, which is not read")
    return Page(url, SUFFIXES[kind], await _body(response, PAGE_BYTES))


async def _body(response: httpx.Response, most: int, *, is_cut: bool = False) -> bytes:
    data = bytearray()
    async for part in response.aiter_bytes():
        data += part
        if len(data) > most:
            if is_cut:
                break
            raise ToolRefused(f"{_shown(str(response.url))} is larger than {most // 1_048_576} MB; give another page")
    return bytes(data[:most])


def _shown(url: str) -> str:
    return url if len(url) <= 200 else f"{url[:200]}…"
