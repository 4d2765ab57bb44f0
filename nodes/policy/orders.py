"""Which actions in the outside world a request orders, and which it forbids.

Only a clause that begins with the verb is an order. What stands in quotation marks, in quoted lines, in code or after
"for example" orders nothing; "do not publish", "publish nothing" and "without sending it" forbid, and so does "do not
publish until …": what may be done later is not done now.
"""

import re
from collections.abc import Iterator, Sequence

from nodes.policy import errands

FAMILIES = {
    "publish": "publish post release announce share upload",
    "send": "send email e-mail mail forward deliver submit notify invite",
    "delete": "delete erase wipe remove purge",
    "pay": "pay buy purchase order transfer wire donate refund reimburse renew",
    "cancel": "cancel revoke unsubscribe terminate",
    "book": "book reserve schedule",
}
"""Verbs that change the outside world, by the action they come to."""
GIVES_OUT = frozenset(["publish", "send"])
"""Actions that need something to be done with; any other is done as it is asked for."""
_NOUNS = "order transfer wire book schedule release remove"
"""Those of them that are orders only before what they are done to: `book a room`, `order 40 litres`."""


def _forms(verb: str) -> set[str]:
    """A verb as it is written: `cancel`, `cancels`, `cancelling`, `cancelled`."""
    irregular = {"send": "sent", "pay": "paid", "buy": "bought"}.get(verb)
    stem = verb.removesuffix("e")
    stems = {stem, stem + stem[-1]} if re.search(r"[^aeiou][aeiou][bdglnprt]$", stem) else {stem}
    past = {irregular} if irregular else {re.sub("y$", "i", one) + "ed" for one in stems}
    third = re.sub("(?<=[^aeiou])y$", "ie", verb) + "e" * verb.endswith(("sh", "ch", "ss", "x")) + "s"
    return {verb, third, *(f"{one}ing" for one in stems), *past}


