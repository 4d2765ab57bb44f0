"""Files at an address: found, read, written and refused as those of this machine are."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from nodes.tools.collect import collect, confined
from nodes.tools.files import place_in, put
from nodes.tools.sources import open_sources
from nodes.tools.storage import RemotePath, location, remove_all, size_of
from state.errors import BadInput, ExtraMissing, FilesUnreachable, SourcesInvalid, ToolRefused

DOCS = RemotePath("memory://docs")


@pytest.fixture(autouse=True)
def _nothing_else_in_memory() -> Iterator[None]:
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("notes/a.md", Path("notes/a.md")),
        ("file:///mnt/docs", Path("/mnt/docs")),
        ("S3://bucket/docs/", RemotePath("s3://bucket/docs")),
        ("sftp://ana@host:22/mnt", RemotePath("sftp://ana@host:22/mnt")),
        (Path("a"), Path("a")),
    ],
)
def test_what_is_given_is_a_path_or_an_address(given: object, place: object) -> None:
    assert location(given) == place


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("s3://key:se/cr3t@bucket/docs", "has a password or key in it; leave it out"),
        ("abfs://box/docs?sig=se/cr3t", "has settings after `\\?`"),
        ("s3://bucket/../se/cr3ts", "cannot be used"),
        ("zip://a.zip::file:///etc", "cannot be used"),
        ("file://mnt/docs", "three slashes"),
        ("https://example.org/docs", "is a page of the web"),
        (Path("s3://bucket/docs"), "has lost a slash"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_in_one_line_without_what_is_secret(given: object, why: str) -> None:
    with pytest.raises(BadInput, match=why) as refused:
        location(given)
    assert "se/cr3t@" not in str(refused.value)
    assert "sig" not in str(refused.value)


def test_sources_at_an_address_are_searched_and_read_and_read_again_when_they_change() -> None:
    (DOCS / "pump.md").write_bytes(b"# Pump\n\nIt delivers 40 litres.\n")
    (DOCS / "sub/prices.csv").write_bytes(b"pump,price\nA,10\n")
    for left_out in ("sub/.hidden.md", "photo.raw", "a?b=1.md", "a::b.md"):
        MemoryFileSystem().pipe_file(f"/docs/{left_out}", b"Something else.")

    sources = open_sources(["memory://docs/"])
    assert (sources.files, [hit.place for hit in sources.search("delivers").passages]) == (
        ["pump.md", "sub/prices.csv"],
        ["L1-L3"],
    )
    assert [one.file for one in sources.skipped] == ["*.raw", "a::b.md", "a?b=1.md"]
    assert open_sources(["memory://docs"]) is not sources, "another name for it"
    assert open_sources(["memory://docs/"]) is sources

    (DOCS / "pump.md").write_bytes(b"# Pump\n\nIt delivers 50 litres.\n")
    assert open_sources(["memory://docs/"]).read("pump.md").chunks[0].text.endswith("50 litres.")


def test_a_file_is_named_by_its_address_and_two_of_one_name_stay_apart() -> None:
    for folder in ("a", "b"):
        (DOCS / folder / "notes.md").write_bytes(f"From {folder}.".encode())
    found = collect(["memory://docs/a/notes.md", "memory://docs/b/notes.md"]).found
    assert [(one.name, one.path) for one in found] == [
        ("a/notes.md", "memory://docs/a/notes.md"),
        ("b/notes.md", "memory://docs/b/notes.md"),
    ]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("memory://nowhere", r"memory://nowhere does not exist \(nothing is there\)"),
        ("gs://bucket/docs", "gs:// needs a package that is not installed .*gcsfs"),
        ("nope://bucket/docs", "nope:// is no protocol of fsspec's"),
        ("s3://key:cr3t@bucket/docs", "password or key"),
    ],
)
def test_sources_that_cannot_be_had_are_refused_in_words(source: str, why: str) -> None:
    with pytest.raises(SourcesInvalid, match=why) as refused:
        open_sources([source])
    assert "cr3t" not in str(refused.value)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'baton\[files\]'"):
        open_sources(["memory://docs"])


def test_clients_name_addresses_below_the_folders_for_them_alone(tmp_path: Path) -> None:
    roots = [tmp_path, location("s3://bucket/open/")]
    inside = ["s3://bucket/open", "s3://bucket/open/a.md", str(tmp_path / "a.md")]
    assert confined(inside, roots) == inside
    for outside in (
        "s3://bucket/opened/a.md",
        "s3://bucket",
        "s3://bucket/open/.env",
        "gs://bucket/open",
        "file:///etc",
    ):
        with pytest.raises(SourcesInvalid, match="is not below a folder that clients may name"):
            confined([outside], roots)


def test_what_is_put_is_there_once_and_nothing_is_replaced_that_must_not_be() -> None:
    target = place_in(DOCS, "out/a.md")
    assert [put(target, data, overwrite=over) for data, over in ((b"1", False), (b"1", False), (b"2", True))] == [
        True,
        False,
        True,
    ]
    with pytest.raises(ToolRefused, match="is there already with another content"):
        put(target, b"3", overwrite=False)
    with pytest.raises(ToolRefused, match="is a folder"):
        place_in(DOCS, "out")
    assert (target.read_bytes(), size_of(DOCS)) == (b"2", 1)
    remove_all(DOCS)
    remove_all(DOCS)
    assert (target.exists(), size_of(DOCS)) == (False, 0)


def test_whatever_a_library_raises_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoCredentialsError(Exception):
        """As the libraries of object stores have it."""

    for raised, why in (
        (NoCredentialsError("Unable to locate\ncredentials"), "Unable to locate credentials; set the keys"),
        (PermissionError("Forbidden"), r"access is refused \(Forbidden\); check the keys"),
        (ConnectionError("no route"), "no route; check the network"),
        (RuntimeError("odd"), "RuntimeError: odd"),
    ):

        def fails(*_: object, error: Exception = raised, **__: object) -> None:
            raise error

        monkeypatch.setattr(MemoryFileSystem, "find", fails)
        monkeypatch.setattr(MemoryFileSystem, "pipe_file", fails)
        with pytest.raises(SourcesInvalid, match=f"memory://docs cannot be reached: {why}"):
            open_sources(["memory://docs"])
        with pytest.raises(ToolRefused, match=why):
            put(DOCS / "a.md", b"a", overwrite=True)
        with pytest.raises(FilesUnreachable) as told:
            size_of(DOCS)
        assert "\n" not in str(told.value)
