"""Which actions in the outside world a request orders, and which it forbids.

Only a clause that begins with the verb is an order. What stands in quotation marks, in quoted lines, in code or after
"for example" orders nothing; "do not publish", "publish nothing" and "without sending it" forbid, and so does "do not
publish until …": what may be done later is not done now.
"""

import re

FAMILIES = {
    "publish": "publish post release announce share upload",
    "send": "send email mail forward deliver",
    "delete": "delete erase wipe",
    "pay": "pay buy purchase",
}
"""Verbs that change the outside world, by the action they come to."""

_FAMILY = {verb: action for action, verbs in FAMILIES.items() for verb in verbs.split()}
_VERBS = "|".join(_FAMILY)
_FORMS = (
    rf"(?:{_VERBS}|publish(?:ing|ed)|post(?:ing|ed)|releas(?:ing|ed)|announc(?:ing|ed)|shar(?:ing|ed)|"
    r"upload(?:ing|ed)|sen(?:ding|t)|e?mail(?:ing|ed)|forward(?:ing|ed)|deliver(?:ing|ed)|delet(?:ing|ed)|"
    r"eras(?:ing|ed)|wip(?:ing|ed)|pa(?:ying|id)|bu(?:ying)|bought|purchas(?:ing|ed))"
)
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|(?<!\w)'[^'\n]{3,}'(?!\w)", re.DOTALL
)
_FORWARDED = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_EXAMPLE = re.compile(
    r"(?:\(|[,;—-]\s*|(?<=[.?!])\s+|^)\s*(?:for example|for instance|e\.g\.|such as)[^.;)\n]*\)?",
    re.IGNORECASE | re.MULTILINE,
)
_NO = (
    r"(?:do(?:es)? not|don['’]?t|never|must not|mustn['’]?t|should not|shouldn['’]?t|may not|cannot|can['’]?t|need not|"
    r"no need to|not to|under no circumstances|refrain from|avoid|without(?: actually)?|instead of|rather than|"
    r"stop short of|hold off(?: on)?|not|no)"
)
_FORBIDDEN = re.compile(
    rf"[,;(]?\s*\b(?:but |and |please |yet |just |also |whatever \w+ \w+,? )*{_NO}\s+"
    rf"(?:(?:be|yet|actually|ever|just|go|and|under any circumstances|to|have|anything|it|already)\s+)*"
    rf"(?P<verbs>{_FORMS}\b(?:\s*(?:,|or|and|nor)\s*(?:or |nor )?{_FORMS}\b)*)"
    r"[^,.;:?!\n)]*[,)]?",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    rf"\b(?P<verbs>{_FORMS}(?:\s*(?:,|or|and)\s*(?:or )?{_FORMS})*)\s+(?:absolutely )?(?:nothing|none|"
    rf"no\s+\w+)\b[^,.;:?!\n]*|"
    rf"\bnothing\s+(?:is|must|should|may|shall|will|gets?|"
    rf"has)\s+(?:to\s+)?(?:be\s+)?(?P<passive>{_FORMS})\b[^,.;:?!\n]*",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"(?<=[?!])\s+|(?<=\w\w\.)\s+|[;:]\s+|\n+|,\s*(?:and\s+)?(?:then\s+)?|\s+(?:and then|then|and also|and)\s+"
)
POLITE = re.compile(
    r"^(?:(?:please|kindly|then|and|also|next|finally|first|second|third|lastly|afterwards|now|so|just|only|ok(?:ay)?|hi|"
    r"hello|dear \w+|in addition|additionally)[,\s]+|(?:can|could|would|will) you (?:please )?|(?:i|we)(?: want| need|"
    r" would like| wish|['’]d like)(?: you)? to |(?:i|we) (?:(?:was )?wonder(?:ing)?|want to know),? |do you know |"
    r"(?:i|we)(?:['’]d| would) like to know |you (?:should|must|may) |(?:your|the) task(?: is)?:? (?:to )?|help me "
    r"(?:to )?|let['’]?s |\(?\d{1,2}[.)]\s*|[-*•]\s+)+",
    re.IGNORECASE,
)
"""What people say before what they want."""
_ORDER = re.compile(
    rf"^(?P<verb>{_VERBS})\b(?!\s*(?:of|is|are|was|notes?|prices?|holders?|office|date|dates|mortem|client|"
    rf"server|address)\b|[-:])",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(r"\b(?:how|what|why|which|who|when|where|whether|if|that|to|may|can|should)\b", re.IGNORECASE)
_OBJECT = re.compile(
    r"^\w+\s+(?:it|them|this|everything|(?:the|my|our|your) (?:report|results?|summary|answer|findings?|draft|"
    r"text|file|"
    r"document|outcome|reply|letter|note))\b|^\w+\s*[.!]?$",
    re.IGNORECASE,
)


def plain(request: str) -> str:
    """The request without what it only quotes or gives as an example."""
    text = _FORWARDED.sub("", request)
    return _EXAMPLE.sub("", _QUOTED.sub(lambda found: "“…”" if found.group().strip() else "", text))


def without_forbidden(request: str) -> str:
    """The request without the places where it says what not to do to the outside world."""
    cut = _FORBIDDEN.sub(_closed, request)
    return re.sub(r"[ \t]{2,}", " ", _NOTHING.sub("", cut)).strip(" ;,\n").removeprefix(".").strip()


def forbidden(request: str) -> frozenset[str]:
    """The actions that a request says not to do, and does not order elsewhere."""
    text = plain(request)
    said = [found["verbs"] for found in _FORBIDDEN.finditer(text)]
    said += [found["verbs"] or found["passive"] for found in _NOTHING.finditer(text)]
    actions = {action for part in said for word in re.findall(r"\w+", part.lower()) if (action := action_of(word))}
    return frozenset(actions - set(ordered(request)))


def ordered(request: str) -> list[str]:
    """The actions that a request orders, in order."""
    found = []
    for sentence in re.split(r"(?<=[.?!;])\s+|\n+", without_forbidden(plain(request))):
        asks = False
        for clause in _ENDS.split(sentence):
            bare = POLITE.sub("", clause.strip())
            match = _ORDER.match(bare)
            if match and (not asks or _OBJECT.match(bare)):
                found.append(_FAMILY[match["verb"].lower()])
            asks = asks or (bool(_SUBORDINATE.search(clause)) and not match)
    return list(dict.fromkeys(found))


def action_of(word: str) -> str:
    """The action that a verb, or a form of it, comes to; empty for any other word."""
    word = word.lower()
    stems = [
        word,
        *(word.removesuffix(end) + more for end in ("ing", "ed") for more in ("", "e") if word.endswith(end)),
    ]
    irregular = {"sent": "send", "paid": "pay", "bought": "buy"}.get(word, "")
    return next((_FAMILY[one] for one in (*stems, irregular) if one in _FAMILY), "")


def actions_in(named: str) -> list[str]:
    """The actions that a task's `action` comes to, however it is written: `send_email`, `publishing`."""
    return list(dict.fromkeys(action for word in re.findall(r"[a-z]+", named.lower()) if (action := action_of(word))))


def _closed(found: re.Match[str]) -> str:
    """What is left of a place that forbids: nothing, or the end of the clause it stood in."""
    return " " if found.group().rstrip().endswith((",", ")")) else ""