_FAMILY = {verb: action for action, verbs in FAMILIES.items() for verb in verbs.split()}
_VERBS = "|".join(_FAMILY)
_BASE = {form: verb for verb in _FAMILY for form in sorted(_forms(verb))}
_FORMS = rf"(?:{'|'.join(sorted(_BASE, key=len, reverse=True))})"
_ABROAD = {
    word: act
    for word, act in errands.meanings(errands.ACTS).items()
    if act in FAMILIES and word not in {*_FAMILY, "drop", "discard", "trash"}
}
"""The same verbs in other languages."""
_NO_ABROAD = errands.DENIALS | {"nichts", "niemanden", "rien", "nada", "niente", "nulla", "nessuno", "ninguno"}
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ASKS_ABROAD = frozenset(errands.meanings(errands.ASKS))
_CLAUSES = re.compile(r"[.!;:\n。！；，,]+|(?<=[?？])|\s(?:und|et|y|e|aber|mais|pero|ma)\s")
_POLITE_ABROAD = re.compile(
    r"^(?:(?:bitte|dann|nun|danach|s['’]il (?:vous|te) plaît|puis|ensuite|por favor|luego|después|per favore|poi|"
    r"und|et|y|e)\s+|[请請]\s*)",
    re.IGNORECASE,
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
    r"(?:\w+n['’]t|cannot|never|neither|nor(?: (?:do|can|may|must|shall|should|will) \w+)?|"
    rf"(?:nobody|no one)(?: (?:is|must|should|may|shall|will|ought)|(?=\s+(?:ever\s+)?{_FORMS}\b))|"
    r"(?:i|we) forbid|forbidden|(?:refuse|decline|omit) to|"
    r"(?:(?:do(?:es)?|did|must|should|may|need|shall|will|would|are|is|am|['’](?:m|s|re)) )?not|no|"
    r"no need|under no circumstances|(?:refrain|abstain|desist|keep) from|steer clear of|avoid|without(?: actually)?|"
    r"instead of|rather than|stop short of|hold off(?: on)?)"
)
_BEFORE_VERB = (
    r"(?:(?:(?:want|wish|like|need|ask|let|allow)\w*\s+(?:[\w'’-]+\s+){0,4}?)|"
    r"(?:(?!how\b|what\b|which\b|whether\b)[\w'’-]+\s+){0,2}?to\s+)?"
    r"(?:(?:be|been|yet|actually|ever|even|just|go|and|think (?:about|of)|consider|under any circumstances|to|have|"
    r"anything|it|already)\s+)*"
)
"""What may stand between a denial and the verb: `don't want anybody …`, `not ready to …`."""
_LISTED = rf"{_FORMS}\b(?:\s*(?:,|or|and|nor)\s*(?:(?:or|nor|and)\s+)?{_FORMS}\b){{0,9}}"
_ASIDE = r"(?:\s*,[^,.;:?!\n]{1,40},)?"
_NOT_ALONE = r"(?<!\bno)(?<!\bif not)"
"""`No, please, publish it` answers something, and orders."""
_TO_THE_END = r"[^,.;:?!\n)]*"
_ALTERNATIVES = rf"(?:,\s*{_FORMS}\b{_TO_THE_END})*(?:,\s*|\b)n?or{_ASIDE}\s+{_FORMS}\b"
"""What a denial goes on to forbid, each with its own object: `send it` “, delete it, or publish it”."""
_POINTS = r"[^.;!?\n]*(?:\n\s*(?:[-*•]|\d{1,2}[.)])\s[^\n]*)*"
_FORBIDDEN = re.compile(
    rf"[,;(]?\s*\b(?:(?:but|and|please|yet|just|also|i|we|you|it|they) |whatever \w+ \w+,? )*{_NO}"
    rf"(?:(?:\s+|{_NOT_ALONE}{_ASIDE}\s+){_BEFORE_VERB}"
    rf"(?P<verbs>{_LISTED}(?:{_TO_THE_END}{_ALTERNATIVES})?{_TO_THE_END})[,)]?|"
    rf"{_NOT_ALONE}(?: do)?(?: (?:any of )?(?:the following|these things|this))?:(?P<points>{_POINTS}))",
    re.IGNORECASE,
)
_EACH = re.compile(rf"(?:^|,|[-*•.)]\s|\b(?:n?or|and|not|never)\b|n['’]t\b)\s*(?=({_FORMS})\b)")
"""The verbs of a list, without the nouns that look like them: `send the order or publish it`."""
_DID_NOT = re.compile(rf"(?<!\byou )\b(?:have|ha[sd]|did)(?:n['’]t| not)\s+{_FORMS}\b", re.IGNORECASE)
"""`which members have not paid`, which says how things are."""
_NOTHING = re.compile(
    rf"\b(?P<verbs>{_LISTED})\s+(?:(?:absolutely )?(?:nothing|none|no\s+\w+)|"
    rf"(?:[\w'’-]+\s+){{0,6}}?(?:(?:to|with|for) (?:nobody|no one|none)|nowhere))\b[^,.;:?!\n]*|"
    rf"\bnothing\s+(?:is|must|should|may|shall|will|gets?|"
    rf"has)\s+(?:to\s+)?(?:be\s+)?(?P<passive>{_LISTED})[^,.;:?!\n]*",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(?<=[?!])\s+|(?<=\w\w\.)\s+|[;:]\s+|\n+|,\s*(?:and\s+)?(?:then\s+)?|\s+(?:then|and)\s+")
POLITE = re.compile(
    r"^(?:(?:please|kindly|then|and|but|also|next|finally|first(?:ly)?|second(?:ly)?|third(?:ly)?|lastly|afterwards|"
    r"now|so|just|only|ok(?:ay)?|hi|hello|dear \w+|in addition|anyway|quickly|after (?:that|this)|first of all|"
    r"if (?:possible|you (?:can|could|have time)))[,:\s]+|"
    r"(?:i|we) have \w+(?: \w+){0,2} questions?(?: (?:about|on|for) [^:.?!]{1,40})?:\s*|"
    r"(?:can|could|would|will) you (?:please |kindly |maybe |perhaps )?|"
    r"(?:i|we)(?: want| need| ask| expect|(?: would|['’]d)(?: also)? (?:like|love)| wish)(?: you)? to (?:know,? )?|"
    r"(?:make sure|try|feel free) to |help me (?:to )?|let['’]?s |"
    r"\(?\d{1,2}[.)]\s*|[-*•]\s+)+",
    re.IGNORECASE,
)
"""What people say before what they want."""
_ONTO = (
    r"(?:(?:an?|the|this|that|these|those|it|them|me|us|him|her|my|our|your|his|their|its|all|every|each|any|some|one|"
    r"two|three|another|more|everyone|everybody|everything|for|from)\b|[\d€$£#@]|(?-i:[A-Z]))"
)
"""How what a verb is done to begins."""
_ORDER = re.compile(
    rf"^(?P<verb>(?:{'|'.join(_NOUNS.split())})(?=\s+{_ONTO})|(?!(?:{'|'.join(_NOUNS.split())})\b)(?:{_VERBS}))\b"
    rf"(?!\s*(?:of|is|are|was|notes?|prices?|holders?|office|date|dates|mortem|client|server|address|polic(?:y|ies)|rules?|rights?|terms?)\b|[-:])",
    re.IGNORECASE,
)
_ON_THE_WEB = re.compile(
    r"\b(?:put|place|pop|stick)\b(?=[^.;:?!\n]{1,80}\b(?:online|"
    r"on(?:to)? (?:the|our|my|your) (?:[\w-]+ ){0,2}(?:web ?site|web ?page|homepage|intranet|blog))\b)",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\b(?:how|what|why|which|who|when|where|whether|if|that|may|can|should|"
    r"to(?!\s+(?:(?:the|an?|my|our|your)\b|(?-i:[A-Z]))))\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FINITE = re.compile(
    r"^(?!\s*(?:to|do|does|did|can|could|may|might|must|should|will|would)\b).*"
    r"(?:\b(?:is|are|was|were|has|had|have(?! to)|needs|wants|\w{3,}ed)\b|['’]s\b)",
    re.IGNORECASE | re.DOTALL,
)
_RELATIVE = re.compile(r"\b(?:that|who)\s+(?!does\b)[a-z]{3,}s\b(?!\s+to\b)", re.IGNORECASE)
"""A train `that arrives` before nine."""
_OBJECT = re.compile(
    r"^[\w-]+\s+(?:it|them|this|me|us|everything|(?:the|my|our|your) (?:report|results?|summary|answer|findings?|draft|"
    r"list|table|text|file|document|outcome|reply|letter|note))\b|^\w+\s*[.!]?$",
    re.IGNORECASE,
)
_NOT_FORGET = re.compile(r"\b(?:do not|don['’]t|never) (?:forget|fail|neglect|omit|hesitate) to\b", re.IGNORECASE)
_DONE_TO = re.compile(
    r"\b(?:(?:i|we)(?:['’]d like| would like| want| need)|(?:make sure|ensure)(?: that)?|"
    rf"(?:please|you|and|then) (?:get|have)|(?:get|have)(?=[^.!?\n]*(?:[.!\n]|$))) "
    r"(?P<what>it|them|this|that|these|those|everything|(?:the|my|our|your) [\w-]+(?: [\w-]+){0,2})"
    rf" (?:(?:is|are|gets?|to be|being) )?(?P<form>{_FORMS})"
    r"(?=\s+(?:to|by|on|at|from|tomorrow|today|tonight|now|before|until|as)\b|\s*(?:[.!,;]|$))",
    re.IGNORECASE,
)
"""`I want it sent to Kim`, `make sure the notice is posted`."""
_MIND = re.compile(rf"\bwould you mind (?P<form>{_FORMS})\b", re.IGNORECASE)
_OF_THINGS = re.compile(
    r"(?<!\S)(?!(?:sure|so|after|before|besides|with|like|than|for|do|now|see)\s)[\w'’-]+\s+(?:(?:that|who|which)\s+"
    r"(?!not\b|no\b|nothing\b|nobody\b|you\b|it\b|they\b|we\b|i\b)|where\s+no(?:body| one)\b)",
    re.IGNORECASE,
)
"""`vendors that do not publish prices`, which says how things are."""
_ASKS_WHY = re.compile(
    r"^(?:what|why|how|who|which|when|where|is|are|was|were|did|does|has|have|may|must|should|do (?!not\b))\b",
    re.IGNORECASE,
)


def straight(request: str) -> str:
    """The request with orders that are put in other ways put as such, without what is only forwarded."""
    text = _NOT_FORGET.sub("", _ON_THE_WEB.sub("publish", _FORWARDED.sub("", request)))
    text = _MIND.sub(lambda found: _BASE[found["form"].lower()], text)
    return _DONE_TO.sub(lambda found: f"{_BASE[found['form'].lower()]} {found['what']}", text)


def plain(request: str) -> str:
    """The same without what it only quotes or gives as an example."""
    text = straight(request)
    return _EXAMPLE.sub("", _QUOTED.sub(lambda found: "“…”" if found.group().strip() else "", text))


def without_forbidden(request: str) -> str:
    """The request without the places where it says what not to do to the outside world."""
    cut = request
    for found in reversed(_denials(request)):
        cut = f"{cut[: found.start()]}{_closed(found)}{cut[found.end() :]}"
    for clause, _, is_denied in _abroad(request):
        cut = cut.replace(clause, "", 1) if is_denied else cut
    return re.sub(r"[ \t]{2,}", " ", _NOTHING.sub("", cut)).strip(" ;:,\n").removeprefix(".").strip()


def forbidden(request: str) -> frozenset[str]:
    """The actions that a request says not to do, and does not order elsewhere."""
    text = plain(request)
    said = [found["verbs"] or found["points"] for found in _denials(text)]
    said += [found["verbs"] or found["passive"] for found in _NOTHING.finditer(text)]
    actions = {action for part in said for word in _EACH.findall(part.lower()) if (action := action_of(word))}
    actions |= {action for _, action, is_denied in _abroad(text) if is_denied}
    return frozenset(actions - set(ordered(request)))


def objection(action: str, requests: Sequence[str], *, is_grave: bool) -> str:
    """Why those who made these requests may not want an action of this name; empty where nothing is known against it.

    What one forbids holds until a later one orders it. A grave action whose name says nothing may be what is forbidden.
    """
    standing: frozenset[str] = frozenset()
    for request in requests:
        standing = (standing | forbidden(request)) - set(ordered(request))
    acts = actions_in(action)
    against = sorted(standing.intersection(acts) if acts or not is_grave else standing)
    return f"the request says not to {' or '.join(against)}" if against else ""


def _denials(text: str) -> list[re.Match[str]]:
    """The places that forbid; a question may ask why something is not done."""
    found = []
    for match in _FORBIDDEN.finditer(text):
        before = re.split(r"[.!?;:](?:\s|$)|\n", text[: match.start()])[-1].strip()
        is_apart = match.group().lstrip()[:1] in (",", ";", "(") or re.match(r"\s*(?:but|and)\b", match.group())
        is_told = _DID_NOT.search(text, max(0, match.start() - 5), match.end())
        is_told = is_told or _OF_THINGS.match(f"{' '.join(before.split()[-2:])} {match.group().lstrip()}")
        if not is_told and (is_apart or not _ASKS_WHY.match(POLITE.sub("", before))):
            found.append(match)
    return found


def ordered(request: str) -> list[str]:
    """The actions that a request orders, in order."""
    found = []
    for sentence in re.split(r"(?<=[.?!;])\s+|\n+", without_forbidden(plain(request))):
        asks = False
        for clause in _ENDS.split(sentence):
            bare = POLITE.sub("", clause.strip())
            match = _ORDER.match(bare)
            is_order = match and (not asks or _OBJECT.match(bare))
            found += [_FAMILY[match["verb"].lower()]] if match and is_order else []
            asks = not is_order and (governs(clause) or (asks and not _FINITE.match(clause)))
    found += [action for _, action, is_denied in _abroad(plain(request)) if not is_denied]
    return list(dict.fromkeys(found))


def governs(clause: str) -> bool:
    """Whether a verb that is joined to a clause may belong to the question in it: `how to write` “and publish”.

    It cannot where that has a finite verb of another form: `which bills are open` “and send a reminder”.
    """
    question = _SUBORDINATE.search(clause)
    return question is not None and not (_FINITE.match(question["rest"]) or _RELATIVE.search(clause))


def action_of(word: str) -> str:
    """The action that a verb, or a form of it, comes to; empty for any other word."""
    return _FAMILY.get(_BASE.get(word.lower(), ""), "")


def actions_in(named: str) -> list[str]:
    """The actions that a task's `action` comes to, however it is written: `send_email`, `publishing`."""
    words = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", named).lower())
    return list(dict.fromkeys(act for word in words if (act := action_of(word) or _ABROAD.get(word, ""))))


def _abroad(request: str) -> Iterator[tuple[str, str, bool]]:
    """The clauses in other languages that order or forbid an action: clause, action, whether it is forbidden."""
    for clause in filter(None, map(str.strip, _CLAUSES.split(request))):
        is_unspaced = bool(_CJK.search(clause))
        said = re.sub(r"-(?:l[ae]s?|lui|leur|moi|nous)\b", "", _POLITE_ABROAD.sub("", clause).casefold())  # envoie-la
        first, *others = re.findall(r"[\w-]+", said) or [""]
        named = [act for word, act in _ABROAD.items() if (word in clause if is_unspaced else word in (first, *others))]
        asks = any(word in clause if _CJK.match(word) else word == first for word in _ASKS_ABROAD)
        if not named or asks or clause.endswith(("?", "？", "吗", "か")):
            continue
        is_denied = any(no in clause if _CJK.match(no) else no in (first, *others) for no in _NO_ABROAD)
        if is_denied or is_unspaced or first in _ABROAD:
            yield clause, named[0], is_denied


def _closed(found: re.Match[str]) -> str:
    """What is left of a place that forbids: nothing, or the end of the clause it stood in."""
    began = ";" if found.group().startswith(";") else ""
    return f"{began} " if found.group().rstrip().endswith((",", ")")) else ""
