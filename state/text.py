"""Plain data and text that can be stored and sent: halves of characters, as broken bytes leave them, are replaced."""

import re
from collections.abc import Mapping
from itertools import islice
from typing import cast

from pydantic import BaseModel, JsonValue


def as_text(result: JsonValue) -> str:
    """Any result as text: mappings and lists become bullets."""
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        return "\n".join(f"- {key}: {_inline(value)}" for key, value in result.items())
    if isinstance(result, list):
        return "\n".join(f"- {_inline(value)}" for value in result)
    return "" if result is None else str(result)


def _inline(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_inline(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_inline(item) for item in value)
    return "" if value is None else str(value)


def as_unicode(text: str) -> str:
    """`text` with U+FFFD for each lone surrogate; two that belong together become their character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def all_unicode(value: JsonValue) -> JsonValue:
    """The same for all texts in plain data, keys included."""
    if isinstance(value, str):
        return as_unicode(value)
    if isinstance(value, dict):
        return {as_unicode(key): all_unicode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [all_unicode(item) for item in value]
    return value


def in_words(error: BaseException) -> str:
    """An exception by its type and what it says; also one that cannot say anything."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - whatever its `__str__` raises, there is an error to tell about
        said = "it cannot be put into words"
    return as_unicode(f"{type(error).__name__}: {said}" if said else type(error).__name__)


Json = dict[str, JsonValue]


DEEPEST = 20
"""Levels of nested data that are passed on as data."""


def to_json(value: object, longest: int = 20_000, most: int = 200) -> JsonValue:
    """Whatever a graph said as plain JSON: texts up to `longest` characters, lists and mappings up to `most` items."""
    return cast(JsonValue, _plain(value, longest, most, 0))


def _plain(value: object, longest: int, most: int, depth: int) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:longest]
    if depth > DEEPEST:
        return str(value)[:2_000]
    if isinstance(value, Mapping):
        return {str(key): _plain(item, longest, most, depth + 1) for key, item in islice(value.items(), most)}
    if isinstance(value, list | tuple | set):
        return [_plain(item, longest, most, depth + 1) for item in islice(value, most)]
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(mode="json"), longest, most, depth + 1)
    return str(value)[:2_000]


def counted(number: int, what: str) -> str:
    """How many of something: `1 open question`, `2 open questions`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


LONGEST_TITLE = 90
"""Characters of a title or of a task in a line."""


def shortened(text: str) -> str:
    """The text as one line, its beginning where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"


_MARKED = re.compile(r"\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*|`([^`\n]+)`")


def unmarked(text: str) -> str:
    """Markdown for a place that draws none: without the marks of what is bold or code, and nothing else changed."""
    return _MARKED.sub(lambda found: found[1] or found[2], text)
