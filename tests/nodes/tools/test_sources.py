"""Opening, searching, reading and quoting sources."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from nodes.agents.citations import check
from nodes.tools.document import Found
from nodes.tools.readers.decoding import Unreadable
from nodes.tools.readers.table import read_documents
from nodes.tools.sources import Sources, open_sources
from state.errors import SourcesInvalid, ToolRefused
from tests.nodes.tools.documents import GUIDE, PRICES, encrypted_pdf_bytes, fill, pdf_bytes


def reasons(sources: Sources) -> dict[str, str]:
    return {skipped.file: skipped.reason for skipped in sources.skipped}


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    fill(
        tmp_path,
        {
            "guide.md": GUIDE,
            "data/prices.csv": PRICES,
            "study.pdf": pdf_bytes("Supervisors cost latency", "Waves wait for the slowest"),
            "page.html": "<title>News</title>\n<body><h1>Launch</h1>\n<p>It <b>ships</b> in May.</p></body>",
            "list.json": '[{"name": "a", "stars": 3},\n {"name": "b", "stars": 5}]',
        },
    )
    return open_sources([str(tmp_path)])


def test_every_format_is_read_and_described_with_its_size_and_columns(sources: Sources) -> None:
    assert sources.describe() == [
        "data/prices.csv: table prices (vendor VARCHAR, unit_price DOUBLE, since DATE), 3 rows",
        "guide.md: text, 13 lines",
        "list.json: table list (name VARCHAR, stars BIGINT), 2 rows",
        "page.html: html, 3 lines",
        "study.pdf: pdf, 2 pages",
    ]
    assert sources.skipped == []


def test_the_text_of_every_place_is_that_of_the_file(sources: Sources) -> None:
    assert sources.text_at("guide.md", "L7-L8") == "The pro plan costs 20 dollars a month.\nIt includes support."
    assert sources.text_at("study.pdf", "p2") == "Waves wait for the slowest"
    assert sources.text_at("data/prices.csv", "r2") == "Bolt,1250.5,2023-11-30"
    assert sources.text_at("data/prices.csv", "r1-r2") == "Acme,20,2024-01-05\nBolt,1250.5,2023-11-30"
    assert sources.text_at("page.html", "L3") == "It ships in May."
    assert sources.text_at("data/prices.csv", "table").startswith("table prices (vendor VARCHAR")


@pytest.mark.parametrize(
    "place", ["L0", "L14", "L5-L4", "L1-L14", "p1", "r1", "table", "", "L", "L1-p2", "L99999999999"]
)
def test_a_place_that_is_not_there_is_refused(sources: Sources, place: str) -> None:
    with pytest.raises(ToolRefused, match="13 lines"):
        sources.text_at("guide.md", place)


@pytest.mark.parametrize(
    ("query", "label"),
    [
        ("support price of the pro plan", "[guide.md#L5-L13]"),
        ("slowest wave", "[study.pdf#p2]"),
        ("Bolt", "[data/prices.csv#r2]"),
        ("ship", "[page.html#L2-L3]"),
        ("launch", "[page.html#L2-L3]"),
    ],
)
def test_the_best_passage_comes_first_with_its_label(sources: Sources, query: str, label: str) -> None:
    found = sources.search(query).passages
    assert found[0].label == label
    assert all(before.score >= after.score for before, after in pairwise(found))


def test_the_name_of_a_file_and_its_headings_count_more_than_its_text(tmp_path: Path) -> None:
    words = "Plain words about other things entirely, of much the same length."
    texts = {"alpha.txt": words, "a.txt": f"{words} Alpha.", "b.md": f"# Beta\n{words}", "c.md": f"# X\n{words} Beta."}
    sources = open_sources([str(fill(tmp_path, dict(texts)))])
    assert [passage.file for passage in sources.search("alpha").passages] == ["alpha.txt", "a.txt"]
    assert [passage.file for passage in sources.search("beta").passages] == ["b.md", "c.md"]


@pytest.mark.parametrize(
    "query", ['"', "a AND (b", "NEAR(", "file:*", "' OR 1=1 --", "", "   ", "-", "^x", "{a}:b", "\x00", "日本"]
)
def test_punctuation_in_a_query_is_harmless(sources: Sources, query: str) -> None:
    assert isinstance(sources.search(query).passages, list)


def test_a_passage_knows_its_headings(sources: Sources) -> None:
    found = sources.search("support").passages[0]
    assert (found.heading, found.trail) == ("Prices", "Guide > Prices")


def test_reading_gives_chunks_cut_at_the_bounds_and_says_what_is_left(sources: Sources) -> None:
    excerpt = sources.read("guide.md", start=7, count=1)
    assert [(chunk.place, chunk.text) for chunk in excerpt.chunks] == [("L7", "The pro plan costs 20 dollars a month.")]
    assert (excerpt.left, excerpt.next) == (6, 8)
    rows = sources.read("data/prices.csv", start=2, count=9)
    assert rows.chunks[0].text == "vendor: Bolt; unit price: 1250.5; since: 2023-11-30"
    assert rows.left == 0


def test_a_long_file_is_read_in_steps_that_leave_nothing_out(tmp_path: Path) -> None:
    lines = [f"Line {number} " + "x" * 90 for number in range(1, 1001)]
    fill(tmp_path, {"long.txt": "\n".join(lines)})
    sources = open_sources([str(tmp_path)])
    read, start = "", 1
    while start:
        excerpt = sources.read("long.txt", start=start, count=10_000)
        assert sum(len(chunk.text) for chunk in excerpt.chunks) <= 24_000
        read += "".join(chunk.text + "\n" for chunk in excerpt.chunks)
        start = excerpt.next if excerpt.left else 0
    assert read.splitlines() == lines


def test_a_line_too_long_to_show_says_so(tmp_path: Path) -> None:
    fill(tmp_path, {"one.txt": "A short sentence here. " * 4000 + "\nthe end\n"})
    excerpt = open_sources([str(tmp_path)]).read("one.txt")
    assert {chunk.place for chunk in excerpt.chunks} == {"L1"}
    assert "too long" in excerpt.note
    assert excerpt.next == 2


@pytest.mark.parametrize("start", [0, -3, 14])
def test_reading_past_the_ends_is_refused(sources: Sources, start: int) -> None:
    with pytest.raises(ToolRefused, match="start at 1 to 13"):
        sources.read("guide.md", start=start)


def test_a_quote_holds_to_the_letter_or_with_other_white_space(sources: Sources) -> None:
    assert sources.holds("guide.md", "20 dollars a month.\nIt includes")
    assert sources.holds("guide.md", "20 dollars a month. It includes")
    assert sources.holds("data/prices.csv", "Bolt,1250.5")
    assert sources.holds("data/prices.csv", "vendor: Bolt; unit price: 1250.5")
    assert sources.holds("data/prices.csv", "vendor,unit price")
    assert sources.holds("page.html", "It ships in May.")
    assert not sources.holds("guide.md", "21 dollars")
    assert not sources.holds("guide.md", " ")
    assert not sources.holds("other.md", "Guide")


@pytest.mark.parametrize("name", ["guide.md", "./guide.md", "Guide.MD", " guide.md ", "[guide.md#L1]", "docs/guide.md"])
def test_a_file_is_known_by_near_spellings_of_its_name(sources: Sources, name: str) -> None:
    assert sources.resolve(name) == "guide.md"


def test_a_name_without_its_folder_is_known_where_it_is_unique(sources: Sources, tmp_path: Path) -> None:
    assert sources.resolve("prices.csv") == "data/prices.csv"
    fill(tmp_path, {"old/prices.csv": PRICES})
    assert open_sources([str(tmp_path)]).resolve("prices.csv") is None


@pytest.mark.parametrize(
    "name", ["../guide.md", "/guide.md", "a/../guide.md", "..\\guide.md", "guide.md\x00", "~/guide.md", ""]
)
def test_a_name_that_leads_outside_is_refused(sources: Sources, name: str) -> None:
    assert sources.resolve(name) is None
    with pytest.raises(ToolRefused, match=r"there are: data/prices\.csv"):
        sources.read(name)


def test_files_that_cannot_be_used_are_left_out_with_what_to_do(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {
            "good.md": "All is well.",
            "broken.pdf": b"%PDF-1.4 nothing of the kind",
            "locked.pdf": encrypted_pdf_bytes(),
            "scan.pdf": pdf_bytes(""),
            "noise.txt": bytes(range(256)) * 20,
            "empty.md": "",
            "blank.html": "<script>var x;</script>",
            "photo.png": b"\x89PNG",
            ".hidden.md": "not for you",
            ".git/config.txt": "not for you",
        },
    )
    sources = open_sources([str(tmp_path)])
    assert sources.files == ["good.md"]
    told = reasons(sources)
    assert set(told) == {"broken.pdf", "locked.pdf", "scan.pdf", "noise.txt", "empty.md", "blank.html", "photo.png"}
    assert "export it again" in told["broken.pdf"]
    assert "without the password" in told["locked.pdf"]
    assert "text" in told["scan.pdf"]
    assert "save it as UTF-8" in told["noise.txt"]
    assert all("\n" not in reason for reason in told.values())


def test_a_huge_file_is_left_out_without_being_read(tmp_path: Path) -> None:
    fill(tmp_path, {"small.txt": "hello there"})
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    assert reasons(open_sources([str(tmp_path)])) == {
        "huge.txt": "it is larger than 50 MB; split it or give an extract"
    }


def test_many_files_that_are_left_out_for_one_reason_are_named_in_one_line(tmp_path: Path) -> None:
    fill(tmp_path, {"guide.md": GUIDE, **{f"{n}.{kind}": b"" for n in range(3) for kind in ("md", "csv")}})
    assert reasons(open_sources([str(tmp_path)])) == {"*.csv, *.md": "6 files: it is empty; nothing to do"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_left_out(tmp_path: Path) -> None:
    fill(tmp_path, {"a.md": "open", "b.md": "closed"})
    (tmp_path / "b.md").chmod(0)
    assert "permission" in reasons(open_sources([str(tmp_path)]))["b.md"]


def test_a_file_swapped_for_a_link_or_gone_since_it_was_found_is_unreadable(tmp_path: Path) -> None:
    fill(tmp_path, {"secret.md": "secret"})
    (tmp_path / "a.md").symlink_to("secret.md")
    for name in ("a.md", "gone.md"):
        with pytest.raises(Unreadable, match="it cannot be opened"):
            next(read_documents(Found(name, str(tmp_path / name), 6, 0), 1000))


def test_what_no_reader_takes_is_refused_with_all_that_are_there(tmp_path: Path) -> None:
    fill(tmp_path, {"letter.odt": b"PK\x03\x04\x00\xff\x00"})
    for given in (tmp_path, tmp_path / "letter.odt"):
        with pytest.raises(
            SourcesInvalid,
            match=r"\.odt.* not read; convert .*(?:PDF|Markdown, .*, pictures or)",
        ) as told:
            open_sources([str(given)])
        assert str(told.value).count("EPUB") == 1


def test_nothing_to_read_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourcesInvalid, match=r"nothing can be read in .*; give text, Markdown"):
        open_sources([str(tmp_path)])
    with pytest.raises(SourcesInvalid, match="no path"):
        open_sources([])
    fill(tmp_path, {"empty.md": ""})
    with pytest.raises(SourcesInvalid, match=r"empty\.md: it is empty"):
        open_sources([str(tmp_path)])


def test_the_same_unchanged_files_are_opened_once(tmp_path: Path) -> None:
    fill(tmp_path, {"a.md": "one"})
    first = open_sources([str(tmp_path)])
    assert open_sources([str(tmp_path)]) is first
    fill(tmp_path, {"a.md": "one and two"})
    assert open_sources([str(tmp_path)]).holds("a.md", "two")


def test_a_passage_is_found_with_what_follows_in_its_section(tmp_path: Path) -> None:
    first = f"The engine runs a tool in a process of its own. {'It waits for it. ' * 8}"
    then = f"Nothing is shared with the tool. {'It has a folder. ' * 8}"
    fill(tmp_path, {"a.md": f"# Engine\n\n{first}\n\n{then}\n\n{'Then it stops. ' * 40}\n\n# Other\n\nEngine.\n"})
    hits = open_sources([str(tmp_path)]).search("process of the engine", 4)

    assert hits.passages[0].place == "L1-L5"
    assert hits.passages[0].text == f"# Engine\n\n{first}\n\n{then}"
    assert sum(then in passage.text for passage in hits.passages) == 1


def test_a_long_row_is_found_by_what_it_is_and_what_was_asked_for(tmp_path: Path) -> None:
    names = ["name", "code", *(f"note {n}" for n in range(80)), "coast", "flag"]
    row = ["Chad", "TD", *(f"no word of number {n}" for n in range(80)), "landlocked", "tricolour"]
    fill(tmp_path, {"lands.csv": "\n".join([",".join(names), ",".join(row), ",".join(["Mali", *row[1:]])])})
    sources = open_sources([str(tmp_path)])
    [found] = sources.search("Is Chad landlocked?", 1).passages

    said = "name: Chad; code: TD; note 0: no word of number 0; note 1: no word of number 1; … coast: landlocked; …"
    assert (found.label, found.text) == ("[lands.csv#r1]", said)
    [claim] = check(f"> {said}\n[lands.csv#r1]", "t1", sources).claims
    assert [(one.place, one.quote) for one in claim.citations] == [
        ("r1", said.removesuffix("; …").replace("; …", " …"))
    ]
    assert not claim.unverified
    other = said.replace("landlocked", "tricolour")
    assert "unverified" in check(f"> {other}\n[lands.csv#r1]", "t1", sources).text
