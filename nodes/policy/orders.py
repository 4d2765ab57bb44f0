"""Which actions in the outside world a request orders, and which it forbids.

Only a clause that begins with the verb is an order. What stands in quotation marks, in quoted lines, in code or after
"for example" orders nothing; "do not publish", "publish nothing" and "without sending it" forbid, and so does "do not
publish until …": what may be done later is not done now.
"""

import re
from collections.abc import Iterator

from nodes.policy import errands

FAMILIES = {
    "publish": "publish post release announce share upload",
    "send": "send email e-mail mail forward deliver",
    "delete": "delete erase wipe",
    "pay": "pay buy purchase",
}
"""Verbs that change the outside world, by the action they come to."""

_FAMILY = {verb: action for action, verbs in FAMILIES.items() for verb in verbs.split()}
_VERBS = "|".join(_FAMILY)
_ABROAD = {
    word: act
    for word, act in errands.meanings(errands.ACTS).items()
    if act in FAMILIES and word not in {*_FAMILY, "remove", "drop", "purge", "discard", "trash", "order"}
}
"""The same verbs in other languages."""
_NO_ABROAD = errands.DENIALS | {"nichts", "niemanden", "rien", "nada", "niente", "nulla", "nessuno", "ninguno"}
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ASKS_ABROAD = frozenset(errands.meanings(errands.ASKS))
_CLAUSES = re.compile(r"[.!;:\n。！；，,]+|(?<=[?？])|\s(?:und|et|y|e|aber|mais|pero|ma)\s")
_POLITE_ABROAD = re.compile(
    r"^(?:bitte|dann|nun|danach|s['’]il (?:vous|te) plaît|puis|ensuite|por favor|luego|después|per favore|poi|请|請|"
    r"und|et|y|e)\s*",
    re.IGNORECASE,
)
_FORMS = (
    rf"(?:{_VERBS}|publish(?:ing|ed)|post(?:ing|ed)|releas(?:ing|ed)|announc(?:ing|ed)|shar(?:ing|ed)|"
    r"upload(?:ing|ed)|sen(?:ding|t)|(?:e-?)?mail(?:ing|ed)|forward(?:ing|ed)|deliver(?:ing|ed)|delet(?:ing|ed)|"
    r"eras(?:ing|ed)|wip(?:ing|ed)|pa(?:ying|id)|bu(?:ying)|bought|purchas(?:ing|ed))"
)
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|(?<!\w)'[^'\n]{3,}'(?!\w)|"
    r"(?:(?<=\bsays:)|(?<=\bsaid:)|(?<=\breads:)|(?<=\bstates:)|(?<=\bwrote:)|(?<=\bwrites:))[^\n.?!]+",
    re.DOTALL,
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
    r"hello|dear \w+|in addition|additionally|anyway|anyhow|actually|besides|well)[,\s]+|"
    r"(?:i|we) have \w+(?: \w+){0,2} questions?(?: (?:about|on|for) [^:.?!]{1,40})?:\s*|"
    r"(?:can|could|would|will) you (?:please )?|"
    r"(?:i|we)(?: want| need|(?: would|['’]d)(?: also)? like| wish)(?: you)? to (?:know,? )?|"
    r"(?:i|we) (?:was )?wonder(?:ing)?,? |do you know |you (?:should|must) |(?:your|the) task(?: is)?:? (?:to )?|"
    r"help me (?:to )?|let['’]?s |\(?\d{1,2}[.)]\s*|[-*•]\s+)+",
    re.IGNORECASE,
)
"""What people say before what they want."""
_ORDER = re.compile(
    rf"^(?P<verb>{_VERBS})\b(?!\s*(?:of|is|are|was|notes?|prices?|holders?|office|date|dates|mortem|client|"
    rf"server|address)\b|[-:])",
    re.IGNORECASE,
)
_OTHERWISE = {
    "publish": r"\b(?:put|place)\b(?=[^.;:?!\n]{1,80}\b(?:online|"
    r"on (?:the|our|my|your) (?:web ?site|web ?page|homepage|intranet|blog))\b)",
    "buy": r"(?<!in )\border\b(?=\s+(?:it|them|one|some|an?|\d+)\b(?![^.;:?!\n]*\bby\b))",
}
"""The same in other words."""
_SUBORDINATE = re.compile(r"\b(?:how|what|why|which|who|when|where|whether|if|that|to|may|can|should)\b", re.IGNORECASE)
_OBJECT = re.compile(
    r"^[\w-]+\s+(?:it|them|this|everything|(?:the|my|our|your) (?:report|results?|summary|answer|findings?|draft|"
    r"list|table|text|file|document|outcome|reply|letter|note))\b|^\w+\s*[.!]?$",
    re.IGNORECASE,
)


def plain(request: str) -> str:
    """The request without what it only quotes or gives as an example."""
    text = _FORWARDED.sub("", request)
    for verb, said in _OTHERWISE.items():
        text = re.sub(said, verb, text, flags=re.IGNORECASE)
    return _EXAMPLE.sub("", _QUOTED.sub(lambda found: "“…”" if found.group().strip() else "", text))


def without_forbidden(request: str) -> str:
    """The request without the places where it says what not to do to the outside world."""
    cut = _FORBIDDEN.sub(_closed, request)
    for clause, _, is_denied in _abroad(request):
        cut = cut.replace(clause, "", 1) if is_denied else cut
    return re.sub(r"[ \t]{2,}", " ", _NOTHING.sub("", cut)).strip(" ;,\n").removeprefix(".").strip()


def forbidden(request: str) -> frozenset[str]:
    """The actions that a request says not to do, and does not order elsewhere."""
    text = plain(request)
    said = [found["verbs"] for found in _FORBIDDEN.finditer(text)]
    said += [found["verbs"] or found["passive"] for found in _NOTHING.finditer(text)]
    actions = {action for part in said for word in re.findall(r"[\w-]+", part.lower()) if (action := action_of(word))}
    actions |= {action for _, action, is_denied in _abroad(text) if is_denied}
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
    found += [action for _, action, is_denied in _abroad(plain(request)) if not is_denied]
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


def _abroad(request: str) -> Iterator[tuple[str, str, bool]]:
    """The clauses in other languages that order or forbid an action: clause, action, whether it is forbidden."""
    for clause in filter(None, map(str.strip, _CLAUSES.split(request))):
        is_unspaced = bool(_CJK.search(clause))
        first, *others = re.findall(r"[\w-]+", _POLITE_ABROAD.sub("", clause).casefold()) or [""]
        named = [act for word, act in _ABROAD.items() if (word in clause if is_unspaced else word in (first, *others))]
        asks = any(word in clause if _CJK.match(word) else word == first for word in _ASKS_ABROAD)
        if not named or asks or clause.endswith(("?", "？", "吗", "か")):
            continue
        is_denied = any(no in clause if _CJK.match(no) else no in (first, *others) for no in _NO_ABROAD)
        if is_denied or is_unspaced or first in _ABROAD:
            yield clause, named[0], is_denied


def _closed(found: re.Match[str]) -> str:
    """What is left of a place that forbids: nothing, or the end of the clause it stood in."""
    return " " if found.group().rstrip().endswith((",", ")")) else ""
