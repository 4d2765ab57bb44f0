"""Confidence as models put it: `0.8`, `.9`, `0,9`, `9/10`, `90 %`, `high`; what cannot be read is low."""

import re

UNREAD = 0.0
"""Of a line that says nothing a reader understands: a human is asked, not spared."""

_NAMES = {
    "very low": 0.1, "none": 0.0, "no": 0.0, "low": 0.3, "medium": 0.5, "moderate": 0.5, "mid": 0.5, "average": 0.5,
    "fair": 0.5, "medium-high": 0.7, "medium high": 0.7, "moderately high": 0.7, "fairly high": 0.7, "good": 0.7,
    "medium-low": 0.4, "medium low": 0.4, "moderately low": 0.4, "fairly low": 0.4, "rather low": 0.3, "high": 0.85,
    "strong": 0.85, "very high": 0.95, "full": 1.0, "complete": 1.0, "absolute": 1.0, "certain": 1.0, "niedrig": 0.3,
    "gering": 0.3, "mittel": 0.5, "hoch": 0.85, "sehr hoch": 0.95,
}  # fmt: skip
"""The middle of what each word is used for; `medium` is below the threshold of 0.6, so that it is asked about."""
_NAME = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, _NAMES), key=len, reverse=True))})\b", re.IGNORECASE)
_NUMBER = r"[-−]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:e-?\d+)?"
_SHARE = re.compile(
    rf"(?P<value>{_NUMBER})\s*(?:(?P<percent>%|percent|per\s?cent|prozent)|(?:/|out\s+of|of|von|aus)\s*(?P<whole>\d+(?:[.,]\d+)?))?",
    re.IGNORECASE,
)
_LABEL = (
    r"(?:(?:my|overall|final|estimated)\s+)?(?:self-?)?(?:confidence|konfidenz)"
    r"(?:\s+(?:level|score|rating|estimate|value|in\s+this\s+\w+))?"
)
_LINE = re.compile(
    rf"^[\s>*_#`~\-•|(\[\"']*{_LABEL}[\s*_`\"']*(?P<sep>[:=–—-]|\bis\b|\||(?=\s[\d.,]+\s*%?\W*$))[\s*_`\"']*(?P<said>.*?)[\s*_`|)\]\"']*$",
    re.IGNORECASE,
)
_ENDING = re.compile(rf"(?<=[.!?\])])[ \t]+[*_(\[]*{_LABEL}[*_]*\s*[:=]\s*(?P<said>[^\n]{{1,60}})$", re.IGNORECASE)
_ALONE = re.compile(rf"^[\s>*_#]*{_LABEL}[\s*_:#]*$", re.IGNORECASE)
LONGEST = 80
"""Characters of a line in the middle of a text that may be one; a longer one is a sentence about confidence."""


def split_confidence(text: str) -> tuple[str, float | None]:
    """The answer without its lines of confidence, and the last of them as a number from 0 to 1; None without any.

    What stands there and cannot be read is `UNREAD`.
    """
    kept: list[str] = []
    found: float | None = None
    lines = text.strip().splitlines()
    last = len(lines) - 1
    fenced = False
    n = 0
    while n <= last:
        line = lines[n]
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        match = None if fenced else _LINE.match(line)
        if match and (n == last or (len(line) <= LONGEST and read_confidence(match["said"]) is not None)):
            found = _or_unread(match["said"])
        elif not fenced and _ALONE.match(line) and (below := _below(lines, n)) is not None:
            found = _or_unread(lines[below])
            n = below
        else:
            kept.append(line)
        n += 1
    rest = "\n".join(kept).strip()
    if found is None and (ending := _ENDING.search(rest)):
        return rest[: ending.start()].rstrip(), _or_unread(ending["said"])
    return rest, found


def read_confidence(said: str) -> float | None:
    """A number from 0 to 1 for what was said; None where it cannot be read."""
    match = _SHARE.search(said)
    if match is None:
        name = _NAME.search(said)
        return None if name is None or re.search(r"\bnot\b|n't", said[: name.start()]) else _NAMES[name.group().lower()]
    value = _as_float(match["value"])
    if match["percent"]:
        value /= 100
    elif match["whole"]:
        whole = _as_float(match["whole"])
        value = value / whole if whole else -1
    elif value > 1:
        value /= 100
    return value if 0 <= value <= 1 else None


def _or_unread(said: str) -> float:
    value = read_confidence(said)
    return UNREAD if value is None else value


def _below(lines: list[str], n: int) -> int | None:
    """The line under a heading `Confidence`, if it is the last and can be read."""
    full = [at for at in range(n + 1, len(lines)) if lines[at].strip()]
    is_value = len(full) == 1 and len(lines[full[0]]) <= LONGEST and read_confidence(lines[full[0]]) is not None
    return full[0] if is_value else None


def _as_float(text: str) -> float:
    return float(text.replace(",", ".").replace("−", "-"))
