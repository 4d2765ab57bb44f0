"""Prompts carry their data in tagged sections, so that a document cannot pose as an instruction.

    render([Section("task", "Compare them.", {"id": "t1"})])  ->  <task id="t1">
                                                                  Compare them.
                                                                  </task>

Whatever in a body looks like a section's tag (a line that is nothing but a tag, or the name of one of Baton's own
sections in a tag anywhere) gets a backslash before its `<`. `parse` takes it away again: `parse(render(s)) == s`.
"""

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

NAMES = """
    earlier request task input missing mail feedback previous sources team notes objection errors result finding
    passages rows schema
    """.split()  # noqa: SIM905 - a list of words reads as words
"""The sections Baton's own prompts use."""

_NAME = r"[A-Za-z][A-Za-z0-9_-]*"
_GAP = r"[^\S\n]*"
_OPENING = re.compile(rf'<(?P<name>{_NAME})(?P<attrs>(?: {_NAME}="[^"<>\n]*")*)>')
_ATTR = re.compile(rf' (?P<key>{_NAME})="(?P<value>[^"<>\n]*)"')
_ALONE = rf"^(?P<indent>{_GAP})(?P<slashes>\\*)(?P<tag></?{_NAME}(?:[^<>\n]*)>{_GAP})$"
_KNOWN = rf"(?P<more>\\*)(?P<named></?(?:{'|'.join(NAMES)})(?=[\s>/]))"
_TAGS = re.compile(rf"{_ALONE}|{_KNOWN}", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Section:
    """One tagged piece of a prompt.

    Raises:
        ValueError: the name, or the name of an attribute, is not a letter followed by letters, digits, `_` or `-`.

    """

    name: str
    body: str
    attrs: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for word in (self.name, *self.attrs):
            if not re.fullmatch(_NAME, word):
                raise ValueError(f"{word!r} cannot name a section or an attribute; use letters, digits, _ and -")


def render(sections: Iterable[Section]) -> str:
    """The sections as text, in their order, an empty line between them."""
    return "\n\n".join(_rendered(section) for section in sections)


def parse(text: str) -> list[Section]:
    """The sections in `text`, in order; what stands outside them is left out, and one never closed goes to the end."""
    lines = iter(text.split("\n"))
    found = []
    for line in lines:
        opening = _OPENING.fullmatch(line)
        if opening:
            body = _until(f"</{opening['name']}>", lines)
            attrs = {m["key"]: html.unescape(m["value"]) for m in _ATTR.finditer(opening["attrs"])}
            found.append(Section(opening["name"], _unescaped("\n".join(body)), attrs))
    return found


def _rendered(section: Section) -> str:
    attrs = "".join(f' {key}="{_quoted(value)}"' for key, value in section.attrs.items())
    return f"<{section.name}{attrs}>\n{_escaped(section.body)}\n</{section.name}>"


def _until(closing: str, lines: Iterable[str]) -> list[str]:
    body = []
    for line in lines:
        if line == closing:
            break
        body.append(line)
    return body


def _quoted(value: str) -> str:
    return html.escape(value).replace("\n", "&#10;")


def _escaped(body: str) -> str:
    return _TAGS.sub(lambda m: _tag(m, "\\" + (m["slashes"] or m["more"] or "")), body)


def _unescaped(body: str) -> str:
    return _TAGS.sub(lambda m: _tag(m, (m["slashes"] or m["more"] or "")[1:]), body)


def _tag(match: re.Match[str], slashes: str) -> str:
    return f"{match['indent'] or ''}{slashes}{match['tag'] or match['named']}"
