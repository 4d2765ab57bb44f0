"""How long a server asks to be left alone, as its headers say it, and whether there is time for that.

`Retry-After` is RFC 9110's (seconds, or a date); `retry-after-ms` and `x-ratelimit-*` are OpenAI's, which Azure, Groq
and local servers have taken over; `anthropic-ratelimit-*` is Anthropic's. What cannot be read asks for nothing.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_KINDS = ("requests", "tokens", "input-tokens", "output-tokens")
_FAMILIES = (
    ("x-ratelimit-remaining-{}", "x-ratelimit-reset-{}"),
    ("anthropic-ratelimit-{}-remaining", "anthropic-ratelimit-{}-reset"),
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SPAN = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")


def wait_asked(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait, by the headers of a refusal (names in lower case); None where they do not say.

    A date counts from the server's own `Date`, where it gives one: clocks differ.
    """
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    after = _seconds(headers.get("retry-after", ""), _said_at(headers, now))
    return quota_wait(headers, now) if after is None else after


def quota_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds until a used-up quota is filled up again, by the headers of any response; None where none is used up."""
    waits = [
        _seconds(headers.get(reset.format(kind), ""), _said_at(headers, now))
        for remaining, reset in _FAMILIES
        for kind in _KINDS
        if _number(headers.get(remaining.format(kind), "")) == 0
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def _said_at(headers: Mapping[str, str], now: float) -> float:
    said = _date(headers.get("date", ""))
    return now if said is None else said


def _seconds(text: str, now: float) -> float | None:
    """`8`, `1.5`, `6m0s`, `20ms`, or a date, as seconds from `now`; not below 0."""
    text = text.strip()
    if (number := _number(text)) is not None:
        return number
    if _SPAN.fullmatch(text):
        return sum(float(count) * _UNITS[unit] for count, unit in _PART.findall(text))
    at = _date(text)
    return None if at is None else max(0.0, at - now)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _date(text: str) -> float | None:
    """An HTTP date or one of RFC 3339, in seconds since the epoch."""
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            at = read(text.strip())
        except (ValueError, TypeError, IndexError):
            continue
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    return None
