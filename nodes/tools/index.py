"""Full-text search over passages: SQLite FTS5 in memory, ranked by BM25 (Robertson and Zaragoza 2009).

Matches in the file's name and in headings count more than those in the text, since they say what it is about.
"""

import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import replace

from nodes.tools.passages import Passage

WEIGHTS = (1.5, 2.0, 1.0)
"""Of a match in the file name, the headings, the text."""
TERMS = 64
STOP_WORDS = frozenset(
    """
    a about all also am an and any are as at be been both but by can could did do does doing for from had has have
    he her him his how i if in into is it its me more most my no nor not of on only or our out over own same she
    should so some such than that the their them then there these they this those to too under up very was we were
    what when where which while who whom whose why will with would you your
    """.split()  # noqa: SIM905 - a list of 118 strings would hide the words
)
CREATE = "CREATE VIRTUAL TABLE passage USING fts5(file, trail, text, tokenize='porter unicode61 remove_diacritics 2')"
SELECT = "SELECT rowid, bm25(passage, ?, ?, ?) AS rank FROM passage WHERE passage MATCH ? ORDER BY rank, rowid LIMIT ?"


class Index:
    """The searchable passages of some documents. May be used from any thread."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._passages = list(passages)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        self._connection.execute(CREATE)
        self._connection.executemany("INSERT INTO passage VALUES (?, ?, ?)", self._entries())
        self._connection.commit()

    def search(self, query: str, limit: int) -> list[Passage]:
        """The best passages that have any of the query's words, best first, at most `limit`."""
        terms = terms_of(query)
        if not terms or limit < 1:
            return []
        match = " OR ".join(f'"{term}"' for term in terms)
        with self._lock:
            rows = self._connection.execute(SELECT, (*WEIGHTS, match, limit)).fetchall()
        return [replace(self._passages[row - 1], score=-rank) for row, rank in rows]

    def _entries(self) -> Iterator[tuple[str, str, str]]:
        for passage in self._passages:
            yield passage.file, passage.trail, passage.text


def terms_of(query: str) -> list[str]:
    """The words of a query, each once, without stop words unless there is nothing else; no punctuation is left."""
    words = list(dict.fromkeys(re.findall(r"[^\W_]+", query.lower())))
    return ([word for word in words if word not in STOP_WORDS] or words)[:TERMS]
