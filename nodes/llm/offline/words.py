"""Words by which people ask for work, proper names, and short names for tasks."""

import re

from nodes.tools.words import STOP_WORDS, keywords

ERRANDS = frozenset(
    """
    research find identify investigate explore gather collect list describe explain study examine discover search look
    determine learn understand analyse analyze analysis compare comparison compute calculate count evaluate assess rank
    estimate summarise summarize summary report write draft compose prepare document documents produce create publish
    send post share deliver recommend recommendation recommendations advise propose suggest conduct perform complete
    full detailed comprehensive brief short overview main key important point points answer answers question questions
    task request result results source sources file files folder text material tell show name provide include including
    information finding findings swot strategy draw put together cover covering based these those
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""In a request they name the errand, not the subject."""
MOST_WORDS = 12

_ERRAND = re.compile(
    r"^(?:please\s+)?(?:research|find(?: out)?|identify|investigate|determine|check|clarify|outline|compare|name|list|"
    r"describe|explain|analy[sz]e|gather|look up|summari[sz]e|write|tell me(?: about)?|say|show(?: me)?|"
    r"give(?: me)?)\b(?:\s+from the (?:sources|tables))?\s*:?\s+",
    re.IGNORECASE,
)
_CUT = re.compile(r"[:;(\n]|\.\s|,\s+(?:such as|including|with)\b|\s[–—-]\s|(?<=\?)")


def without_errand(text: str) -> str:
    """The text without the verb of work that it begins with."""
    return _ERRAND.sub("", text.strip()) or text


def title_of(description: str) -> str:
    """The subject of a task's description, without the verb it begins with and what comes after a colon."""
    rest = without_errand(description)
    head = _CUT.split(rest, maxsplit=1)[0].strip(" .,") or rest.strip()
    words = head.split()
    short = " ".join(words[:MOST_WORDS]) + (" …" if len(words) > MOST_WORDS else "")
    return short[:1].upper() + short[1:] if short else "Result"


def names(text: str) -> list[str]:
    """Proper names in `text`: words written with a capital inside a sentence, or with capitals or digits inside."""
    found = []
    for sentence in re.split(r"[.!?:\n]\s*", text):
        for number, word in enumerate(re.findall(r"[^\W_][\w.+#-]*[\w+#]", sentence)):
            inner = any(ch.isupper() for ch in word[1:])
            if (inner or (number > 0 and word[0].isupper())) and word.lower() not in STOP_WORDS | ERRANDS:
                found.append(word)
    return list(dict.fromkeys(found))


def subject_of(text: str) -> dict[str, str]:
    """What `text` is about: its words by stem, without errands unless there is nothing else."""
    found = keywords(text)
    return {key: word for key, word in found.items() if word.lower() not in ERRANDS} or found
