"""Words by which people ask for work, proper names, and short names for tasks."""

import re

from nodes.language.words import STOP_WORDS
from nodes.language.words import keywords as words_of
from nodes.policy.orders import FAMILIES

VERBS = {
    "research": "research find identify investigate explore gather collect list describe explain study examine "
    "discover search look determine learn understand outline review survey check name give tell show say read answer "
    "compare contrast clarify analyse analyze evaluate assess",
    "analysis": "compute calculate count measure quantify rank sort estimate correlate plot average sum",
    "strategy": "recommend advise propose suggest prioritise prioritize decide strategise strategize",
    "implementation": "implement code build develop program export refactor",
    "writing": "write draft summarise summarize compose report document formulate translate",
    "vague": "conduct perform prepare produce create make generate do provide put draw plan",
    "action": " ".join(FAMILIES.values()),
}
"""Verbs a wish begins with, by the kind of work they ask for."""
KIND = {verb: kind for kind, verbs in VERBS.items() for verb in verbs.split()}
VERB = rf"(?:{'|'.join(KIND)})\b(?!\s+(?:of|and|is|are|market|for|in|on|by|as)\b)"
"""Such a verb, where it is no noun."""
_ABOUT_WORK = """
    analysis comparison recommendation recommendations swot strategy report documents document complete full detailed
    comprehensive brief short overview main key important point points answers questions question task request result
    results source sources compute calculate count rank estimate file files folder text material include including
    information finding findings together cover covering based these those publish send post share deliver
    """
ERRANDS = frozenset(_ABOUT_WORK.split()).union(
    *(VERBS[kind].split() for kind in ("research", "strategy", "writing", "vague"))
)
"""In a request they name the errand, not the subject."""
MOST_WORDS = 12
"""Words of a short name."""

_ERRAND = re.compile(
    r"^(?:please\s+)?(?:research|find(?: out)?|identify|investigate|determine|check|clarify|outline|compare|name|list|"
    r"describe|explain|analy[sz]e|gather|look up|summari[sz]e|write|tell me(?: about)?|say|show(?: me)?|"
    r"give(?: me)?)\b(?!\s+(?:of|and|is|are)\b)\s*:?\s+",
    re.IGNORECASE,
)
_CUT = re.compile(r"[:;(\n]|\.\s|,\s+(?:such as|including|with)\b|\s[–—-]\s|(?<=\?)")


def keywords(text: str) -> dict[str, str]:
    """The words of `text` by stem, without those by which people ask for work."""
    return {key: word for key, word in words_of(text).items() if word.lower() not in ERRANDS}


def subject_of(text: str) -> dict[str, str]:
    """What `text` is about: the same, or all its words where there is nothing else."""
    return keywords(text) or words_of(text)


def without_errand(text: str) -> str:
    """The text without the verb of work that it begins with."""
    return _ERRAND.sub("", text.strip()) or text


def title_of(description: str) -> str:
    """The subject of a task's description, without the verb it begins with and what comes after a colon."""
    rest = without_errand(description)
    words = (_CUT.split(rest, maxsplit=1)[0].strip(" .,") or rest.strip()).split()
    return capital(" ".join(words[:MOST_WORDS]) + (" …" if len(words) > MOST_WORDS else "")) or "Result"


def names(text: str) -> list[str]:
    """Proper names in `text`: words written with a capital inside a sentence, or with capitals or digits inside."""
    found = []
    for sentence in re.split(r"[.!?:\n]\s*", text):
        for number, word in enumerate(re.findall(r"[^\W_][\w.+#-]*[\w+#]", sentence)):
            is_name = any(ch.isupper() for ch in word[1:]) or (number > 0 and word[0].isupper())
            if is_name and word.lower() not in STOP_WORDS | ERRANDS:
                found.append(word)
    return list(dict.fromkeys(found))


def capital(text: str) -> str:
    """With a capital at the beginning."""
    return text[:1].upper() + text[1:]


def joined(items: list[str]) -> str:
    """A list in words: `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
