"""Short names for tasks: what a section of a report is headed with."""

import re

MOST_WORDS = 12

_ERRAND = re.compile(
    r"^(?:please\s+)?(?:research|find out|find|identify|investigate|answer|describe|explain|analy[sz]e|compare|compute|"
    r"collect|gather|look up|summari[sz]e|list|write)\b(?:\s+from the (?:sources|tables))?\s*:?\s+",
    re.IGNORECASE,
)
_CUT = re.compile(r"[:;(\n]|\.\s|,\s+(?:such as|including|with)\b|\s[–—-]\s|(?<=\?)")


def title_of(description: str) -> str:
    """The subject of a task's description, without the verb it begins with and what comes after a colon."""
    rest = _ERRAND.sub("", description.strip())
    head = _CUT.split(rest, maxsplit=1)[0].strip(" .,") or rest.strip()
    words = head.split()
    short = " ".join(words[:MOST_WORDS]) + (" …" if len(words) > MOST_WORDS else "")
    return short[:1].upper() + short[1:] if short else "Result"
