"""Texts that mean nearly the same: the table of vectors that the extra `semantic` brings."""

import threading
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from tokenizers import Tokenizer

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
    question = "How do I remove an old backup?"
    said, other, empty, itself = vectors.nearness(
        question, ["Archives that are no longer wanted are deleted.", "Bake it for an hour.", "", question]
    )

    assert itself == pytest.approx(1.0, abs=1e-5)
    assert itself > said > other
    assert empty == 0
    assert vectors.nearness("", [question]) == [0]


def test_one_sentence_among_many_is_enough(vectors: TextVectors) -> None:
    about_others = " ".join(
        f"Chapter {n} tells of the weather, of food and of long journeys by train." for n in range(9)
    )
    said, other = vectors.nearness(
        "How do I remove an old backup?",
        [f"{about_others} Archives that are no longer wanted are deleted. {about_others}", about_others],
    )

    assert said > other + 0.1


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


class Words:
    """A tokenizer of three words; `seen` is what it was asked of, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, text: str, *, add_special_tokens: bool) -> SimpleNamespace:
        """The numbers of the words that it knows."""
        self.seen.append(text)
        return SimpleNamespace(ids=[n for n, word in enumerate(("ship", "boat", "bread")) if word in text])


def test_a_text_is_read_once_however_often_it_is_found() -> None:
    words = Words()
    vectors = TextVectors(cast(Tokenizer, words), np.array([[1, 0], [0.8, 0.6], [0, 1]]))
    texts = ["a boat", "bread", "a boat and bread", "nothing of it"]

    first = vectors.nearness("a ship", texts)

    assert first == pytest.approx([0.8, 0.0, 0.8 * 0.8 + 0.2 * 0.4472, 0.0], abs=1e-4)
    assert vectors.nearness("a ship", texts) == first
    assert words.seen == ["a ship", *texts]


def test_many_threads_may_ask_at_once(vectors: TextVectors) -> None:
    texts = [f"text {n} about ships" for n in range(50)]
    alone = vectors.nearness("a boat", texts)
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(vectors.nearness("a boat", texts) == alone)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [True] * 8
