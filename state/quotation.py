"""The wording of texts, made comparable: is a quotation in a source, and where exactly.

Taken as equal: case, white space and line breaks, hyphenation, a hyphen in a word and a blank in its place, soft
hyphens, typographic marks, composed and decomposed accents, ligatures, Markdown's emphasis and links, superscripts
(`2<sup>16</sup>`, `2¹⁶` and `2^16`). Never taken as equal: words, figures and signs. A match begins and ends at the
edge of a word or of a whole figure with its sign.
"""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

APART = 800
"""Characters that an ellipsis may stand for: both halves are from one passage (1200 characters, `nodes.tools`)."""
REPLACED = 60
"""Characters that a word in square brackets may stand for."""

_MARKS = "“”„‟«»‹›‘’‚‛「」『』〝〞〟＂′″´"
_DASHES = "–—―‒−‐‑－"
_SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻"
_NOTHING = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_CJK = "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff00-\uffef"
_ACCENTS = "\u0300-\u036f\u3099\u309a"

_LEAD = r"(?:(?<=[\r\n\t])[^\S\r\n]*(?:(?:>[ \t]?)+|\#{1,6}[ \t]+|[-*+•][ \t]+)\s*)*"
"""The marks of a quotation, heading or list at the beginning of a line."""
_PATTERN = rf"""
    (?P<hyphen>[-‐‑\u00ad](?<=[^\W\d_].)(?:\s*\n[ \t]*(?:>[ \t]?)+|\s*)(?=[^\W\d_]))
    |(?P<dash>[—―]\s*|\s+[—―]\s*|[ \u00a0]+(?<=\S.)(?:–|--?-?)\s+|---?)
    |(?P<space>[^\S ]\s*{_LEAD}|[ ](?:\s+{_LEAD}|(?=[,;:!?%)\]}}»”]|\.(?!\d))|(?<=[(\[{{«„“][ ])
        |(?<=[{_CJK}][ ])(?=[{_CJK}])))
    |(?P<nothing>[{_NOTHING}]+|`+)
    |(?P<power>\*\*(?<=\d\*\*)(?=\d)|\^\{{(?P<raised>[^{{}}]{{1,40}})\}}|<sup>\s*(?P<above>[^<>]{{1,40}})</sup>
        |[{_SUPER}]+)
    |(?P<stress>[*_](?<![\w*].)[*_]{{0,2}}(?=[^\s*_])|[*_](?<=[^\s*_].)[*_]{{0,2}}(?![\w*]))
    |(?P<link>!?\[(?P<shown>[^\[\]\n]{{1,300}})\]\([^()\s]{{1,500}}\))
    |(?P<tag></?(?:b|i|em|strong|code|sub|span|u|mark|kbd|a|p|br)\b[^<>]{{0,200}}>)
    |(?P<entity>&(?:\#\d{{1,6}}|\#x[0-9a-fA-F]{{1,5}}|[a-zA-Z]{{2,8}});)
    |(?P<mark>''|["{_MARKS}])
    |(?P<line>[{_DASHES}])
    |(?P<other>(?:[^\x00-\x7f\s{_MARKS}{_DASHES}{_SUPER}{_NOTHING}]ACCENTED)+)
    """
