"""Figures in texts: which numbers a statement gives, and whether what it cites bears them out.

`1,200`, `1.200`, `1 200` and `1.2 thousand` are one number; `5` and `-5` are two. What a query computed may be rounded
in a statement, to the digits that the statement shows; what a text says may not.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import combinations, product

_SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_GROUP = "[,.'’_ \u00a0\u2009\u202f]"
_SCALES = {
    "k": 3, "thousand": 3, "tausend": 3, "tsd": 3, "mille": 3, "m": 6, "mn": 6, "mio": 6, "million": 6, "millions": 6,
    "millionen": 6, "bn": 9, "b": 9, "mrd": 9, "billion": 9, "billions": 9, "milliarde": 9, "milliarden": 9,
    "tn": 12, "trillion": 12, "trillions": 12, "billionen": 12,
}  # fmt: skip
_FIGURE = re.compile(
    rf"""
    (?P<sign>(?<![\w)\]%.,])[-−–]|(?<!\w)(?<!\d\ )minus\s+)?
    (?P<number>\d{{1,3}}(?:(?P<group>{_GROUP})\d{{3}})(?:(?P=group)\d{{3}})*(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?|(?<!\w)[.,]\d+)
    (?P<power>(?:\^|\*\*|<sup>)-?\d+|[{_SUPER}]+)?
    (?:[ \u00a0]?(?:(?P<percent>%|per\ ?cent\b|percent\b|prozent\b)|(?P<scale>(?i:{"|".join(_SCALES)})\b)))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()  # noqa: SIM905
_UNITS += ["seventeen", "eighteen", "nineteen"]
_TENS = {name: n * 10 for n, name in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}  # noqa: SIM905
_NAMED = (
    {name: n for n, name in enumerate(_UNITS)}
    | _TENS
    | {"hundred": 100, "dozen": 12, "half": 50, "once": 1, "twice": 2}
)
_NAMED |= {
    "null": 0,
    "eins": 1,
    "ein": 1,
    "eine": 1,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "fünf": 5,
    "sechs": 6,
    "sieben": 7,
}
_NAMED |= {"acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12, "zwanzig": 20, "dreißig": 30, "hundert": 100}
_NAME = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})[- ](?P<unit>{'|'.join(_UNITS[1:10])})|(?P<one>{'|'.join(_NAMED)}))\b"
    rf"(?:[ -](?P<scale>{'|'.join(name for name in _SCALES if len(name) > 3)}|hundred)\b)?",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
"""A year is what figures belong to."""
_MONTHS = (
    "jan", "feb", "mar|mär", "apr", "may|mai", "jun", "jul", "aug", "sep", "oct|okt", "nov", "dec|dez",
)  # fmt: skip
COUNTED = 10
"""A number word up to this one (`three reasons`) is a way to put things; from there on it is a figure."""
_FALLS = re.compile(
    r"\b(?:fell|fall\w*|drop\w*|declin\w*|decreas\w*|los[est]\w*|lower\w*|down|minus|negative|below|under|shrank|shrink\w*|"
    r"reduc\w*|cut\w*|cheaper|less|deficit|gesunken|sank\w*|fiel\w*|verl\w*|weniger|unter|rückgang)\b",
    re.IGNORECASE,
)
_LIMIT_BEFORE = re.compile(
    r"(?:\b(?:less|more|fewer|greater|\w{3,}er)\s+than|\b(?:under|below|over|above|up\s+to|at\s+(?:most|least)|"
    r"max(?:\.|imum|imal)?|min(?:\.|imum|destens|imal)?|unter|über|bis\s+zu|höchstens|(?:weniger|mehr)\s+als)|"
    r"[<>≤≥]=?)(?:\s+of)?\s*[^\w\s]{0,3}\s*(?:[A-Z]{3}\s*)?$",
    re.IGNORECASE,
)
_LIMIT_AFTER = re.compile(
    r"\+(?![\w+])|[ \t]*(?:[^\W\d_]+[ \t]+)?(?:or|and)[ \t]+(?:more|less|fewer|above|below|over|under|up|\w{3,}er)\b",
    re.IGNORECASE,
)
_FOR_LIMITS = re.compile(
    r"\b(?:max(?:imum|imal)?|min(?:imum|imal)?|limits?|caps?|ceiling|floor|most|least|upper|lower|thresholds?|bounds?|"
    r"up to|over|under|from|to|until)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2,}|\b[A-Z]\b")
