"""How near texts are in meaning, by a table of vectors: WordLlama (Miller 2024), from the tokens of language models.

The table comes with a package (the extra `baton[semantic]`) and is read where it lies, the rows that are asked for: no
model runs, nothing is downloaded. Without the package texts meet by their stems alone.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

PACKAGE = "wordllama"
VECTORS = "weights/l2_supercat_256.safetensors"
TOKENS = "tokenizers/l2_supercat_tokenizer_config.json"
WORDS = 0.8
"""The part of nearness that is of words, beside that of the whole; from three fifths on it makes no difference."""
REMEMBERED = 4096
"""Texts whose tokens are kept: those of one folder are looked at again and again."""
CHARS = 3000
"""Characters of a text that are looked at."""


class TextVectors:
    """How near texts are in meaning, by the vectors of their tokens. May be used from any thread."""

    def __init__(self, tokenizer: "Tokenizer", vectors: "np.ndarray") -> None:
        """`vectors`: that of each token, by its number."""
        self._tokenizer = tokenizer
        self._vectors = vectors
        self._tokens = lru_cache(REMEMBERED)(self._read)

    def nearness(self, query: str, texts: Sequence[str]) -> list[float]:
        """How near each text is to a query, at most 1; 0 where one of them has no words.

        For each token of the query the cosine of the nearest in the text (late interaction, Khattab and Zaharia 2020),
        weighted by the length of its vector, as a mean of vectors weighs it; and that of the mean of both.
        """
        import numpy as np  # noqa: PLC0415 # part of the extra

        asked, *given = [self._tokens(text) for text in (query, *texts)]
        if not len(asked):
            return [0.0] * len(texts)
        every, at = np.unique(np.concatenate([asked, *given]), return_inverse=True)
        vectors = self._vectors[every].astype(np.float32)
        places = np.split(at, np.cumsum([len(asked), *map(len, given)])[:-1])
        wanted = vectors[places[0]]
        lengths = np.linalg.norm(wanted, axis=1)
        cosines = _unit(wanted) @ _unit(vectors).T
        mean = _unit(wanted.mean(axis=0))
        found = []
        for place in places[1:]:
            words = lengths @ cosines[:, place].max(axis=1) / lengths.sum() if len(place) else 0.0
            whole = mean @ _unit(vectors[place].mean(axis=0)) if len(place) else 0.0
            found.append(float(WORDS * words + (1 - WORDS) * whole))
        return found

    def _read(self, text: str) -> "np.ndarray":
        """The numbers of a text's tokens, each once."""
        import numpy as np  # noqa: PLC0415 # part of the extra

        tokens = self._tokenizer.encode(text[:CHARS], add_special_tokens=False).ids
        return np.unique(np.array(tokens, np.int32))


def _unit(vectors: "np.ndarray") -> "np.ndarray":
    """The same of length 1, each row, or the one; zeros stay."""
    import numpy as np  # noqa: PLC0415 # part of the extra

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return cast("np.ndarray", vectors / np.where(lengths == 0, 1, lengths))


@lru_cache(maxsize=1)
def text_vectors() -> TextVectors | None:
    """The table that is installed, or none."""
    found = find_spec(PACKAGE)
    return vectors_in(Path(found.origin).parent) if found and found.origin else None


def vectors_in(folder: Path) -> TextVectors:
    """The table in the folder of the package."""
    from tokenizers import Tokenizer  # noqa: PLC0415 # part of the extra

    tokenizer = Tokenizer.from_file(str(folder / TOKENS))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return TextVectors(tokenizer, _only_table_in(folder / VECTORS))


def _only_table_in(file: Path) -> "np.ndarray":
    """The table in a file of the form safetensors, left there: rows are read when they are asked for.

    Eight bytes say how long the JSON is that comes next, and that says how the table behind it is laid out.
    """
    import numpy as np  # noqa: PLC0415 # part of the extra

    with file.open("rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        [table] = [one for name, one in json.loads(opened.read(size)).items() if name != "__metadata__"]
    start = 8 + size + table["data_offsets"][0]
    kind = {"F16": np.float16, "F32": np.float32}[table["dtype"]]
    return np.asarray(np.memmap(file, kind, "r", start, tuple(table["shape"])))
