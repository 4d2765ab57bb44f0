"""Pages of the web: fetched, kept and cited; and twenty-five ways into this network that lead nowhere."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nodes.agents.citations import check
from nodes.tools import pages
from nodes.tools.pages import Web, is_public
from nodes.tools.search_service import SearchService
from nodes.tools.snapshots import FOLDER
from nodes.tools.sources import open_sources
from nodes.tools.web import Outside, make_fetch, make_web_search
from state.errors import ToolRefused
from tests.servers.site import Site, serving

NOON = 1_790_000_000.0


@pytest.fixture(scope="module")
def the_site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture
def site(the_site: Site) -> Site:
    the_site.asked.clear()
    return the_site


def outside(service: SearchService | None = None) -> Outside:
    return Outside(Web(is_open=True), service, lambda: NOON)


async def test_a_page_that_was_fetched_is_a_source_with_its_address_and_time(site: Site, tmp_path: Path) -> None:
    way = outside()
    said = await make_fetch(way, tmp_path).ainvoke({"url": f"{site.address}/moves"})
    name = f"{site.address.removeprefix('http://').replace(':', '_')}/guide/4.html"

    [claim] = check(
        f'"Station 4 lies 28 km from the coast" [{name}#L2].', "", open_sources([str(tmp_path / FOLDER)])
    ).claims

    assert f"[{name}#L1]" in said or f"[{name}#L1-L3]" in said
    assert await way.has_pages(tmp_path)
    assert not claim.unverified
    assert claim.citations[0].address == f"{site.address}/guide/4.html, read 2026-09-21 14:13 UTC"


async def test_a_page_that_changes_is_kept_as_it_was_cited(site: Site, tmp_path: Path) -> None:
    tool = make_fetch(outside(), tmp_path)
    for site.page in ("first", "second", "second"):
        await tool.ainvoke({"url": f"{site.address}/changes"})

    kept = sorted((tmp_path / FOLDER).rglob("changes*"))

    assert sorted(path.read_text() for path in kept) == [
        f"<p>It says {word} today.</p>" for word in ("first", "second")
    ]


async def test_a_sitemap_gives_its_own_pages(site: Site) -> None:
    found, failed = await Web(is_open=True).gather(f"{site.address}/sitemap.xml")

    assert [page.url.removeprefix(site.address) for page in found] == [f"/guide/{n}.html" for n in (1, 2, 3)]
    assert not failed


async def test_a_folder_gives_what_lies_below_it_up_to_a_number(site: Site) -> None:
    found, failed = await Web(is_open=True).gather(f"{site.address}/guide/", most=12)

    assert len(found) == 12
    assert all("/guide/" in page.url for page in found)
    assert "the first 12 pages were taken" in failed[0]
    assert site.asked.count("/robots.txt") == 1
    assert "/secret/a" not in site.asked


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/secret/a", "robots.txt"),
        ("/circle", "redirects more than 5 times"),
        ("/film", "'video/mp4', which is not read"),
        ("/huge", "larger than 10 MB"),
        ("/nothing", "answers 404"),
        ("/endless", "took more than 0.5 s"),
    ],
)
async def test_a_page_that_cannot_be_had_is_refused_in_a_line(
    site: Site, path: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == "/endless":
        monkeypatch.setattr(pages, "SECONDS", 0.5)

    with pytest.raises(ToolRefused, match=why):
        await Web(is_open=True).fetch(f"{site.address}{path}")


NAMES = {
    "metadata.google.internal": ["169.254.169.254"],
    "inside.example": ["10.0.0.7"],
    "both.example": ["93.184.216.34", "127.0.0.1"],
    "six.example": ["fd00::1"],
    "mapped.example": ["::ffff:192.168.0.1"],
    "nat.example": ["64:ff9b::7f00:1"],
    "old.example": ["::127.0.0.1"],
    "sixtofour.example": ["2002:7f00:1::"],
    "nobody.example": [],
}
INSIDE = [
    *("http://localhost/", "http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f000001/"),
    *("http://017700000001/", "http://0.0.0.0/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://10.1.2.3/"),
    *("http://172.16.0.1/", "http://192.168.1.1/", "http://169.254.169.254/latest/", "http://[fe80::1]/"),
    *(
        "http://192.0.0.192/",
        "http://168.63.129.16/",
        "http://[fec0::1]/",
        "http://192.88.99.1/",
        "http://[::ffff:0:7f00:1]/",
    ),
    *("http://100.64.0.1/", "http://224.0.0.1/", "http://255.255.255.255/", "http://240.0.0.1/"),
    *(f"http://{name}/" for name in NAMES),
    *("file:///etc/passwd", "ftp://example.org/", "gopher://127.0.0.1/", "http://user:word@93.184.216.34/"),
    *("http://93.184.216.34\\@127.0.0.1/", "http:///etc/passwd", "https://127.0.0.1:0/", "http://①②⑦.⓪.⓪.①/"),
]


async def resolve(host: str, port: int) -> Sequence[str]:
    return NAMES[host] if host in NAMES else await pages.resolved(host, port)


@pytest.mark.parametrize("url", INSIDE)
async def test_no_way_leads_inside(url: str) -> None:
    with pytest.raises(ToolRefused):
        await Web(resolve=resolve).fetch(url)


async def test_nor_does_a_redirect(monkeypatch: pytest.MonkeyPatch) -> None:
    """The site itself counts as public here, and what it leads to does not."""
    monkeypatch.setattr(pages, "is_public", lambda number: number == "127.0.0.2" or is_public(number))
    with serving("127.0.0.2") as site:
        for target in INSIDE:
            with pytest.raises(ToolRefused) as refused:
                await Web(resolve=resolve).fetch(f"{site.address}/to/{target}")
            assert "cannot be reached" not in str(refused.value), target
        assert site.asked.count("/robots.txt") == len(INSIDE) - 1  # an address with a backslash is none


@pytest.mark.parametrize("kind", ["searxng", "tavily", "brave"])
async def test_the_hits_of_each_service_become_sources(site: Site, kind: str, tmp_path: Path) -> None:
    service = SearchService(kind, site.address, "key 4711")  # type: ignore[arg-type]

    said = await make_web_search(outside(service), tmp_path).ainvoke({"query": "How far is station 9?"})

    assert "guide/9.html#L" in said
    assert "Station 9 lies 63 km from the coast." in said
    assert "- Secret" in said
    assert "robots.txt" in said
    assert "4711" not in said


@pytest.mark.parametrize(("query", "why"), [("garbage", "not searxng's"), ("busy", "asks to wait")])
async def test_a_service_that_does_not_answer_is_said_in_a_line(
    site: Site, query: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(ToolRefused, match=why):
        await make_web_search(outside(SearchService("searxng", site.address)), tmp_path).ainvoke({"query": query})


async def test_without_a_service_the_search_is_off(tmp_path: Path) -> None:
    with pytest.raises(ToolRefused, match="BATON_SEARCH"):
        await make_web_search(Outside(Web(), None, time.time), tmp_path).ainvoke({"query": "tea"})
