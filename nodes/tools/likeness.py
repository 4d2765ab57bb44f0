"""How near texts are in meaning, by a table of vectors: WordLlama (Miller 2024), from the tokens of language models.

The table comes with a package (the extra `baton[semantic]`) and is read where it lies, the rows that are asked for: no
model runs, nothing is downloaded. A text's vector is the mean of its tokens'. Without the package texts meet by their
stems alone.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

PACKAGE = "wordllama"
VECTORS = "weights/l2_supercat_256.safetensors"
TOKENS = "tokenizers/l2_supercat_tokenizer_config.json"
CHARS = 3000
"""Characters of a text that are looked at."""


class TextVectors:
    """Vectors of texts, of length 1. May be used from any thread."""

    def __init__(self, tokenizer: "Tokenizer", vectors: "np.ndarray") -> None:
        """`vectors`: that of each token, by its number."""
        self._tokenizer = tokenizer
        self._vectors = vectors

    def of(self, texts: Sequence[str]) -> "np.ndarray":
        """A row for each text; zeros for one without words."""
        import numpy as np  # noqa: PLC0415 # part of the extra

        found = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for n, text in enumerate(texts):  # one by one: a batch starts threads of its own
            if tokens := self._tokenizer.encode(text[:CHARS], add_special_tokens=False).ids:
                mean = self._vectors[tokens].mean(axis=0, dtype=np.float32)
                found[n] = mean / (np.linalg.norm(mean) or 1.0)
        return found


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
