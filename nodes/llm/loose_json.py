"""The JSON objects in what a model wrote, however it dressed them up.

Weak models wrap JSON in prose and fences, leave trailing commas, and write Python. That is read. An object without its
end is not completed by guessing: a plan cut off in the middle would pass for a shorter plan.
"""

import json
import re
from collections.abc import Iterator

MAX_STARTS = 30
"""How many `{` are tried; a text with more that lead nowhere holds no reply."""
MAX_CHARS = 200_000
"""How much of a text is searched; plans and reviews are far shorter."""

_STRING = r'"(?:\\.|[^"\\])*"'
_SINGLE = r"'(?:\\.|[^'\\])*'"
_PIECE = re.compile(rf"{_STRING}|(?<=[\[{{,:\s]){_SINGLE}|[{{}}]", re.DOTALL)
_DRESS = re.compile(rf"{_STRING}|{_SINGLE}|,(?=\s*[\]}}])|\b(?:True|False|None)\b", re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}


def objects_in(text: str) -> Iterator[dict[str, object]]:
    """The outermost complete JSON objects in `text`, in order."""
    text, position = text[:MAX_CHARS], 0
    for _ in range(MAX_STARTS):
        start = text.find("{", position)
        if start < 0:
            return
        end = _end(text, start)
        value = _loaded(text[start:end]) if end else None
        position = end if end and value is not None else start + 1
        if value is not None:
            yield value


def _end(text: str, start: int) -> int | None:
    depth = 0
    for piece in _PIECE.finditer(text, start):
        depth += 1 if piece[0] == "{" else -1 if piece[0] == "}" else 0
        if depth == 0:
            return piece.end()
    return None


def _loaded(candidate: str) -> dict[str, object] | None:
    for form in (candidate, _DRESS.sub(_plain, candidate)):
        try:
            value = json.loads(form, strict=False)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _plain(match: re.Match[str]) -> str:
    piece = match[0]
    if piece.startswith("'"):
        inner = piece[1:-1].replace("\\'", "'")
        return '"' + re.sub(r'(?<!\\)"', r"\"", inner) + '"'
    return "" if piece == "," else _WORDS.get(piece, piece)
