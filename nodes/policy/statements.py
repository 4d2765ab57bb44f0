"""Statements of a text: what it quotes, which figures it gives, and the labels that are to bear it out.

A statement is a piece of a paragraph or list item up to the labels that follow it; a label at the beginning belongs to
what comes after it. Fenced code is no prose: what stands in quotation marks there is nobody's words.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nodes.policy.figures import Figure, figures_in
from state.citation import LABEL, without_labels

LONG = 5
"""From this many words on a quotation is one wherever it stands; a shorter one counts in a statement with labels."""
LONGEST = 4_000
"""Characters of a quotation; what is longer is an open mark."""
IDEOGRAPHS = 3
"""Characters that count as a word where a script has no spaces."""

_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_COUNTED = re.compile(
    r"^[\s*_(]*(?:(?:step|point|part|phase|option|section|chapter|schritt|punkt|teil|abschnitt)\s+\d+|\d+(?=[.):]))[.):]?",
    re.IGNORECASE,
)
"""A number that the writer gives to the sentence: `Step 1:`."""
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})")
_SETS_OFF = re.compile(r"^\s*(?:#{1,6}\s|\|)")
_ONE = LABEL.pattern.replace("?P<file>", "").replace("?P<place>", "")
_LABELS = re.compile(rf"{_ONE}(?:[ \t]*[,;]?[ \t]*{_ONE})*(?P<end>[.;,!?]*)")
"""A run of labels. It begins with one: a pattern that began before it would be tried at every character."""
_ONLY_LABELS = re.compile(
    rf"^[\s>*_(]*(?:(?:[—–-]{{1,2}}|(?:source|quelle|from|see|in)\b:?)[\w .,'’]{{0,80}}[,:]?\s*)?"
    rf"{_ONE}(?:[ \t]*[,;]?[ \t]*{_ONE})*[\s).*_]*$",
    re.IGNORECASE,
)
"""A line that says where what is above it comes from."""
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’»)*_]*\s+(?=[\"'“„«‘(*_]*[^\W\d_a-z])|\n")
_ATTRIBUTION = re.compile(r"\n[^\S\n]*(?:—|–|--|-\s+[A-Z]).{0,80}\Z")
"""The last line of a blockquote that says whose words it has; a list or an underlined heading may end in one too."""
_ADMONITION = re.compile(
    r"^[\s>*_]*(?:\[!\w+\]|(?:note|tip|warning|important|caution|hint|hinweis|summary|key)\b)", re.IGNORECASE
)
_TERM = re.compile(
    r"(?:\b(?:an?|so-called|sogenannt\w*|ein\w{0,2}|termed|dubbed|nicknamed|the (?:word|term|label|tag|name)s?|"
    r"call(?:ed)? (?:it|this|them)|known as|in the sense of)|e\.g\.,?)\s*[*_]*$",
    re.IGNORECASE,
)
_CLOSERS = {"“": '”"', "„": "“”‟", "«": "»", "»": "«", "‹": "›", "›": "‹", "‘": "’", "‚": "‘’", "「": "」", "『": "』"}
_CLOSERS |= {"〝": "〞〟", "＂": "＂", '"': '"”', "'": "'", "”": "”"}
_MARK = re.compile("`+|[\"'“”„‟«»‹›‘’‚「」『』〝〞〟＂]")
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class LabelAt:
    """A label and where it stands."""

    start: int
    end: int
    file: str
    place: str


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words that a text gives as somebody's."""

    start: int
    end: int
    """Of the whole, marks included."""
    readings: tuple[str, ...]
    """What is quoted; more than one where a closing mark may be an apostrophe, or a blockquote holds a quotation."""
    is_term: bool = False
    """Whether it is a manner of speaking (`a "human touch"`), which is looked for but not held against anybody."""
    is_code: bool = False

    @property
    def is_long(self) -> bool:
        """Whether it counts wherever it stands."""
        words = len(self.readings[0].split()) + len(_IDEOGRAPH.findall(self.readings[0])) // IDEOGRAPHS
        return words >= LONG


@dataclass(frozen=True, slots=True)
class Statement:
    """A piece of a text with its labels; all offsets are those of the text."""

    start: int
    end: int
    text: str
    """Without labels and list mark."""
    labels: list[LabelAt]
    lent: list[LabelAt] = field(default_factory=list)
    """Labels of the line that leads to it (`The guide says [guide.md#L4]:`)."""
    quotations: list[Quotation] = field(default_factory=list)
    sentence: str = ""
    """The sentence that the labels stand in, without quotations and code."""
    figures: list[Figure] = field(default_factory=list)
    """The figures of that sentence; offsets in `sentence`."""

    @property
    def is_heading(self) -> bool:
        """Whether it is a heading: nothing is claimed in it. A quoted one is quoted."""
        return self.text.startswith("#") and not (self.labels and self.quotations)


