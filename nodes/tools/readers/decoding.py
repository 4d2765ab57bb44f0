"""From bytes to text and from text to lines, without changing a character that a quote may need."""

import codecs
import io
import re

from charset_normalizer import from_bytes

SAMPLE = 256 * 1024
"""Bytes that are looked at to guess an encoding; guessing over a whole large file takes minutes."""
BOMS = [
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
WESTERN = "cp1252"
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


class Unreadable(Exception):
    """A file that cannot be used. The message says why and what to do; it never leaves the readers' callers."""


def decode(data: bytes) -> str:
    """The text of a file: by its byte order mark, as UTF-8, or as the likeliest older encoding.

    Raises:
        Unreadable: it is not text.
    """
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return _strictly(data, encoding)
    if b"\x00" in data:
        raise Unreadable("it is binary, not text; save it as UTF-8 text")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = _guessed(data)
    if len(CONTROLS.findall(text[:SAMPLE])) > 0.02 * len(text[:SAMPLE]):
        raise Unreadable("it is binary, not text; save it as UTF-8 text")
    return text


def storable(text: str) -> str:
    """Without lone surrogates and NULs, which neither SQLite nor JSON takes: some fonts and mails have them."""
    return text.encode("utf-8", errors="replace").decode("utf-8").replace("\x00", "")


def lines_of(text: str) -> list[str]:
    r"""Lines with their ends (`\n`, `\r\n`, `\r`), numbered as editors do; `str.splitlines` would split at more."""
    return list(io.StringIO(text, newline=""))


def _strictly(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise Unreadable(f"it begins like {encoding} but is not; save it as UTF-8 text") from None


def _guessed(data: bytes) -> str:
    try:
        return data.decode(_likeliest(data[:SAMPLE]))
    except (UnicodeDecodeError, LookupError):
        return data.decode("latin-1")


def _likeliest(sample: bytes) -> str:
    """The encoding that charset-normalizer finds; Western European wherever that reads as well, since it often ties."""
    matches = from_bytes(sample)
    best = matches.best()
    if best is None or WESTERN in best.could_be_from_charset:
        return WESTERN
    ties = any(match.encoding == WESTERN and match.coherence >= best.coherence for match in matches)
    return WESTERN if ties else best.encoding