_ACCENT = re.compile(rf"[{_ACCENTS}]")
_PLAIN = re.compile(_PATTERN.replace("ACCENTED", ""), re.VERBOSE | re.DOTALL)
_ACCENTED = re.compile(_PATTERN.replace("ACCENTED", rf"|[A-Za-z][{_ACCENTS}]+"), re.VERBOSE | re.DOTALL)
"""The same for texts with accents of their own after a letter: five times slower, and rare."""
_POWERS = str.maketrans(_SUPER, "0123456789+-")
_EDGE_MARKS = re.compile(rf"^(?:[\s'\"`*_#>•{_MARKS}]|\+\s)+|[\s'\"`*_.,;:!?…{_MARKS}{_DASHES}-]+$|\n[ \t]*[#+•]+$")
_SIC = re.compile(r"\s*[\[(](?:sic!?|sic erat scriptum|!|emphasis (?:added|mine)|hervorhebung \w+)[\])]", re.IGNORECASE)
_INITIAL = re.compile(r"\[(\w)\](?=\w)")
_GAP = re.compile(
    r"(?P<far>[\[(]\s*(?:…|\.{2,}|\.(?:\s\.){2})\s*[\])]|…|\.{3,}|\.(?:\s\.){2})|(?P<near>[^\W\d_]{0,40}\[[^\[\]\d\n]{1,60}\][^\W\d_]{0,40})"
)
_WORD = re.compile(r"[a-z0-9]+")
_HYPHENS = re.compile(r"(?<=[^\W\d_])[-‐‑](?=[^\W\d_])")
COMPOUND = 6
"""Words of one that is written with hyphens, at most."""
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|neither|nobody|nothing|cannot|without|hardly|\w+n't|nicht|kein\w*|nie|niemals|ohne|"
    r"pas|jamais|sans|nunca|ningun\w*|sin)\b"
)
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*\Z")
"""The end of a paragraph, at the end of a text."""
_CLAUSES = re.compile(r"[^\w\s]*;.*;\W*", re.DOTALL)
"""Whole clauses between semicolons."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a quotation that has to stand in the source in one go."""

    text: str
    apart: int = 0
    """How far from the end of the piece before it, at most, in characters."""
    open: str = ""
    """The text with its hyphenated words as several, where it has any."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where a quotation stands: offsets in the text as it was given."""

    start: int
    end: int
    denied: bool
    """Whether the text denies what the quotation says: a "not" right before it, or under its ellipsis."""


