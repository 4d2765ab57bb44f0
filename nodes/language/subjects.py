"""Words by which people ask for work, proper names, and short names for tasks."""

import re

from nodes.language.words import STOP_WORDS
from nodes.language.words import keywords as words_of
from nodes.policy import errands
from nodes.policy.orders import FAMILIES

VERBS = {
    "research": "research find identify investigate explore gather collect list describe explain study examine "
    "discover search look determine learn understand outline review survey check name give tell show say read answer "
    "compare contrast clarify analyse analyze evaluate assess verify confirm proofread extract highlight define get",
    "analysis": "compute calculate count measure quantify rank sort estimate correlate plot average sum forecast",
    "strategy": "recommend advise propose suggest prioritise prioritize decide strategise strategize",
    "implementation": "implement code build develop program export refactor",
    "writing": "write draft summarise summarize compose report document formulate translate rewrite shorten rephrase",
    "vague": "conduct perform prepare produce create make generate do provide put draw plan save store",
    "action": " ".join(FAMILIES.values()),
}
"""Verbs a wish begins with, by the kind of work they ask for."""
PHRASES = {
    "research": "let me know|let us know|walk me through|remind me|figure out|see if|see whether|pull together",
    "analysis": "work out|add up",
    "writing": "write up|draw up|sum up|put together|come up with",
}
"""The same, where it takes several words."""
_KIND_OF_ACT = {
    **dict.fromkeys(("analyze", "compare", "list", "explain", "find"), "research"),
    **dict.fromkeys(("summarize", "write", "translate"), "writing"),
    **dict.fromkeys(FAMILIES, "action"),
    "calculate": "analysis",
    "recommend": "strategy",
    "build": "implementation",
}
KIND = {
    **{verb: _KIND_OF_ACT[act] for verb, act in errands.meanings(errands.ACTS).items() if act in _KIND_OF_ACT},
    **{verb: kind for kind, verbs in VERBS.items() for verb in verbs.split()},
    **{phrase: kind for kind, phrases in PHRASES.items() for phrase in phrases.split("|")},
}
"""What kind of work a verb asks for, in a few languages."""
_SAY = r"(?!say\b(?!\s+(?:wh\w+|how|if|that)\b))"  # `an equalizer, say more bass`, gives an example
VERB = rf"{_SAY}(?:{'|'.join(sorted(KIND, key=len, reverse=True))})\b(?!\s+(?:of|and|is|are|market|for|in|on|by|as)\b)"
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
ASKS = "|".join(sorted({*errands.meanings(errands.ASKS), *errands.BE, "whose"}, key=len, reverse=True))
"""Words a question begins with, in a few languages, as a pattern."""
PLACES = "in|of|for|on|with|without|per|from|since|by|under|at|until|before|after|to|about|over|through|into|during"
"""Words before where, when or what for, as a pattern."""
_NO_NAMES = (
    STOP_WORDS
    | ERRANDS
    | frozenset(
        """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
    """.split()  # noqa: SIM905 - a list of words reads as words
    )
)
MOST_WORDS = 12
"""Words of a short name."""

_ERRAND = re.compile(
    rf"^(?:please\s+)?(?:{PHRASES['research']}|{PHRASES['analysis']}|{'|'.join(VERBS['research'].split())}|"
    rf"summari[sz]e|write|draft)\b(?!\s+(?:of|and|is|are)\b)"
    r"(?:\s+(?:me|us|out|up|into))?(?:\s+about)?\s*:?\s+",
    re.IGNORECASE,
)
_CUT = re.compile(r"[:;(\n]|(?<!\b\w)\.\s|,\s+(?:such as|including|with)\b|\s[–—-]\s|(?<=\?)")


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
            if is_name and word.lower() not in _NO_NAMES:
                found.append(word)
    return list(dict.fromkeys(found))


def phrases(text: str) -> list[str]:
    """The names in a text that is no beginning of a sentence; words that follow each other are one (`Cape Morrow`)."""
    single = "|".join(map(re.escape, names(f"xx {text}")))
    whole = rf"(?<!\w)(?:{single})(?:\s+(?:(?:of|de|du|von|van)\s+(?:the\s+)?)?(?:{single}))*(?!\w)"
    return list(dict.fromkeys(match.group() for match in re.finditer(whole, text))) if single else []


def capital(text: str) -> str:
    """With a capital at the beginning."""
    return text[:1].upper() + text[1:]


def joined(items: list[str]) -> str:
    """A list in words: `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