_COMMON = frozenset(
    "the and for with that this from are was were has have had but not its per than then while whereas costs cost "  # noqa: SIM905
    "is at in on of to by an as or be it der die das und mit von für".split()
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a text."""

    start: int
    end: int
    options: tuple[Decimal, ...]
    """What it may mean, likeliest first: `1.200` is 1200 or 1.2."""
    digits: int
    """Decimals that it shows, after its scale is taken off."""
    power: str = ""
    """Its exponent: `16` of 2^16."""
    scale: int = 0
    is_unit: bool = False
    """Whether its scale is one letter, which may be a unit as well: `5 m`."""
    is_percent: bool = False


def figures_in(text: str, *, named: bool = True) -> list[Figure]:
    """The figures in `text`, in order. `named`: also number words above `COUNTED`."""
    found = [_figure(match) for match in _FIGURE.finditer(text)]
    if named:
        for match in _NAME.finditer(text):
            value = _named(match)
            if value > COUNTED and match.group().lower() not in ("half", "hundred", "dozen"):
                found.append(Figure(match.start(), match.end(), (Decimal(value),), 0))
    return sorted(found, key=lambda figure: figure.start)


def is_limit(text: str, number: Decimal | float) -> bool:
    """Whether a number stands in a text as a limit only (`less than 50`, `50 or more`), which says not what it is."""
    wanted = Decimal(str(number))
    figures = [one for one in figures_in(text) if wanted in (one.options[0], one.options[0].scaleb(one.scale))]
    return bool(figures) and all(
        _LIMIT_BEFORE.search(text[: one.start]) or _LIMIT_AFTER.match(text[one.end :]) for one in figures
    )


def is_for_limits(name: str) -> bool:
    """Whether a field of such a name holds a limit: `max users`, `minimum age`."""
    return bool(_FOR_LIMITS.search(name))


class Evidence:
    """The numbers of the texts that a statement cites."""

    def __init__(self, texts: Iterable[str], *, rounded: bool = False) -> None:
        """`rounded`: the numbers were computed, a statement may round them."""
        self.text = "\n".join(texts)
        self._is_rounded = rounded
        self._values: set[Decimal] = set()
        self._powers: set[tuple[Decimal, str]] = set()
        for figure in figures_in(self.text, named=False):
            for value in figure.options:
                if figure.power:
                    self._powers.add((value, figure.power))
                else:
                    self._values |= {value, value.scaleb(figure.scale)}
        for pair in re.finditer(r"(?<!\d)(\d{1,3}) (\d{3})(?!\d)", self.text):
            self._values |= {Decimal(pair[1]), Decimal(pair[2])}
        self._values |= {
            Decimal(n) for n, name in enumerate(_MONTHS, 1) if re.search(rf"\b(?:{name})", self.text, re.IGNORECASE)
        }
        self._values |= {Decimal(_named(match)) for match in _NAME.finditer(self.text)}

    def has(self, figure: Figure, said: str) -> bool:
        """Whether the figure of the statement `said` is among them."""
        if figure.power:
            return any((value, figure.power) in self._powers for value in figure.options)
        may_lose_sign = bool(_FALLS.search(said))
        for option in figure.options:
            candidates = {option.scaleb(figure.scale)}
            if figure.is_unit or (figure.scale and re.search(_named_scale(figure.scale), self.text, re.IGNORECASE)):
                candidates.add(option)
            if figure.is_percent:
                candidates.add(option.scaleb(-2))
            if may_lose_sign:
                candidates |= {-value for value in candidates}
            if candidates & self._values:
                return True
            if self._is_rounded and self._rounds_to(figure, option, may_lose_sign=may_lose_sign):
                return True
        return False

    def _rounds_to(self, figure: Figure, option: Decimal, *, may_lose_sign: bool) -> bool:
        step = Decimal(1).scaleb(-figure.digits)
        for value in self._values:
            for shown in (value.scaleb(-figure.scale), *([value.scaleb(2)] if figure.is_percent else [])):
                exact = abs(shown) if may_lose_sign and option >= 0 else shown
                if abs(exact - option) * 2 <= step and exact != exact.to_integral_value():
                    return True
        return False


def is_swapped(said: str, there: str) -> bool:
    """Whether two figures of a statement have changed places: each stands with the words that belong to the other.

    Of both texts only the words and figures are looked at that both have, each once: `10 Acme 14 Bolt` against
    `Acme 14 Bolt 10`. Where they do not take turns, nothing is claimed.
    """
    ours, theirs = _sequence(said), _sequence(there)
    shared = ours.keys() & theirs.keys()
    mine, its = _owners(ours, shared), _owners(theirs, shared)
    pairs = list(zip(mine, its, strict=True) if len(mine) == len(its) else product(mine, its))
    return bool(pairs) and all(_is_crossed(mine, its) for mine, its in pairs)


def _is_crossed(mine: Mapping[Decimal, set[str]], its: Mapping[Decimal, set[str]]) -> bool:
    for one, other in combinations([figure for figure in mine if figure in its], 2):
        crossed = mine[one] & its[other] and mine[other] & its[one]
        if crossed and not (mine[one] & its[one] or mine[other] & its[other]):
            return True
    return False


def _sequence(text: str) -> dict[Decimal | str, int]:
    """Words and figures that come once, with where they stand, in order."""
    figures = figures_in(text, named=False)
    found: list[tuple[int, Decimal | str]] = [
        (f.start, text[f.start : f.end] if _YEAR.fullmatch(text[f.start : f.end]) else f.options[0].scaleb(f.scale))
        for f in figures
    ]
    plain = list(text)
    for figure in figures:  # a scale is no word: `4.2 billion`
        plain[figure.start : figure.end] = " " * (figure.end - figure.start)
    words = _WORD.finditer("".join(plain))
    found += [(word.start(), word.group().lower()[:6]) for word in words if _tells(word.group())]
    times = Counter(key for _, key in found)
    return {key: at for at, key in sorted(found, key=lambda pair: pair[0]) if times[key] == 1}


def _owners(sequence: Mapping[Decimal | str, int], shared: Collection[Decimal | str]) -> list[dict[Decimal, set[str]]]:
    """The words that each figure belongs to, where figures and groups of words take turns; else nothing.

    Two ways to read it, where words stand before the first figure and after the last.
    """
    figures: list[Decimal] = []
    groups: list[set[str]] = []
    is_open: bool | None = None
    for key in sequence:
        if key not in shared:
            continue
        if is_open is False and not isinstance(key, str):
            return []
        if isinstance(key, str):
            groups = groups if is_open else [*groups, set()]
            groups[-1].add(key)
        else:
            figures.append(key)
        is_open = isinstance(key, str)
    if len(groups) == len(figures) + 1:
        return [dict(zip(figures, groups, strict=False)), dict(zip(figures, groups[1:], strict=True))]
    return [dict(zip(figures, groups, strict=True))] if len(figures) == len(groups) else []


def _tells(word: str) -> bool:
    return len(word) == 1 or word.lower() not in _COMMON


def _figure(match: re.Match[str]) -> Figure:
    number, group = match["number"], match["group"]
    sign = -1 if match["sign"] else 1
    readings: list[str] = []
    if group:
        readings.append(number.replace(group, "").replace(",", "."))
        if group in ",." and number.count(group) == 1 and not re.search(r"[.,]\d+[.,]", number):
            readings.append(number.replace(",", "."))
    else:
        readings.append(number.replace(",", "."))
    options: list[Decimal] = []
    for reading in readings:
        try:
            options.append(sign * Decimal(reading))
        except InvalidOperation:
            continue
    _, point, decimals = readings[0].partition(".")
    power = match["power"] or ""
    power = re.sub(r"^(?:\^|\*\*|<sup>)", "", power, flags=re.IGNORECASE).translate(str.maketrans(_SUPER, "0123456789"))
    scale = _SCALES.get((match["scale"] or "").lower(), 0)
    return Figure(
        match.start(),
        match.end(),
        tuple(options) or (Decimal(0),),
        len(decimals) if point else 0,
        power,
        scale,
        len(match["scale"] or "") == 1,
        bool(match["percent"]),
    )


def _named(match: re.Match[str]) -> int:
    scale = (match["scale"] or "").lower()
    times: int = 10 ** (2 if scale == "hundred" else _SCALES.get(scale, 0))
    if match["tens"]:
        return (_TENS[match["tens"].lower()] + _UNITS.index(match["unit"].lower())) * times
    return _NAMED[match["one"].lower()] * times


def _named_scale(scale: int) -> str:
    return (
        rf"(?<![^\W\d_])(?:{'|'.join(name for name, power in _SCALES.items() if power == scale and len(name) > 1)})\b"
    )
