"""Words as a search compares them: split, folded, stemmed (Snowball), without stop words.

One way for all: what stands in the sources and what is asked goes through the same function, so `Comparing`,
`compares` and `comparison` meet, and so do `maxWidth` and `max width`.
"""

import re
import threading
import unicodedata
from functools import lru_cache

import snowballstemmer

from nodes.policy import errands

STOP_WORDS = (errands.meanings(errands.ASKS).keys() - {"come", "comment"}) | frozenset(
    """
    a about above across after again against all along already also always am among an and another any anybody anyone
    anything are aren around as at be because been before being below besides between beyond both but by can cannot
    could d despite did do does doesn doing don during each else etc even ever every everybody everyone everything few
    for from further get gets give given had happen happens has have having he her here hers herself him himself his
    how i if in instead into is isn it its itself just let like ll made make makes many may maybe me might more most
    much must my myself need needs never no nobody nor not nothing of off on once one only or other otherwise our
    ourselves out over own per perhaps please quite rather s same say says several she should so some somebody someone
    something still such t tell than that the their them themselves then there these they this those through to too
    toward towards under until up upon us use used uses using ve very via want was we well were what whatever when
    where whether which whichever while who whom whose why will with within without would yet you your yourself
    yourselves
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""Words that say nothing about the subject: English ones, and those that ask in other languages."""

_LIGHT_WORDS = """
    away back become began begin begun behind big bring brought carry catch caught certain change choose chosen come
    decide decided deep easily easy eight exist far find first five follow forward found four gone good great hard held
    help hold include keep kept kind know known large last late lead leave left library little long look low mean meant
    move next nice nicely nine offer often one package pass pay place possible product program project publish put quick
    quickly reach real remain run second see seem seen send sent serve set seven short show shown six slow small
    software stand start stay stood stop take taken ten thing three throw thrown time together tool try turn two type
    wait watch way wide work write written came got went
    """

_OF_DEGREE = """
    cheap new old large big high low tall short long heavy light fast slow young late early small great warm cold hot
    rich poor strong weak near deep wide
    """
_SPELLINGS = (
    (re.compile("^licens|^licenc"), "licens"),
    (re.compile("ys$"), "yz"),
    (re.compile("(?<=[a-z]{3})is$"), "iz"),
    (re.compile("(?<=[a-z]{2})our$"), "or"),
)
"""Parts of stems that are written in two ways: `licence`, `license`; `analyse`, `analyze`; `colour`."""

_FOUNDING = dict.fromkeys(["founded", "founding"], "founder")
"""Words whose stem would be that of another one: who founded a thing is its founder, not who found it."""

_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_DAY = r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?:s|rs?|nes)?(?:day)?\b"
_SPAN_OF_DAYS = re.compile(rf"\b{_DAY}\.?(?:\s*(?:[-–—]|to)\s*{_DAY})?")
"""`Sun`, written as a name, and `Mon–Fri`, which speaks also of the days between."""
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+(?:\+\+|#)?")
_COMPOUND = re.compile(r"\b[^\W\d_]+(?:-[^\W\d_]+)+\b")
_BETWEEN = frozenset(["to", "of", "and", "in", "on", "by", "the", "a", "up", "non", "re", "self", "pre"])
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CONTRACTION = re.compile(r"(?<=\w)['’](?=(?:s|t|re|ve|ll|d|m)\b)")
_APART = str.maketrans({"+": "p", "#": "s", ".": "d", ",": "d"})

_LANGUAGES = {
    "CYRILLIC": "russian",
    "GREEK": "greek",
    "ARABIC": "arabic",
    "DEVANAGARI": "hindi",
    "TAMIL": "tamil",
    "ARMENIAN": "armenian",
    "HEBREW": "yiddish",
}
"""The language whose endings are taken off words of a script; those of Latin letters lose the English ones."""
_stemmers = {name: snowballstemmer.stemmer(name) for name in ["english", *_LANGUAGES.values()]}
_stemming = threading.Lock()  # a stemmer keeps its word in itself


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """A word as it is compared: lower case, without accents and endings; letters and digits only."""
    lower, folded = word.lower(), _folded(word)
    if folded.isascii() and folded.isalpha():
        folded = _FOUNDING.get(folded) or _stemmed(folded, "english")
        for written, other in _SPELLINGS:
            folded = written.sub(other, folded)
    elif language := _LANGUAGES.get(unicodedata.name(lower[:1], "").partition(" ")[0]):
        folded = _folded(_stemmed(lower.replace("ё", "е"), language))
    return folded.translate(_APART)


def _folded(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(c))


def _stemmed(word: str, language: str) -> str:
    with _stemming:
        return str(_stemmers[language].stemWord(word))


def _compared(word: str) -> tuple[str, str]:
    """`cheaper` and `cheapest`."""
    if re.search(r"[^aeiou][aeiou][bgtdn]$", word):
        word += word[-1]
    root = re.sub(r"y$", "i", word.removesuffix("e"))
    return f"{root}er", f"{root}est"


LIGHT = frozenset(map(stem, _LIGHT_WORDS.split()))
"""Stems of words that say little: of doing anything, of degree, number and direction, for what a text is about.

Texts say the same in other words.
"""
DEGREES = frozenset(stem(form) for word in _OF_DEGREE.split() for form in _compared(word)) | {"best", "worst"}
"""Stems by which things are compared. Texts that say by how much need not have them."""


def words(text: str) -> list[str]:
    """The words of `text` in order; writing without spaces (Chinese, Japanese, Korean) in pairs of characters."""
    found: list[str] = []
    for match in _WORD.finditer(_CONTRACTION.sub(" ", text)):
        word = match.group()
        found += [word[n : n + 2] for n in range(max(1, len(word) - 1))] if CJK.search(word) else [word]
    return found


def stems(text: str) -> list[str]:
    """The stems of all words of `text`, in order; of `maxWidth` also those of its parts."""
    found: list[str] = []
    for word in words(text):
        found.append(stem(word))
        if not (word.islower() or word.istitle()) and len(parts := _CAMEL.split(word)) > 1:
            found += map(stem, parts)
    return found + [stem(day) for match in _SPAN_OF_DAYS.finditer(text) for day in _days(match)]


def _days(match: re.Match[str]) -> list[str]:
    """The days that `Sat` or `Mon–Fri` speaks of."""
    first, last = (
        next((n for n, day in enumerate(_DAYS) if said and day.startswith(said.lower())), -1) for said in match.groups()
    )
    return [_DAYS[first]] if last < 0 else _DAYS[first : last + 1] or [*_DAYS[first:], *_DAYS[: last + 1]]


def keywords(text: str) -> dict[str, str]:
    """What `text` asks about: the word as written by its stem, in order, without stop words."""
    found: dict[str, str] = {}
    joined = {part.lower() for whole in _COMPOUND.findall(text) for part in whole.split("-")} - _BETWEEN
    for word in words(text):
        says = word.lower() not in STOP_WORDS or word.lower() in joined
        if says and (len(word) > 1 or word.isdigit() or not word.isascii()):
            found.setdefault(stem(word), word)
    return found
