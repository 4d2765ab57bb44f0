"""What counts as a source file, and what cannot get in."""

import os
from pathlib import Path

import pytest

from nodes.tools.collect import Collection, collect
from nodes.tools.readers.table import READABLE
from state.citation import labels_in
from state.errors import SourcesInvalid
from tests.nodes.tools.documents import fill


def names(collection: Collection) -> list[str]:
    return [found.name for found in collection.found]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    return fill(tmp_path / "outside", {"secret.md": "secret", "deep/more.md": "secret"})


@pytest.mark.parametrize("suffix", sorted(READABLE))
def test_every_suffix_that_has_a_reader_is_found(tmp_path: Path, suffix: str) -> None:
    assert names(collect([str(fill(tmp_path, {f"file{suffix}": "hello"}))])) == [f"file{suffix}"]


def test_suffixes_without_a_reader_are_passed_over_and_said_in_one_line(tmp_path: Path) -> None:
    collection = collect([str(fill(tmp_path, {"a.md": "a", "b.xyz": "b", "c.xyz": "c", "d.abc": "d"}))])

    assert names(collection) == ["a.md"]
    [skipped] = collection.skipped
    assert (skipped.file, skipped.reason[:36]) == ("*.abc, *.xyz", "3 of a kind that is not read; conver")


def test_a_link_that_leaves_the_sources_is_left_out(tmp_path: Path, outside: Path) -> None:
    root = fill(tmp_path / "root", {"a.md": "a"})
    (root / "file.md").symlink_to(outside / "secret.md")
    (root / "folder").symlink_to(outside)
    (root / "up").symlink_to("..")
    (root / "dead.md").symlink_to("nowhere")
    collection = collect([str(root)])
    assert names(collection) == ["a.md"]
    assert {skipped.file for skipped in collection.skipped} == {"file.md", "folder", "up", "dead.md"}


def test_a_link_through_a_link_that_leaves_the_sources_is_left_out(tmp_path: Path, outside: Path) -> None:
    root = fill(tmp_path / "root", {"a.md": "a"})
    (root / "hop").symlink_to("skip")
    (root / "skip").symlink_to(outside)
    assert names(collect([str(root)])) == ["a.md"]


def test_links_that_loop_end(tmp_path: Path) -> None:
    root = fill(tmp_path / "root", {"sub/a.md": "a"})
    (root / "sub" / "again").symlink_to(root)
    (root / "self").symlink_to("self")
    (root / "ping").symlink_to("pong")
    (root / "pong").symlink_to("ping")
    assert names(collect([str(root)])) == ["sub/a.md"]


def test_a_link_within_the_sources_does_not_give_a_file_twice(tmp_path: Path) -> None:
    root = fill(tmp_path / "root", {"z.md": "z", "..data/real.md": "mounted"})
    (root / "a.md").symlink_to("z.md")
    (root / "mounted.md").symlink_to("..data/real.md")
    assert names(collect([str(root)])) == ["z.md", "mounted.md"]


def test_a_link_from_one_source_into_another_is_followed(tmp_path: Path, outside: Path) -> None:
    root = fill(tmp_path / "root", {"a.md": "a"})
    (root / "linked").symlink_to(outside / "deep")
    assert sorted(names(collect([str(root), str(outside)]))) == ["a.md", "deep/more.md", "secret.md"]


def test_a_pipe_is_left_out(tmp_path: Path) -> None:
    root = fill(tmp_path / "root", {"a.md": "a"})
    os.mkfifo(root / "pipe.md")
    collection = collect([str(root)])
    assert names(collection) == ["a.md"]
    assert collection.skipped[0].reason.startswith("it is not a regular file")


def test_equal_names_in_two_roots_get_the_name_of_their_root(tmp_path: Path) -> None:
    one, two = fill(tmp_path / "one", {"a.md": "1", "b.md": "1"}), fill(tmp_path / "two", {"a.md": "2"})
    assert names(collect([str(one), str(two)])) == ["one/a.md", "b.md", "two/a.md"]


def test_equal_names_in_equally_named_roots_are_numbered(tmp_path: Path) -> None:
    one, two = fill(tmp_path / "x/docs", {"a.md": "1"}), fill(tmp_path / "y/docs", {"a.md": "2"})
    assert names(collect([str(one), str(two)])) == ["docs/a.md", "docs/a~2.md"]


def test_a_root_given_twice_or_inside_another_counts_once(tmp_path: Path) -> None:
    root = fill(tmp_path / "root", {"sub/a.md": "a"})
    assert names(collect([str(root), str(root), str(root / "sub"), str(root / "sub" / "a.md")])) == ["sub/a.md"]


def test_a_single_file_has_its_own_name_whatever_its_suffix(tmp_path: Path) -> None:
    root = fill(tmp_path, {"notes": "text", "b.py": "print()"})
    assert names(collect([str(root / "notes")])) == ["notes"]
    assert names(collect([str(root / "b.py")])) == ["b.py"]


@pytest.mark.parametrize(
    "name", ["a[1].md", "c#.md", "new\nline.md", "tab\t.md", "ü ñ.md", "'quote\".md", "x" * 250 + ".md"]
)
def test_any_file_name_gives_a_label_that_can_be_read_back(tmp_path: Path, name: str) -> None:
    found = names(collect([str(fill(tmp_path, {name: "a"}))]))[0]
    assert labels_in(f"So it is [{found}#L1].") == [(found, "L1")]


def test_a_name_that_is_not_unicode_can_be_stored(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("a", encoding="utf-8")
    assert names(collect([str(tmp_path)])) == ["caf_.md"]


@pytest.mark.parametrize("path", ["", "  ", "a\x00b", "/no/such/place"])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(SourcesInvalid, match="give a file or a folder"):
        collect([path])


def test_too_many_files_are_refused_with_what_to_do(tmp_path: Path) -> None:
    fill(tmp_path, {f"{number}.md": "a" for number in range(6)})
    with pytest.raises(SourcesInvalid, match="more than 5 readable files; give a smaller folder"):
        collect([str(tmp_path)], max_files=5)


@pytest.mark.parametrize(
    ("name", "is_read"),
    [("README", True), ("NEWS.Debian", True), ("Makefile", False), ("a.1", False), ("X.bin", False)],
)
def test_texts_that_are_called_so_are_read_without_a_suffix(tmp_path: Path, name: str, is_read: bool) -> None:
    collection = collect([str(fill(tmp_path, {name: "The lamps are lit at dusk.", "a.txt": "Or at dawn."}))])

    assert names(collection) == sorted(["a.txt", *([name] if is_read else [])])
