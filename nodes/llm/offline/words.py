"""The words that carry meaning, in a form in which they can be compared.

Short names for tasks: what a section of a report is headed with.
"""

import re
from collections.abc import Iterable

STOP = frozenset(
    """
    a about above across after again against all also am an and any are aren't as at be because been before being below
    between both but by can cannot could did do does doing don't down during each else etc every few for from further
    get gets give given had has have having he her here hers him his how i if in into is it its itself just let like
    made make makes many may me might more most much must my no nor not of off on once one only or other our out over
    own per please same say says she should so some such than that the their them then there these they this those
    through to too under until up upon us use used uses using very via was we well were what when where whether which
    while who whom whose why will with within without would you your
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""Words of English that say nothing about the subject."""

ERRANDS = frozenset(
    """
    research find identify investigate explore gather collect list describe explain study examine discover search look
    determine learn understand analyse analyze analysis compare comparison compute calculate count evaluate assess rank
    estimate summarise summarize summary report write draft compose prepare document documents produce create publish
    send post share deliver recommend recommendation recommendations advise propose suggest conduct perform complete
    full detailed comprehensive brief short overview main key important point points answer answers question questions
    task request result results source sources file files folder text material tell show name provide include including
    information finding findings swot strategy draw put together cover covering based
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""Words by which people ask for work; in a request they name the errand, not the subject."""

SPELLINGS = (
    (re.compile("^licenc"), "licens"),
    (re.compile("(?<=[iy])s$"), "z"),
    (re.compile("(?<=[a-z]{3})our$"), "or"),
    (re.compile("(?<=[lr])aint$"), "ain"),
)
"""Parts of stems that are written in two ways: `licence`, `license`; `analyse`, `analyze`; `behaviour`; `complaint`."""

REVIEWING = frozenset(
    """
    cite cites cited citation citations nothing statement statements support supports supported label labels labelled
    quote quotes quoted empty again missing only returned tools tool claim claims please add mention improve better also
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""Words by which reviewers say how a result should be, not what it should speak of."""

_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+[+#]*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SHORTEST_STEM = 4


def stem(word: str) -> str:
    """A word without the endings that only grammar asks for: `Comparing`, `compares` and `compare` are one."""
    word = word.lower()
    if len(word) <= _SHORTEST_STEM - 1 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > _SHORTEST_STEM:
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith("ation"):
        word = word[: -len("ion")]
    for ending, shortest in (("ing", 6), ("ed", 5)):
        if word.endswith(ending) and len(word) >= shortest:
            word = word[: -len(ending)]
            if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    word = word[:-1] if word.endswith("e") and len(word) > _SHORTEST_STEM else word
    for british, american in SPELLINGS:
        word = british.sub(american, word)
    return word


def terms(text: str) -> list[str]:
    """The stems of the words in `text` that carry meaning, in order, repeats included."""
    return [stem(word) for word in words(text) if word.lower() not in STOP]


def words(text: str) -> list[str]:
    """The words of `text`; writing without spaces (Chinese, Japanese, Korean) is cut into pairs of characters."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        word = match.group()
        found += _pairs(word) if _CJK.search(word) else [word]
    return found


def keywords(text: str) -> dict[str, str]:
    """What `text` is about: the word as written, by its stem, in order; errands and stop words are left out."""
    found: dict[str, str] = {}
    for word in words(text):
        if word.lower() not in STOP and word.lower() not in ERRANDS and (len(word) > 1 or word.isdigit()):
            found.setdefault(stem(word), word)
    return found


def names(text: str) -> list[str]:
    """Proper names in `text`: words written with a capital inside a sentence, or with capitals or digits inside."""
    found = []
    for sentence in re.split(r"[.!?:\n]\s*", text):
        for number, word in enumerate(re.findall(r"[^\W_][\w.+#-]*[\w+#]", sentence)):
            inner = any(ch.isupper() for ch in word[1:])
            if (inner or (number > 0 and word[0].isupper())) and word.lower() not in STOP | ERRANDS:
                found.append(word)
    return list(dict.fromkeys(found))


def joined(items: Iterable[str]) -> str:
    """A list in words: `a, b and c`."""
    found = list(items)
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def _pairs(run: str) -> list[str]:
    return [run[n : n + 2] for n in range(max(1, len(run) - 1))]


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