def statements_in(text: str) -> list[Statement]:
    """The statements of a text in order; takes time in proportion to it."""
    found: list[Statement] = []
    for block in _blocks(text):
        found += _of_quote(text, block, found) if block.is_quote else _of_prose(text, block)
    return found


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    is_quote: bool = False
    is_code: bool = False


def _blocks(text: str) -> Iterator[_Block]:
    """Paragraphs, list items, headings, blockquotes; fenced code only where labels follow it at once."""
    lines = [(match.start(), match.end(), match.group()) for match in re.finditer(r"[^\n]*\n|[^\n]+$", text)]
    held: tuple[int, int, bool] | None = None
    n = 0
    while n < len(lines):
        start, end, line = lines[n]
        bare = line.strip()
        fence = _FENCE.match(line)
        is_quote = line.lstrip().startswith(">")
        goes_on = held is not None and bare and not fence and is_quote == held[2]
        if not goes_on or not held or (not is_quote and (_BULLET.match(line) or _SETS_OFF.match(line))):
            if held:
                yield _Block(*held)
            held = None
        if fence:
            n = _after_fence(lines, n, fence[1])
            end = lines[n - 1][1]
            if n < len(lines) and _ONLY_LABELS.match(lines[n][2]):
                yield _Block(start, lines[n][1], is_quote=True, is_code=True)
                n += 1
            continue
        if held:
            held = (held[0], end, held[2])
        elif bare:
            held = (start, end, is_quote)
        n += 1
        if held and held[2]:
            below = n + (n < len(lines) and not lines[n][2].strip())
            if (
                below < len(lines)
                and not lines[below][2].lstrip().startswith(">")
                and _ONLY_LABELS.match(lines[below][2])
            ):
                yield _Block(held[0], lines[below][1], is_quote=True)
                held, n = None, below + 1
    if held:
        yield _Block(*held)


def _after_fence(lines: Sequence[tuple[int, int, str]], n: int, mark: str) -> int:
    """The number of the line after a fenced block that begins at line `n`."""
    for after in range(n + 1, len(lines)):
        if lines[after][2].strip().startswith(mark) and not lines[after][2].strip().strip(mark[0]):
            return after + 1
    return len(lines)


def _of_quote(text: str, block: _Block, before: Sequence[Statement]) -> list[Statement]:
    """A blockquote as one quotation, without its attribution."""
    raw = text[block.start : block.end]
    labels = _labels(raw, block.start)
    lines = [re.sub(r"^[ \t]*(?:>[ \t]?)+", "", line) for line in raw.splitlines()]
    if block.is_code:
        lines = [line for line in lines if not _FENCE.match(line)]
    kept = [line for line in lines if not _ONLY_LABELS.match(line)]
    whole = without_labels("\n".join(kept)).strip()
    words = _ATTRIBUTION.sub("", whole).strip()
    lead = before[-1] if before and re.search(r":[*_\s]*$", text[before[-1].start : block.start]) else None
    inner = " … ".join(q.readings[0] for q in _quotations(words)) if not block.is_code else ""
    is_inner = 2 * len(inner.split()) >= len(words.split())  # `Kim writes: "…"`, and no single word in marks
    quotations = []
    if words and (labels or not _ADMONITION.match(raw)):
        readings = tuple(dict.fromkeys([words, whole, *([inner] if inner and is_inner else [])]))
        quotations = [Quotation(block.start, block.start + len(raw.rstrip()), readings, is_code=block.is_code)]
    shown = re.sub(r"\s+", " ", words)
    lent = lead.labels if lead and not labels else []
    return [Statement(block.start, block.end, shown, labels, lent, quotations)] if shown else []


def _of_prose(text: str, block: _Block) -> list[Statement]:
    """A paragraph cut after each run of labels; what follows the last one is a statement of its own."""
    raw = text[block.start : block.end]
    quotations = _quotations(raw)
    pieces = list(_pieces(raw, quotations))
    starts = [first for first, _ in pieces]
    shares: list[list[Quotation]] = [[] for _ in pieces]
    for quotation in quotations:
        shares[max(0, bisect_left(starts, quotation.start + 1) - 1)].append(quotation)
    found = []
    for (first, last), mine in zip(pieces, shares, strict=True):
        shown = _BULLET.sub("", without_labels(raw[first:last])).strip()
        if not shown:
            continue
        labels = _labels(raw[first:last], block.start + first)
        sentence = _sentence(raw, first, last, labels, block.start, mine)
        figures = figures_in(sentence) if labels else []
        moved = [Quotation(q.start + block.start, q.end + block.start, q.readings, q.is_term, q.is_code) for q in mine]
        found.append(Statement(block.start + first, block.start + last, shown, labels, [], moved, sentence, figures))
    return found


