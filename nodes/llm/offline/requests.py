"""What a request asks for: its wishes, each in words that make sense alone, and what is to be done with the answer.

Only questions and clauses that begin with a verb of work are wishes: the rest of a long mail is background. What the
request forbids, quotes, or gives as an example is no wish (`nodes.policy.orders`).

Arithmetic that somebody asks for in words or signs is found here too.
"""

import re
from dataclasses import dataclass, field, replace

from nodes.llm.offline.words import ERRANDS, names
from nodes.policy.orders import forbidden, ordered, plain, without_forbidden
from nodes.tools.words import keywords as words_of

MOST_WISHES = 12
"""Wishes that become tasks of their own; what is beyond goes into the last."""

VERBS = {
    "research": "research find identify investigate explore gather collect list describe explain study examine "
    "discover "
    "search look determine learn understand outline review survey check name give tell show read answer "
    "compare contrast "
    "clarify analyse analyze evaluate assess",
    "analysis": "compute calculate count measure quantify rank estimate correlate plot average sum",
    "strategy": "recommend advise propose suggest prioritise prioritize decide strategise strategize",
    "implementation": "implement code build develop program export refactor",
    "writing": "write draft summarise summarize compose report document formulate translate",
    "vague": "conduct perform prepare produce create make generate do provide put draw plan",
    "action": "publish send email mail post share release upload deliver announce delete erase wipe pay buy forward",
}
"""Verbs a wish begins with, by the kind of work they ask for."""

