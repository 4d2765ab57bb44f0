"""Texts that mean nearly the same: the table of vectors that the extra `semantic` brings."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from nodes.tools.index import Index
from nodes.tools.likeness import TextVectors, text_vectors
from nodes.tools.passages import Passage


@pytest.fixture(scope="module")
def vectors() -> TextVectors:
    """The table of the package."""
    found = text_vectors()
    assert found is not None, "the extra `semantic` is part of `dev`"
    return found


def test_texts_are_near_that_say_the_same_in_other_words(vectors: TextVectors) -> None:
    asked, said, other, empty = vectors.of(
        [
            "How do I remove an old backup?",
            "Archives that are no longer wanted are deleted.",
            "Bake it for an hour.",
            "",
        ]
    )

    assert asked @ said > asked @ other
    assert asked @ asked == pytest.approx(1.0, abs=1e-5)
    assert not empty.any()


def test_a_passage_that_says_it_in_other_words_comes_first_where_there_is_a_table(vectors: TextVectors) -> None:
    passages = [
        Passage("a.md", "L1", "The old lighthouse of Morrow is shown to visitors on most days of summer."),
        Passage("b.md", "L1", "Archives that are no longer wanted can be deleted from the backup by prune."),
    ]
    question = "How do I remove an old backup?"
    plain, near = Index(passages).search(question, 2), Index(passages, lambda: vectors).search(question, 2)

    assert [one.file for one in plain.passages] == ["a.md", "b.md"]
    assert [one.file for one in near.passages] == ["b.md", "a.md"]
    assert near.likely == plain.likely


class Noting(TextVectors):
    """The same vectors; `seen` is what they were asked of, in order."""

    def __init__(self, vectors: TextVectors) -> None:
        self._of = vectors.of
        self.seen: list[str] = []

    def of(self, texts: Sequence[str]) -> Any:
        self.seen += texts
        return self._of(texts)


def test_a_passage_is_read_once_however_often_it_is_found_and_the_answers_are_those_of_a_first_search(
    vectors: TextVectors,
) -> None:
    passages = [
        Passage("a.md", "L1", "The old lighthouse is shown to visitors in summer."),
        Passage("b.md", "L1", "The backup of old archives is deleted by prune."),
        Passage("c.md", "L1", "Visitors may keep a backup of their tickets."),
    ]
    noting = Noting(vectors)
    index = Index(passages, lambda: noting)
    questions = [
        "What do visitors keep of the lighthouse?",
        "Is the old lighthouse open in summer?",
        "Who keeps old archives?",
    ]

    for question in questions:
        assert index.search(question, 3) == Index(passages, lambda: vectors).search(question, 3)
    texts = [text for text in noting.seen if text not in questions]
    assert len(texts) == len(set(texts)) == len(passages)


def test_many_threads_may_ask_at_once(vectors: TextVectors) -> None:
    texts = [f"text {n} about ships" for n in range(50)]
    alone = vectors.of(texts)
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(bool((vectors.of(texts) == alone).all()))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [True] * 8
