"""What a request asks for: its subject, its aspects, and the kinds of work in it.

What humans had against a plan or a task, as far as rules can heed it: what to leave out, and what to add.

Arithmetic that somebody asks for in words or signs.
"""

import re
from dataclasses import dataclass, field, replace

from nodes.llm.offline.conversation import Call, Conversation, Reply, with_confidence
from nodes.llm.offline.words import keywords

MOST_ASPECTS = 12
"""Aspects that become tasks of their own; what is beyond goes into the last."""

VERBS = {
    "research": "research find identify investigate explore gather collect list describe explain study examine "
    "discover search look determine learn understand outline review survey check name give tell show read answer",
    "analysis": "analyse analyze compare compute calculate count measure quantify evaluate assess benchmark rank "
    "estimate correlate contrast plot",
    "strategy": "recommend advise propose suggest prioritise prioritize decide strategise strategize",
    "implementation": "implement code build develop program export refactor",
    "writing": "write draft summarise summarize compose report document",
    "action": "publish send email post share release deliver announce delete pay",
    "vague": "conduct perform prepare produce create make generate do provide put draw plan",
}
"""Verbs a request or a part of it begins with, by the kind of work they ask for."""

_KIND = {verb: kind for kind, verbs in VERBS.items() for verb in verbs.split()}
_VERB = "|".join(_KIND)
_POLITE = re.compile(
    r"^(?:(?:please|kindly|then|and|also|next|finally|first|afterwards|now)[,\s]+|(?:can|could|would) you (?:please )?|"
    r"i (?:want|need|would like)(?: you)? to |help me (?:to )?|let's )+",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?:^|\n)\s*(?:[-*•]|\(?\d{1,2}[.)])\s+|(?<=[\s:;,.])\(?\d{1,2}\)\s+|(?<=[.?!;:])\s+\d{1,2}[.)]\s+"
)
_ENDS = re.compile(r"(?<=[?!])\s+|(?<=\w\w\.)\s+(?=[A-Z0-9\"“])|;\s+|\n+")
_THEN = re.compile(
    r"(?:\s*[,;]\s*(?:and\s+)?(?:then\s+|finally\s+|also\s+)?|\s+(?:and\s+then|then|and finally|and also|and)\s+)"
    rf"(?=(?:{_VERB})\b(?!\s+(?:of|and|is|are|market)\b))",
    re.IGNORECASE,
)
_QUESTIONS = re.compile(
    r"(?:\s*,?\s+and|,)\s+(?=(?:what|how|why|who|which|when|where|is|are|does|do|can|should)\b)", re.IGNORECASE
)
_NOT = re.compile(r"^(?:do not|don't|never|without)\b", re.IGNORECASE)
_OUTPUT = re.compile(
    r"\b(?:report|summary|article|memo|essay|brief|letter|overview|newsletter|blog post|white ?paper|document)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"\b(?:about|on|of|for|regarding|concerning|covering)\s+(?P<what>.+)$", re.IGNORECASE | re.DOTALL)
_TELLING = re.compile(
    r"(?:an?|the|one)?\s*(?:[\w-]+ ){0,2}?(?:report|summary|article|memo|essay|brief|letter|overview|document)\s+"
    r"(?:that|which|with|saying)\s+(?:says?|tells?|shows?|explains?|answers?)?\s*(?P<what>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_STRATEGY = re.compile(r"\bswot\b|\bstrateg(?:y|ies|ic)\b|\brecommend", re.IGNORECASE)
_PRONOUN = re.compile(
    r"^(?:it|them|this|that|these|those|the (?:result|results|report|findings|answer|outcome|summary))\b.{0,40}$",
    re.IGNORECASE,
)
_MADE = re.compile(r"\b(?:script|csv|code|function|program|module|spreadsheet|json|app)\b", re.IGNORECASE)
_OF = re.compile(r"(?P<item>.{2,60}?)\s+(?P<joint>of|for|in|on|about|within|across)\s+(?P<of>.{3,})$", re.DOTALL)
_LEADING = re.compile(
    r"(?P<of>.*\b(?:the|its|their|about|on|of|covering|including|include|cover|are|is))\s+(?P<item>[^,]+)$", re.DOTALL
)
_WHOLE = re.compile(r"(?P<what>.+?)[\s,]+(?:covering|including|include|cover)\b", re.DOTALL)


@dataclass
class Request:
    """What is asked for."""

    text: str
    aspects: list[str] = field(default_factory=list)
    """The subjects to find out about, each in words that make sense alone."""
    compared: list[str] = field(default_factory=list)
    """Wishes for figures or comparison, as said."""
    made: list[str] = field(default_factory=list)
    """Files or programs to make, as said."""
    action: str = ""
    """What to do to the outside world with the result."""
    strategy: bool = False
    writing: bool = False


def understood(text: str) -> Request:
    """The request, taken apart by rules: lists, sentences, chained verbs, enumerations."""
    request = Request(text.strip())
    for clause in clauses_of(request.text):
        _take(clause, request)
    if len(request.aspects) > MOST_ASPECTS:
        request.aspects[MOST_ASPECTS - 1 :] = ["; ".join(request.aspects[MOST_ASPECTS - 1 :])]
    request.strategy |= bool(_STRATEGY.search(request.text))
    return request


def clauses_of(text: str) -> list[str]:
    """The single wishes in a request."""
    found = []
    parts = [part for part in _NUMBERED.split(text) if part.strip()]
    for part in parts:
        for sentence in _ENDS.split(part.strip()):
            for wish in _THEN.split(sentence.strip(" ,;")):
                found += _QUESTIONS.split(wish)
    clauses = [_POLITE.sub("", clause.strip()).strip(" ,;.\n") for clause in found]
    intro = len(parts) > 1 and clauses and clauses[0].endswith(":")
    return [clause for clause in (clauses[1:] if intro else clauses) if re.search(r"\w", clause)]


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
    if (len(items) < 3 and not (colon and len(items) > 1)) or any(len(item.split()) > 8 for item in items[1:-1]):
        return [text], ""
    joint = f" of {_bare(head)}" if colon and keywords(_bare(head)) else ""
    last = _OF.match(items[-1])
    if last and not joint:
        items[-1], joint = last["item"], f" {last['joint']} {_bare(last['of'])}"
    first = _LEADING.match(items[0])
    if first and not colon:
        items[0] = first["item"]
        whole = _WHOLE.match(first["of"])
        joint = joint or (f" of {_bare(whole['what'])}" if whole and keywords(_bare(whole["what"])) else "")
    return items, joint


def _take(clause: str, request: Request) -> None:
    """Add what one wish asks for."""
    if _NOT.match(clause):
        return
    verb = clause.split(maxsplit=1)[0].lower().strip(",:")
    kind = _KIND.get(verb, "question")
    rest = clause[len(verb) :].strip(" :,") if kind != "question" else clause
    if kind == "action":
        request.action = verb if verb in ("delete", "pay") else "publish"
        rest = rest if _ABOUT.search(rest) and _OUTPUT.search(rest) else ""
        request.writing |= not request.made
    elif kind == "implementation" or (kind in ("vague", "writing") and _MADE.search(rest)):
        request.made.append(clause)
        about = _ABOUT.search(rest)
        rest = about["what"] if about else rest
    elif kind == "writing" or (kind == "vague" and _OUTPUT.search(rest)):
        request.writing = True
    elif kind == "strategy":
        request.strategy = True
    elif kind == "analysis":
        request.compared.append(clause)
    _add_aspects(_subject(rest, kind) if kind != "question" else rest, request)


def _subject(rest: str, kind: str) -> str:
    """What a wish is about: of "a report on X", X."""
    if _PRONOUN.match(rest):
        return ""
    if telling := _TELLING.match(rest):
        return telling["what"]
    about = _ABOUT.search(rest)
    head = rest[: about.start()] if about else rest
    if (
        about
        and (kind in ("writing", "vague", "action") or _STRATEGY.search(head))
        and (_OUTPUT.search(head) or _STRATEGY.search(head))
    ):
        return about["what"].strip()
    if (
        kind in ("writing", "action", "strategy")
        and (_OUTPUT.search(rest) or _STRATEGY.search(rest))
        and len(keywords(rest)) < 2
    ):
        return ""
    return rest


def _add_aspects(text: str, request: Request) -> None:
    items, joint = enumerated(text)
    for item in items:
        if not item or (_STRATEGY.search(item) and len(item.split()) < 5):
            continue
        if _OUTPUT.fullmatch(_bare(item)):
            request.writing = True
            continue
        aspect = f"{item}{joint}" if len(items) > 1 else item
        if keywords(aspect) and aspect.lower() not in (other.lower() for other in request.aspects):
            request.aspects.append(aspect)


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
            request = _without(request, denied["what"])
            request = _without(request, denied["task"])
        elif said := _SAID.match(text):
            for wish in _WITHOUT.finditer(said["said"]):
                request = _without(request, wish["what"])
            for wish in _ALSO.finditer(_WITHOUT.sub("", said["said"])):
                request = _with(request, wish["what"])
    return request


def _without(request: Request, what: str) -> Request:
    """Leave out the action it names, and the aspects that are about nothing else."""
    if _ACTS.search(what):
        return replace(request, action="")
    subject = keywords(what).keys()
    if not subject:
        return request
    kept = [aspect for aspect in request.aspects if not (subject <= keywords(aspect).keys())]
    return replace(request, aspects=kept or request.aspects)


def _with(request: Request, what: str) -> Request:
    more = understood(what)
    new = [aspect for aspect in more.aspects if aspect not in request.aspects]
    return replace(request, aspects=[*request.aspects, *new], action=request.action or more.action)


_ASKED = re.compile(
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
    return " ".join(best.split()) if best and not dates and (bare or _ASKED.search(text)) else ""


def calculate(talk: Conversation) -> Reply:
    """Ask the tool, and report its answer."""
    call = Call("calculate", {"expression": expression_in(talk.task) or expression_in(talk.request)})
    answer = next((done for done in talk.done if done.tool == "calculate"), None)
    if answer is None:
        return [call]
    return f"FAILED: {answer.text}" if answer.failed else with_confidence(answer.text, 0.95)