class Wording:
    """One text, made comparable once, so that many quotations can be looked for in it."""

    def __init__(self, raw: str) -> None:
        self._given = raw
        pieces: list[str] = []
        self._at: list[int] = []
        self._lengths: list[int] = []
        self._raw_at: list[int] = []
        self._raw_ends: list[int] = []
        end = length = 0
        for match in (_ACCENTED if _ACCENT.search(raw) else _PLAIN).finditer(raw):
            form = _form(match)
            first, last = match.span()
            if len(form) == last - first and match.lastgroup in ("mark", "line", "other"):
                pieces += (raw[end:first].lower(), form)
                length += last - end
            else:
                pieces += (raw[end:first].lower(), form)
                length += first - end
                self._at.append(length)
                self._lengths.append(len(form))
                self._raw_at.append(first)
                self._raw_ends.append(last)
                length += len(form)
            end = last
        pieces.append(raw[end:].lower())
        self.text = "".join(pieces)
        """Its comparable form."""

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words in Latin letters, and its figures."""
        return frozenset(_WORD.findall(self.text))

    def find(self, parts: Sequence[Part], start: int = 0, end: int | None = None) -> Match | None:
        """The first place of a quotation between two offsets of the text as given; one that is not denied first.

        Takes time in proportion to the text.
        """
        if found := self._find(parts, start, end):
            return found
        several = [replace(part, text=part.open or part.text) for part in parts]
        if several != list(parts) and (found := self._find(several, start, end)):
            return found
        one = [replace(part, text=self._closed(part.text)) for part in several]
        joints = sum(part.text.count(" ") for part in several) - sum(part.text.count(" ") for part in one)
        found = self._find(one, start, end) if joints else None
        return found if found and len(_HYPHENS.findall(self._given, found.start, found.end)) >= joints else None

    def _closed(self, text: str) -> str:
        """A quotation with words as one that are one here: `state of the art` where `state-of-the-art` stands."""
        pieces = text.split(" ")
        made: list[str] = []
        while pieces:
            most = min(len(pieces), COMPOUND)
            taken = next((n for n in range(most, 1, -1) if "".join(pieces[:n]).strip(",.;:!?'") in self.words), 1)
            made.append("".join(pieces[:taken]))
            pieces = pieces[taken:]
        return " ".join(made)

    def _find(self, parts: Sequence[Part], start: int, end: int | None) -> Match | None:
        words = [word for part in parts for word in _WORD.findall(part.text)]
        is_place = start > 0 or (end is not None and end < len(self._given))
        if not parts or not self.words.issuperset(words[1:-1] if is_place else words):  # a place may break words off
            return None
        low = self._comparable(start)
        high = len(self.text) if end is None else self._comparable(end)
        denied: Match | None = None
        spent = 0
        within = (low, high)
        at = self._next(parts[0].text, low, high, within)
        while at >= 0:
            spans = self._rest(parts, at, within)
            if spans:
                found = Match(self._raw(spans[0][0]), self._raw_end(spans[-1][1]), self._is_denied(spans))
                if not found.denied:
                    return found
                denied = denied or found
            spent += 1
            if len(parts) > 1 and spent > 200:  # each try looks at `APART` characters more: keep it linear
                break
            at = self._next(parts[0].text, at + 1, high, within)
        return denied

    def _rest(self, parts: Sequence[Part], at: int, within: tuple[int, int]) -> list[tuple[int, int]]:
        """The span of every part, from the first at `at` on; nothing where one is missing."""
        spans = [(at, at + len(parts[0].text))]
        for part in parts[1:]:
            before = spans[-1][1]
            there = self._next(part.text, before, min(within[1], before + part.apart + len(part.text)), within)
            if there < 0:
                return []
            spans.append((there, there + len(part.text)))
        return spans

    def _next(self, piece: str, low: int, high: int, within: tuple[int, int]) -> int:
        """Where `piece` stands with whole words and figures at its edges; -1 if nowhere."""
        at = self.text.find(piece, low, high)
        while at >= 0 and not self._is_whole(at, at + len(piece), within):
            at = self.text.find(piece, at + 1, high)
        return at

    def _is_whole(self, first: int, last: int, within: tuple[int, int]) -> bool:
        """A line or page `within` which it is looked for may break a word off at its ends: `infor-`."""
        text = self.text
        before, after = text[max(within[0], first - 2) : first], text[last : min(within[1], last + 2)]
        head, tail = text[first], text[last - 1]
        if before and (_is_one_word(before[-1], head) or (head.isdigit() and _belongs_before(before))):
            return False
        if after and (_is_one_word(tail, after[0]) or (tail.isdigit() and _belongs_after(after))):
            return False
        return not (after[:1] == "^" and (tail == ")" or not text[max(first, last - 2) : last].isalpha()))

    def _is_denied(self, spans: Sequence[tuple[int, int]]) -> bool:
        first = spans[0][0]
        before = self.text[max(0, first - 24) : first].rstrip()
        last_word = before.rpartition(" ")[2]
        at = self._raw(first)
        if _NEGATION.fullmatch(last_word) and not _PARAGRAPH.search(self._given[max(0, at - APART) : at]):
            return True
        for (_, left), (right, _) in pairwise(spans):
            if _CLAUSES.fullmatch(self.text, left, right):  # what other clauses deny, this one does not
                continue
            skipped = self.text[left:right].split()
            if any(_NEGATION.fullmatch(word) for word in [*skipped[:2], *skipped[-2:]]):
                return True
        return False

    def _comparable(self, raw: int) -> int:
        """The offset in `text` of an offset in the text as given."""
        n = bisect_right(self._raw_at, raw) - 1
        if n < 0:
            return raw
        if raw < self._raw_ends[n]:
            return self._at[n]
        return self._at[n] + self._lengths[n] + raw - self._raw_ends[n]

    def _raw(self, at: int) -> int:
        """The offset in the text as given where the character at `at` begins."""
        n = bisect_right(self._at, at) - 1
        while n >= 0 and not self._lengths[n] and self._at[n] == at:  # what vanished before it is not a part of it
            return self._raw_ends[n]
        if n < 0:
            return at
        inside = at < self._at[n] + self._lengths[n]
        return self._raw_at[n] if inside else self._raw_ends[n] + at - self._at[n] - self._lengths[n]

    def _raw_end(self, at: int) -> int:
        """The offset in the text as given where the character before `at` ends."""
        n = bisect_right(self._at, at - 1) - 1
        while n >= 0 and not self._lengths[n] and self._at[n] == at:
            n -= 1
        if n < 0:
            return at
        inside = at - 1 < self._at[n] + self._lengths[n]
        return self._raw_ends[n] if inside else self._raw_ends[n] + at - self._at[n] - self._lengths[n]


def parts_of(quotation: str) -> list[list[Part]]:
    """The ways to read a quotation, most literal first: as it stands, then with its ellipses and brackets as gaps."""
    whole = _comparable(quotation)
    readings = [[Part(whole, open=_open(quotation))]] if whole else []
    plain = _INITIAL.sub(r"\1", _SIC.sub("", quotation))
    pieces: list[Part] = []
    apart = end = 0
    for gap in [*_GAP.finditer(plain), None]:
        piece = plain[end : gap.start() if gap else None]
        if text := _comparable(piece):
            pieces.append(Part(text, apart if pieces else 0, _open(piece)))
            apart = 0
        if gap:
            apart = max(apart, APART if gap["far"] else REPLACED)
            end = gap.end()
    if pieces and (len(pieces) > 1 or pieces[0].text != whole):
        readings.append(pieces)
    return readings


def says_no(text: str) -> bool:
    """Whether it denies something."""
    return bool(_NEGATION.search(Wording(text).text))


def _comparable(text: str) -> str:
    """A quotation's comparable form without the marks at its edges; a minus sign stays."""
    bare, before = text.strip(), ""
    while bare != before:
        before = bare
        bare = _EDGE_MARKS.sub("", bare)
        if re.match(rf"[{_DASHES}-](?!\d)", bare):
            bare = bare[1:]
    return Wording(bare).text.strip()


