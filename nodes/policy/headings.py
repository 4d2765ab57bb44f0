"""A model's Markdown inside a report: its headings shifted below Baton's, reserved sections and thoughts taken out."""

import re

RESERVED = frozenset({"sources", "how this was made"})
"""Headings that only Baton writes: what stands under them was looked up, not claimed."""

_THOUGHT = re.compile(r"(?<!`)<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)\s*", re.DOTALL | re.IGNORECASE)
_TAIL = re.compile(
    r"\A(?:(?!<(?:think|thinking|thought|reasoning)>).)*?</(?:think|thinking|thought|reasoning)>(?!`)\s*",
    re.DOTALL | re.IGNORECASE,
)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(?P<mark>=+|-{2,})[ \t]*$")
_BOLD = re.compile(r"^\s*(?:\*\*|__)(?P<title>[^*_]{1,60})(?:\*\*|__)\s*:?\s*$|^\s*(?P<bare>[\w ]{1,30}):\s*$")
DEEPEST = 6


def without_thoughts(text: str) -> str:
    """`text` without what a model thought aloud in `<think>` tags, open ones included; code is left alone."""
    if "think" not in text and "<thought" not in text.lower() and "reasoning>" not in text.lower():
        return text
    kept = []
    for is_code, part in _by_code(text):
        kept.append(part if is_code else _THOUGHT.sub("", part))
    return _TAIL.sub("", "".join(kept)).strip() if "</" in text else "".join(kept).strip()


def shifted(text: str, below: int) -> str:
    """`text` with its highest heading one level under `below` and the others as far under it as they were."""
    parts = _parsed(text)
    levels = [level for level, _, _ in parts if level]
    by = max(0, below + 1 - min(levels)) if levels else 0
    lines = []
    for level, title, line in parts:
        lines.append(f"{'#' * min(level + by, DEEPEST)} {title}".rstrip() if level else line)
    return "\n".join(lines)


def without_reserved(text: str) -> str:
    """`text` without the sections that only Baton writes; a section ends at the next heading of its level or above."""
    kept: list[str] = []
    dropping = 0
    for level, title, line in _parsed(text):
        if level and dropping and level <= dropping:
            dropping = 0
        is_own = level and _plain(title) in RESERVED
        bold = None if level or dropping else _BOLD.match(line)
        if is_own and not dropping:
            dropping = level
        elif bold and _plain(bold["title"] or bold["bare"] or "") in RESERVED:
            dropping = DEEPEST + 1
        if not dropping:
            kept.append(f"{'#' * level} {title}".rstrip() if level else line)
    return "\n".join(kept).strip()


def _parsed(text: str) -> list[tuple[int, str, str]]:
    """Each line with its level and title, where it is a heading: with hashes, or underlined."""
    found: list[tuple[int, str, str]] = []
    fence = ""
    for line in text.split("\n"):
        if mark := _FENCE.match(line):
            fence = "" if fence and line.strip().startswith(fence) else fence or mark[1]
        elif not fence and (heading := _HEADING.match(line.rstrip("\r"))):
            found.append((len(heading["marks"]), heading["title"] or "", line))
            continue
        elif not fence and found and (under := _UNDERLINE.match(line.rstrip("\r"))) and _may_be_underlined(found):
            found[-1] = (1 if under["mark"][0] == "=" else 2, found[-1][2].strip(), found[-1][2])
            continue
        found.append((0, "", line))
    return found


def _may_be_underlined(found: list[tuple[int, str, str]]) -> bool:
    level, _, line = found[-1]
    is_alone = len(found) == 1 or not found[-2][2].strip() or bool(found[-2][0])
    return not level and is_alone and bool(re.match(r"\s{0,3}[^\s>|*+\-\d`~]", line))


def _by_code(text: str) -> list[tuple[bool, str]]:
    """`text` cut into prose and fenced code."""
    parts = re.split(r"(?ms)(^ {0,3}(?:`{3,}|~{3,})[^\n]*\n.*?^ {0,3}(?:`{3,}|~{3,})[ \t]*$)", text)
    return [(n % 2 == 1, part) for n, part in enumerate(parts)]


def _plain(title: str) -> str:
    return re.sub(r"[*_`:#]+|^\d+[.)]\s*", "", title).strip().casefold()