def _pieces(raw: str, quotations: Sequence[Quotation]) -> Iterator[tuple[int, int]]:
    """The spans of statements; a cut never goes through a quotation, and labels that lead belong to what follows."""
    ends = [q.end for q in quotations]
    start = 0
    for match in _LABELS.finditer(raw):
        cut = match.end()
        if cut <= start:
            continue
        around = bisect_left(ends, cut)
        if around < len(quotations) and quotations[around].start < match.start():
            cut = quotations[around].end
            cut += len(re.match(r"[.;,!?]*", raw[cut:])[0])  # type: ignore[index]
        elif not match["end"].strip(",") and _leads(raw[start : match.start()]):
            continue
        yield start, cut
        start = cut
    if raw[start:].strip():
        yield start, len(raw)


def _leads(before: str) -> bool:
    """Whether labels after these words lead a sentence rather than end one: `According to [a.md#L1], …`."""
    words = _BULLET.sub("", without_labels(before)).split()
    return not words or (
        len(words) <= 4 and not re.search(r"[\d\"'“„«‘`.!?:]", before) and bool(_LEADING.match(words[0]))
    )


_LEADING = re.compile(
    r"(?:according|as|per|in|see|cf|from|by|the|laut|nach|gemäß|selon|según|source|quelle)\b", re.IGNORECASE
)


def _labels(raw: str, offset: int) -> list[LabelAt]:
    return [LabelAt(offset + m.start(), offset + m.end(), m["file"], m["place"]) for m in LABEL.finditer(raw)]


def _sentence(
    raw: str, first: int, last: int, labels: Sequence[LabelAt], offset: int, quotations: Sequence[Quotation]
) -> str:
    """The sentence that the labels stand in; quotations are blanked out, since they are looked for by themselves."""
    if not labels:
        return ""
    chars = raw[first:last]
    for quotation in quotations:
        if not quotation.is_term:
            begin, end = quotation.start - first, quotation.end - first
            chars = chars[:begin] + re.sub(r"\S", "'", chars[begin:end]) + chars[end:]
    mark = _BULLET.match(chars) or _COUNTED.match(chars)
    chars = " " * mark.end() + chars[mark.end() :] if mark else chars
    chars = re.sub(r"\[\d{1,3}\](?!\()", lambda m: " " * len(m.group()), chars)
    until = labels[0].start - offset - first
    begin = 0
    for cut in _SENTENCE.finditer(chars, 0, until):
        if chars[cut.end() : until].strip():
            begin = cut.end() if cut.group() != "\n" or _SETS_OFF.match(chars[cut.end() :]) else begin
    return without_labels(chars[begin:])


def _quotations(raw: str) -> list[Quotation]:
    """What stands in quotation marks or as code, in order, none inside another."""
    marks = [(m.start(), m.group()) for m in _MARK.finditer(raw)]
    closers: dict[str, list[int]] = {}
    for at, mark in marks:
        if _may_close(raw, at, mark):
            closers.setdefault(mark, []).append(at)
    found: list[Quotation] = []
    end = 0
    for at, mark in marks:
        if at < end or not _may_open(raw, at, mark):
            continue
        wanted = [mark] if mark[0] == "`" else list(_CLOSERS.get(mark, ""))
        nearest = [
            positions[n]
            for one in wanted
            if (positions := closers.get(one)) and (n := bisect_left(positions, at + len(mark))) < len(positions)
        ]
        if not nearest:
            continue
        close = min(nearest)
        if close - at > LONGEST or close - at <= len(mark):
            continue
        ends = [close]
        if mark in "'‘‚":
            later = closers[raw[close]]
            n = bisect_left(later, close)
            ends = [one for one in later[n : n + 4] if one - at <= LONGEST and not _opens_between(raw, close, one)]
        readings = tuple(dict.fromkeys(without_labels(raw[at + len(mark) : one]) for one in reversed(ends)))
        readings = tuple(reading for reading in readings if re.search(r"\w", reading))
        if not readings:
            end = close + len(mark)
            continue
        is_code = mark[0] == "`"
        is_term = len(readings[-1].split()) <= 2 and bool(_TERM.search(raw[max(0, at - 40) : at]))
        end = ends[-1] + (len(mark) if is_code else 1)
        found.append(Quotation(at, end, readings, is_term, is_code))
    return found


def _opens_between(raw: str, close: int, later: int) -> bool:
    """Whether another quotation begins between two closing marks: then the first one closes."""
    return bool(re.search(r"[\s(]['‘‚]\w", raw[close + 1 : later]))


def _may_open(raw: str, at: int, mark: str) -> bool:
    before, after = raw[at - 1 : at] if at else "", raw[at + len(mark) : at + len(mark) + 1]
    if not after:
        return False
    if mark in "\"'”":
        return not after.isspace() and not (before.isalnum() or before == "\\")
    return mark not in "’〞〟」』" and not (mark in "»›" and (before.isalnum() or after.isspace()))


def _may_close(raw: str, at: int, mark: str) -> bool:
    before, after = raw[at - 1 : at] if at else "", raw[at + 1 : at + 2]
    if not before:
        return False
    if mark in "'’":
        return not before.isspace() and not after.isalnum()
    if mark in '"”':
        return not before.isspace() and not (mark == '"' and after.isalnum())
    return True