_KIND = {verb: kind for kind, verbs in VERBS.items() for verb in verbs.split()}
_VERB = "|".join(_KIND)
_POLITE = re.compile(
    r"^(?:(?:please|kindly|then|and|also|next|finally|first|second|third|afterwards|now|only|just|so|ok|okay|hi|"
    r"hello|dear \w+|"
    r"lastly|in addition|additionally)[,\s]+|(?:can|could|would|will) you (?:please )?|(?:i|we)(?: want| need| "
    r"would like|['’]d "
    r"like| wish)(?: you)? to |help me (?:to )?|let['’]?s |(?:i|we) (?:wonder|was wondering|would like to know|"
    r"want to know),? |"
    r"i(?:['’]d| would) like to know |do you know |(?:your|the) task(?: is)?:? (?:to )?)+",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^(?:in |of |for |to |at |on |with |from )?(?:what|how|why|who|whose|whom|which|when|where|is|are|was|were|"
    r"whether|does|do|did|can|"
    r"could|should|would|will|has|have|may|must)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"(?:^|\n)\s*(?:[-*•]|\(?(?:\d{1,2}|[a-h])[.)])\s+|(?<=[\s:;,.])\(?(?:\d{1,2}|[a-h])\)\s+|"
    r"(?<=[.?!;:])\s+\d{1,2}[.)]\s+"
)
_SENTENCE = re.compile(r"(?<=[?!])\s+|(?<=\w\w[.)])\s+(?=[A-Z0-9\"“])|;\s+|\n+")
_THEN = re.compile(
    r"(?:\s*[,;]\s*(?:and\s+)?(?:then\s+|finally\s+|also\s+)?|\s+(?:and\s+then|then|and finally|and also|and)\s+)"
    rf"(?=(?:{_VERB})\b(?!\s+(?:of|and|is|are|market|for|in|on|by|as)\b))",
    re.IGNORECASE,
)
_QUESTIONS = re.compile(
    r"(?:\s*,?\s+and|,)\s+(?=(?:what|how|why|who|which|when|where|whether|is|are|does|do|can|should)\s+\w)",
    re.IGNORECASE,
)
_BACKGROUND = re.compile(r"^(?:not|no|never|do not|don['’]?t|without|for example|for instance|e\.g\.)\b", re.IGNORECASE)
_OUTPUT = re.compile(
    r"\b(?:report|summary|article|memo|essay|brief|briefing|letter|overview|newsletter|blog post|white ?paper|"
    r"document|reply|"
    r"e?mail|note|text|draft|one-pager|answer)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"\b(?:about|on|of|for|regarding|concerning|covering)\s+(?P<what>.+)$", re.IGNORECASE | re.DOTALL)
_TELLING = re.compile(
    r"(?:an?|the|one)?\s*(?:[\w-]+ ){0,2}?(?:report|summary|article|memo|essay|brief|letter|overview|document|"
    r"reply|e?mail|note)\s+"
    r"(?:that|which|with|saying)\s+(?:says?|tells?|shows?|explains?|answers?)?\s*(?P<what>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_STRATEGY = re.compile(r"\bswot\b|\brecommendations?\b|\bstrateg(?:y|ies)\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"^(?:it|them|this|that|these|those|everything|(?:the|your|all) (?:results?|report|findings?|answers?|"
    r"outcome|summary|draft|"
    r"text|reply|whole))\b.{0,40}$",
    re.IGNORECASE,
)
_REFERRING = re.compile(r"\b(?P<word>it|its|they|their|them|these|those|this one|that one)\b", re.IGNORECASE)
_SUBJECT = re.compile(
    r"\b(?:is|are|was|were|does|do|did|can|of|about|on|with|for|in)\s+(?:the |an? "
    r")?(?P<what>[\w.+#-]+(?:\s+[\w.+#-]+){0,2}?)"
    r"(?=\s+(?:is|are|was|were|do|does|cost|work|come|have|has|use|to|in|on|for|by|with)\b|\s*[?.,;!]|$)",
    re.IGNORECASE,
)
_MADE = re.compile(r"\b(?:script|csv|code|function|program|module|spreadsheet|json|app)\b", re.IGNORECASE)
_OF = re.compile(r"(?P<item>.{2,60}?)\s+(?P<joint>of|for|in|on|about|within|across)\s+(?P<of>.{3,})$", re.DOTALL)
_LEADING = re.compile(
    r"(?P<of>.*\b(?:the|its|their|about|on|of|covering|including|include|cover|are|is))\s+(?P<item>[^,]+)$", re.DOTALL
)
_PAIR = re.compile(r"([\w-]+(?: [\w-]+)?) and ([\w-]+(?: [\w-]+)?)")
_COMPARES = re.compile(r"^(?:compare|contrast)\b|\b(?:versus|vs\.?|difference between)\b", re.IGNORECASE)
_ON = re.compile(
    r"\s+(?:on|by|regarding|in terms of|with regard to|concerning|with respect to)\s+(?P<on>.+)$", re.IGNORECASE
)


@dataclass
class Request:
    """What is asked for."""

    text: str
    aspects: list[str] = field(default_factory=list)
    """What to find out, each in words that make sense alone."""
    made: list[str] = field(default_factory=list)
    """Files or programs to make, as said."""
    written: str = ""
    """A text to be written about something, as said; empty where none is, or where it is about the aspects."""
    actions: list[str] = field(default_factory=list)
    """What to do to the outside world with the result."""
    strategy: str = ""
    """Advice or a SWOT that is asked for, as said."""
    writing: bool = False


def understood(text: str) -> Request:
    """The request, taken apart by rules: lists, sentences, chained verbs, enumerations."""
    request = Request(text.strip(), actions=ordered(text))
    before = ""
    for clause in wishes_in(text):
        _take(_standing_alone(clause, before), request)
        before = clause
    if len(request.aspects) > MOST_WISHES:
        request.aspects[MOST_WISHES - 1 :] = ["; ".join(request.aspects[MOST_WISHES - 1 :])]
    return request


def wishes_in(text: str) -> list[str]:
    """The clauses that ask for something, in order; all of it where none does."""
    wishes: list[str] = []
    clauses: list[str] = []
    text = without_forbidden(re.sub(r"^[ \t]*>.*$", "", text, flags=re.MULTILINE))
    announced = False
    parts = [part for part in _ITEM.split(text) if part.strip()]
    for number, part in enumerate(parts):
        for place, sentence in enumerate(_SENTENCE.split(part.strip())):
            split = [piece for wish in _split(sentence.strip(" ,;")) for piece in _QUESTIONS.split(wish)]
            for wish in split:
                clause = _POLITE.sub("", wish.strip()).strip(" ,;.\n")
                if (
                    not re.search(r"\w", clause)
                    or _BACKGROUND.match(clause)
                    or (clause.endswith(":") and number + 1 < len(parts))
                ):
                    announced |= clause.endswith(":")
                    continue
                clauses.append(clause)
                is_item = number > 0 and place == 0 and (announced or len(parts) > 2)
                if is_item or _is_wish(clause, wish):
                    wishes.append(clause)
    return wishes or clauses


def _split(sentence: str) -> list[str]:
    """A sentence at its chained verbs; quoted words hold none, and a subordinate clause keeps its own."""
    hidden = plain(sentence)
    if hidden != sentence and _THEN.search(hidden) is None:
        return [sentence]
    pieces = _THEN.split(sentence)
    kept: list[str] = []
    for piece in pieces:
        below = kept and re.search(
            r"\b(?:how|what|why|which|who|that|to|if|when|whether)\s+\w+", kept[-1], re.IGNORECASE
        )
        loose = len(piece.split()) <= 4 and not _PRONOUN.match(piece.partition(" ")[2]) and not _OUTPUT.search(piece)
        if below and (loose or not _is_wish(kept[-1], kept[-1])):
            kept[-1] = f"{kept[-1]} and {piece}"
        else:
            kept.append(piece)
    return kept


def _is_wish(clause: str, said: str) -> bool:
    """Whether a clause asks for something: a question, or a verb of work first."""
    first = clause.split(maxsplit=1)[0].lower().strip(",:")
    return first in _KIND or clause.endswith("?") or bool(_ASKS.match(clause)) or said.rstrip().endswith("?")


def _standing_alone(clause: str, before: str) -> str:
    """The clause with what it refers to in place of `it` and `its`, where it names nothing itself."""
    match = _REFERRING.search(clause)
    if not match or not before or _PRONOUN.match(clause.partition(" ")[2]):
        return clause
    own = set(names(clause)[1:])
    subject = next(iter(names(f"x {before}")), "") or _said_subject(before)
    if not subject or own:
        return clause
    possessive = match["word"].lower() in ("its", "their")
    return clause[: match.start()] + subject + ("'s" if possessive else "") + clause[match.end() :]


def _said_subject(clause: str) -> str:
    found = [match["what"] for match in _SUBJECT.finditer(clause)]
    return found[-1] if found else ""


def enumerated(text: str) -> tuple[list[str], str]:
    """The items of a list in a clause, and what they are of (`of the market`); the clause where there is no list."""
    head, colon, tail = text.partition(": ")
    listing = tail if colon and "," in tail else text
    items = [
        item.strip(" .?")
        for item in re.split(r",\s*(?:and |or |as well as )?|\s+as well as\s+", listing)
        if item.strip(" .?")
    ]
    items = [*items[:-1], *re.split(r"\s+(?:and|or|&)\s+", items[-1], maxsplit=1)] if len(items) > 1 else items
    chained = any(re.match(rf"(?:{_VERB})\b", item, re.IGNORECASE) for item in items[1:])
    if (
        chained
        or (len(items) < 3 and not (colon and len(items) > 1))
        or any(len(item.split()) > 8 for item in items[1:-1])
    ):
        return [text], ""
    joint = f" of {_bare(head)}" if colon and keywords(_bare(head)) else ""
    last = _OF.match(items[-1])
    if last and not joint:
        items[-1], joint = last["item"], f" {last['joint']} {_bare(last['of'])}"
    first = _LEADING.match(items[0])
    if first and not colon:
        items[0] = first["item"]
        whole = re.match(r"(?P<what>.+?)[\s,]+(?:covering|including|include|cover)\b", first["of"], re.DOTALL)
        joint = joint or (f" of {_bare(whole['what'])}" if whole and keywords(_bare(whole["what"])) else "")
    return items, joint


def _take(clause: str, request: Request) -> None:
    """Add what one wish asks for."""
    verb = clause.split(maxsplit=1)[0].lower().strip(",:")
    kind = _KIND.get(verb, "question")
    rest = clause[len(verb) :].strip(" :,") if kind != "question" else clause
    if kind == "action" and request.actions:
        about = _ABOUT.search(rest)
        if about and _OUTPUT.search(rest[: about.start()]) and not _PRONOUN.match(rest):
            _add_aspects(about["what"].strip(), request)
        request.writing |= not request.made
    elif _STRATEGY.search(clause) or kind == "strategy":
        request.strategy = request.strategy or clause
    elif kind == "implementation" or (kind in ("vague", "writing") and _MADE.search(rest)):
        request.made.append(clause)
    elif kind == "writing" or (kind == "vague" and _OUTPUT.search(rest)):
        _take_writing(verb, rest, clause, request)
    else:
        _add_aspects(rest if kind == "vague" else clause, request)


def _take_writing(verb: str, rest: str, clause: str, request: Request) -> None:
    """A text to be written: about the aspects asked for so far, or about something of its own."""
    telling = _TELLING.match(rest)
    about = _ABOUT.search(rest)
    summary = verb.startswith("summari") and not request.aspects
    if not summary and (_PRONOUN.match(rest) or (not about and not telling and request.aspects)):
        request.writing = True
        return
    subject = telling["what"] if telling else about["what"] if about and _OUTPUT.search(rest[: about.start()]) else rest
    pair = _PAIR.fullmatch(subject.strip(" .?"))
    if request.aspects or pair or len(enumerated(subject)[0]) > 1:
        request.writing = True
        for part in pair.groups() if pair else (subject,):
            _add_aspects(part, request)
    elif summary or not keywords(subject):
        request.aspects.append(clause)
    else:
        request.written = clause


def _add_aspects(text: str, request: Request) -> None:
    compared = _compared(text)
    items, joint = (compared, "") if compared else enumerated(text)
    for item in items:
        if not item or (len(items) > 1 and _OUTPUT.fullmatch(_bare(item))):
            request.writing |= bool(item)
            continue
        aspect = f"{item}{joint}" if len(items) > 1 else item
        aspect = (
            re.sub(rf"^(?:{_VERB})\s+(?=(?:\w+\s+){{1,}})", "", aspect, flags=re.IGNORECASE)
            if len(items) > 1
            else aspect
        )
        aspect = re.sub(r"^(?:me |us )?(?:about )?", "", aspect, flags=re.IGNORECASE) if len(items) > 1 else aspect
        if keywords(aspect) and aspect.lower() not in (other.lower() for other in request.aspects):
            request.aspects.append(aspect)


def _compared(text: str) -> list[str]:
    """`persistence of A`, `persistence of B` for “compare A and B on persistence”; nothing where no point is named."""
    on = _ON.search(text)
    if not _COMPARES.search(text) or not on:
        return []
    things = re.sub(rf"^(?:{_VERB})\s+", "", text[: on.start()], flags=re.IGNORECASE)
    items = [
        item.strip()
        for item in re.split(r",\s*(?:and |or )?|\s+(?:and|with|to|versus|vs\.?)\s+", things)
        if item.strip()
    ]
    return [f"{on['on'].rstrip(' .?')} of {item}" for item in items] if len(items) > 1 else []


def keywords(text: str) -> dict[str, str]:
    """The words of `text` without those by which people ask for work."""
    return {key: word for key, word in words_of(text).items() if word.lower() not in ERRANDS}


def _bare(text: str) -> str:
    """A subject without the verbs and small words around it."""
    text = _POLITE.sub("", text.strip())
    text = re.sub(rf"^(?:(?:{_VERB})\b\s*)?(?:what (?:is|are)\s+)?", "", text, flags=re.IGNORECASE)
    text = re.sub(
        r"\s*\b(?:the|its|their|about|on|of|covering|including|include|cover|are|is)\s*$", "", text, flags=re.IGNORECASE
    )
    return re.sub(r"^(?:the|a|an)\s+", "", text.strip(), flags=re.IGNORECASE).strip(" :,.?")


_DENIED = re.compile(r"did not allow (?P<what>[\w-]+).*?That was task \S+: (?P<task>.+)$", re.DOTALL)
_SAID = re.compile(r"^The plan was rejected:\s*(?P<said>.+)$", re.DOTALL)
_WITHOUT = re.compile(
    r"\b(?:without|leave out|drop|remove|skip|omit|cancel|no|do not|don't)\s+(?P<what>[^.;,\n]+)", re.IGNORECASE
)
_ALSO = re.compile(r"\b(?:also|add|include|plus)\s+(?P<what>[^.;\n]+)", re.IGNORECASE)
_ACTS = re.compile(
    r"\b(?:publish\w*|send\w*|email\w*|post\w*|shar(?:e|ing)|releas\w+|delet\w+|pay\w*)\b", re.IGNORECASE
)


def heeded(request: Request, objections: list[str]) -> Request:
    """The request without what was objected to and with what was asked for besides; a human has to edit the rest."""
    for text in objections:
        if denied := _DENIED.search(text):
            request = _without(_without(request, denied["what"]), denied["task"])
        elif said := _SAID.match(text):
            for wish in _WITHOUT.finditer(said["said"]):
                request = _without(request, wish["what"])
            for wish in _ALSO.finditer(_WITHOUT.sub("", said["said"])):
                more = understood(wish["what"])
                new = [aspect for aspect in more.aspects if aspect not in request.aspects]
                request = replace(request, aspects=[*request.aspects, *new], actions=[*request.actions, *more.actions])
            if against := forbidden(said["said"]):
                request = replace(request, actions=[action for action in request.actions if action not in against])
    return request


def _without(request: Request, what: str) -> Request:
    """Leave out the action it names, and the aspects that are about nothing else."""
    if _ACTS.search(what):
        return replace(request, actions=[])
    subject = keywords(what).keys()
    kept = [aspect for aspect in request.aspects if not subject or not (subject <= keywords(aspect).keys())]
    return replace(request, aspects=kept or request.aspects)


_CALCULATES = re.compile(
    r"\b(?:what(?:'s| is| are)|calculate|compute|evaluate|how much is|work out|solve)\b|=\s*\??\s*$", re.IGNORECASE
)
_SPOKEN = [
    (re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|percent) of (\d+(?:\.\d+)?)", re.IGNORECASE), r"\1 / 100 * \2"),
    (re.compile(r"(?:the )?square root of (\d+(?:\.\d+)?)", re.IGNORECASE), r"sqrt(\1)"),
    (re.compile(r"\b(?:times|multiplied by)\b|(?<=\d)\s*[x×]\s*(?=\d)", re.IGNORECASE), " * "),
    (re.compile(r"\bdivided by\b|÷", re.IGNORECASE), " / "),
    (re.compile(r"\bplus\b", re.IGNORECASE), " + "),
    (re.compile(r"\bminus\b", re.IGNORECASE), " - "),
    (re.compile(r"\bto the power of\b|\^", re.IGNORECASE), " ** "),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
]
_EXPRESSION = re.compile(r"(?:sqrt)?[(\d.][\d\s.+\-*/()%]*[\d)]")
_OPERATION = re.compile(r"[\d)]\s*(?:\*\*|[-+*/%])\s*[(\d]|sqrt\(")


def expression_in(text: str) -> str:
    """The arithmetic asked for in `text`, or nothing: years with a dash between them are no subtraction."""
    said = text.strip()
    for pattern, sign in _SPOKEN:
        said = pattern.sub(sign, said)
    found = [match.group().strip() for match in _EXPRESSION.finditer(said)]
    best = max((one for one in found if _OPERATION.search(one)), key=len, default="")
    bare = said.strip(" ?.=") == best
    dates = re.fullmatch(r"\d{4}\s*[-/]\s*\d{1,4}(?:\s*[-/]\s*\d{1,2})?", best)
    return " ".join(best.split()) if best and not dates and (bare or _CALCULATES.search(text)) else ""