def _open(text: str) -> str:
    """The comparable form with a blank for each hyphen in a word; empty where there is none."""
    several = _HYPHENS.sub(" ", text)
    return _comparable(several) if several != text else ""


def _form(match: re.Match[str]) -> str:
    kind, found = match.lastgroup, match.group()
    if kind == "space":
        return _space(match)
    if kind in ("raised", "above"):  # never the last group: `power` closes after them
        return ""
    if kind == "power":
        if found == "**":
            return "^"
        inner = match["raised"] or match["above"] or found.translate(_POWERS)
        return "^" + Wording(inner.translate(_POWERS)).text.strip()
    if kind == "mark":
        return "'"
    if kind == "line":
        return "-"
    if kind == "dash":
        return " - "
    if kind == "link":
        return Wording(match["shown"]).text
    if kind == "tag":
        return " " if re.match(r"</?(?:p|br)\b", found) else ""
    if kind == "entity":
        shown = html.unescape(found)
        return shown if shown == found else Wording(shown).text
    if kind == "other":
        return unicodedata.normalize("NFKC", found).casefold()
    return ""


def _space(match: re.Match[str]) -> str:
    """One space, or none: at the edges of the text, before closing and after opening marks, between ideographs.

    `“` opens in English and closes in German, `»` closes in French and opens in German: by what is on its other side.
    """
    text, first, last = match.string, match.start(), match.end()
    before, after = text[first - 1 : first], text[last : last + 1]
    if not before or not after or before in "([{" or after in ",;:!?%)]}":
        return ""
    if before in "«„“" and not text[first - 2 : first - 1].strip(" \t\n([{"):
        return ""
    if after in "»”" and not text[last + 1 : last + 2].isalnum():
        return ""
    if after == "." and not text[last + 1 : last + 2].isdigit():
        return ""
    return "" if _is_ideograph(before) and _is_ideograph(after) else " "


def _is_ideograph(char: str) -> bool:
    return bool(re.match(rf"[{_CJK}]", char))


def _is_one_word(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum() and not (_is_ideograph(left) or _is_ideograph(right))


def _belongs_before(before: str) -> bool:
    """Whether what stands before a figure is a part of it: a sign, more digits, a base."""
    sign = before[-1]
    return sign in "-<>≤≥±~^+" or (sign in ".,:/" and before[:-1].isdigit()) or (sign == "." and before[0] == " ")


def _belongs_after(after: str) -> bool:
    return after[0] == "^" or (after[0] in ".,:/-" and after[1:].isdigit()) or after in ("-£", "-$", "-€")
