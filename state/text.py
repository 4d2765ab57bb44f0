"""Text that can be stored and sent: halves of characters, as broken bytes and models leave them, are replaced."""

from pydantic import JsonValue


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
