"""What a request asks for: its wishes, each in words that make sense alone, and what is to be done with the answer.

Only questions and clauses that begin with a verb of work are wishes: the rest of a long mail is background. What the
request forbids, quotes, or gives as an example is no wish (`nodes.policy.orders`).
"""

import re
from dataclasses import dataclass, field, replace

from nodes.language.following import BARE, standing_alone
from nodes.language.shapes import Shape, parted
from nodes.language.subjects import ASKS, KIND, PLACES, VERB, keywords, subject_of
from nodes.policy import errands
from nodes.policy.orders import POLITE, actions_in, governs, ordered, plain, straight, without_forbidden

MOST_BESIDE = 3
"""Words beside an expression, at most, where that is what is asked for: more ask about something called so."""
MOST_WISHES = 12
"""Wishes that become tasks of their own; what is beyond goes into the last."""

_QUESTION = re.compile(rf"^¿|^(?:(?:{PLACES}) )?(?:{ASKS})\b|[?？]$", re.IGNORECASE)
_JOINT = "and|und|et|y|e|ed"
_ITEM = re.compile(r"(?:^|\n)\s*(?:[-*•]|\(?(?:\d{1,2}|[a-h])[.)])\s+|(?<=[\s:;,.])\(?(?:\d{1,2}|[a-h])\)\s+")
_SENTENCE = re.compile(
    r"(?<=[?!])\s+|(?<=\w\w[.)])\s+(?=[A-Z0-9\"“])|(?:(?<=[.!?][\"'”’»])|(?<=[\"'”’»][.!?]))\s+(?=[A-Z])|;\s+|\n+"
)
_CLAUSE = re.compile(
    rf"(?<=\w)(?<!\bwhy):\s+(?=(?:(?:{PLACES}) )?(?:{ASKS})\b|{VERB}|(?:i|we|you|he|she|they|it)\b)|,?\s+(?=but\s)|"
    r",\s+(?=(?:(?:so|and) )?(?:i|we|you|he|she|they|it|nothing|nobody|no one)(?:['’]\w+)?\s)",
    re.IGNORECASE,
)
"""Where one clause of a sentence ends and another begins that is not ruled by it; `Why: …?` is one question."""
_THEN = re.compile(
    rf"(?:\s*[,;]\s*(?:(?:{_JOINT})\s+)?(?:(?:then|finally|also|dann)\s+)?|"
    rf"\s+(?:then|(?:{_JOINT})(?:\s+(?:then|finally|also|dann))?)\s+)(?={VERB})",
    re.IGNORECASE,
)
_BETWEEN = re.compile(rf"\bbetween\b(?!.*\b(?:{_JOINT})\b)", re.IGNORECASE | re.DOTALL)
"""What a second thing has to follow: `the difference between Find` “and Search”."""
_ASKS_ON = re.compile(
    rf"(?:\s*,?\s+(?:{_JOINT})\s+|,\s+(?!(?:{'|'.join(errands.BE)})\s+(?!(?:i|we|you|he|she|they|it|this|these)\b)))"
    rf"(?=(?:(?:{PLACES})\s+)?(?:{ASKS})\s+\w)",
    re.IGNORECASE,
)
"""Where a second question begins; `how much per head, in kWh, did France use` is one."""
_ELLIPTIC = re.compile(
    rf"(?P<asks>{ASKS})(?:\s+(?:many|much))?\s+(?:an?|the|not|(?!to\b)(?:{PLACES})|(?<=when )to)\b"
    r"(?:\s+[\w-]+){0,4}\s*\??",
    re.IGNORECASE,
)
"""A second question that lacks the verb of the first: `and when a Store?`."""
_BESIDE = re.compile(
    r"(?:give|tell|say|show|name|state|add)(?: me| us)? (?:its|the|their) (?:[\w-]+ )?[\w-]+(?: too| as well| also)",
    re.IGNORECASE,
)
"""What is asked of the answer to the question before: `Give the year too`."""
_NEEDS = re.compile(
    r"\b(?:i|we) (?:need|want|require|(?:am|are) looking for|would like|have to know)\b|['’]d like\b", re.IGNORECASE
)
_BACKGROUND = re.compile(
    r"^(?:(?:have|has|had|is|are|was|were) (?:not|never|been|had|already|still|now)|not|no|never|do not|don['’]?t|"
    r"without|for example|for instance|e\.g\.)\b",
    re.IGNORECASE,
)
_OF_BEFORE = re.compile(r"\b(?:that|this|it)\?$", re.IGNORECASE)
"""How a question ends that is about what was said before it: `How do I prevent that?`."""
_DOCUMENTS = errands.DOCUMENTS | {"memo"}
_TEXTS = (
    "press release|how-?to|guide|checklist|paragraph|advert|summary|overview|blog post|white ?paper|document|notice|"
    "invitation|announcement|text|draft|answer|e-?mail|note|one-pager|statement|proposal|introduction|minutes|"
    + "|".join(word for word, kind in errands.meanings(errands.KINDS).items() if kind in _DOCUMENTS)
)
_TEXT = re.compile(rf"\b(?:{_TEXTS})\b", re.IGNORECASE)
_STRATEGY = re.compile(r"\bswot\b|\brecommendations?\b|\bstrateg(?:y|ies)\b", re.IGNORECASE)
_MADE = re.compile(r"\b(?:script|csv|code|function|program|module|spreadsheet|json|app)\b", re.IGNORECASE)
_OF = re.compile(r"(?P<item>.{2,60}?)\s+(?P<joint>of|for|in|on|about|within|across)\s+(?P<of>.{3,})$", re.DOTALL)
_COMPARES = re.compile(r"^(?:compare|contrast)\b(?!.*\bbetween\b)", re.IGNORECASE | re.DOTALL)
_ON = re.compile(r"\s+(?:on|by|regarding|in terms of|with re(?:gard|spect) to|concerning)\s+(?P<on>.+)$", re.IGNORECASE)
_NO_ITEM = r"e\.g\.|(?:for (?:example|instance)|such as|when|where|if|because|while|but)\b"
_AND = re.compile(r",\s*(?:and |or |as well as )?|\s+as well as\s+")


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
    shape: Shape | None = None
    """The shape in which the answer is wanted."""


def understood(text: str) -> Request:
    """The request, taken apart by rules: lists, sentences, chained verbs, enumerations."""
    wanted, shape = parted(text.strip())
    request = Request(wanted, actions=ordered(text), shape=shape)
    before: list[str] = []
    for clause in wishes_in(text):
        is_text = KIND.get(_verb(clause)) == "writing"  # write it up: what was found
        before = before if is_text and before else [standing_alone(clause, before)]
        _take(clause if is_text else before[0], request)
    if len(request.aspects) > MOST_WISHES:
        request.aspects[MOST_WISHES - 1 :] = ["; ".join(request.aspects[MOST_WISHES - 1 :])]
    return request


def is_of_answer(written: str) -> bool:
    """Whether a text that is asked for is about nothing but what was said before: `write that up as a memo`."""
    return KIND.get(_verb(written)) in ("writing", "vague") and not keywords(_TEXT.sub("", written))


def wishes_in(text: str) -> list[str]:
    """The clauses that ask for something, in order; those that say what is needed, or all, where none does."""
    parts = [part for part in _ITEM.split(parted(without_forbidden(straight(text)) or text)[0]) if part.strip()]
    clauses, items = list[str](), set[str]()
    for number, part in enumerate(parts):
        pieces = [one for sentence in _SENTENCE.split(part.strip()) for one in _clauses_of(sentence)]
        for place, piece in enumerate(pieces):
            clause = POLITE.sub("", piece.strip()).strip(" ,;.\n")
            announces = clause.endswith(":") and number + 1 < len(parts)
            if not announces and re.search(r"\w", clause) and not _BACKGROUND.match(clause):
                clauses.append(clause)
                items |= {clause} if place == 0 and number > 0 and len(parts) > 2 else set()
    wishes = [clause for clause in clauses if clause in items or _is_wish(clause)]
    for at in range(len(wishes) - 1, 0, -1):
        if _BESIDE.fullmatch(wishes[at]):
            wishes[at - 1 : at + 1] = [" ".join(wishes[at - 1 : at + 1])]
    if len(wishes) == 1 and wishes == clauses[-1:] and (_OF_BEFORE.search(wishes[0]) or not subject_of(wishes[0])):
        return [" ".join(text.split())]  # “It is locked. What do I do?”
    return wishes or [*filter(_NEEDS.search, clauses)] or clauses


def _clauses_of(sentence: str) -> list[str]:
    """The clauses of a sentence that are not ruled by one another."""
    whole = sentence.strip(" ,;")
    clauses = [whole] if plain(sentence) != straight(sentence) else _CLAUSE.split(whole)
    pieces = [piece for clause in clauses for one in _chained(clause) for piece in _asked_in(one)]
    is_one = whole.endswith("?") and [piece for piece in pieces if _is_wish(POLITE.sub("", piece))] == pieces[-1:]
    return [whole] if is_one else pieces  # what stands before its only question says what is asked of


def _asked_in(clause: str) -> list[str]:
    """A clause at the questions that are joined in it; quoted words hold none."""
    found = _ASKS_ON.search(plain(clause))
    if not found or _BETWEEN.search(found.string[: found.start()]):
        return [clause]
    pieces = _ASKS_ON.split(clause)
    rest = _ELLIPTIC.fullmatch(pieces[-1])
    is_one = rest and pieces[0].lower().startswith(rest["asks"].lower())
    return [clause] if is_one or BARE.fullmatch(pieces[-1].strip(" ?.!")) else pieces


def _chained(sentence: str) -> list[str]:
    """A sentence at its chained verbs; quoted words hold none, and a subordinate clause keeps its own."""
    if not _THEN.search(plain(sentence)):
        return [sentence]
    kept: list[str] = []
    for piece in _THEN.split(sentence):
        if kept and (_BETWEEN.search(kept[-1]) or (governs(kept[-1]) and len(piece.split()) <= 4)):
            kept[-1] = f"{kept[-1]} and {piece}"
        else:
            kept.append(piece)
    return kept


def _is_wish(clause: str) -> bool:
    """Whether a clause asks for something: a question, or one with a verb of work first."""
    return _verb(clause) in KIND or bool(_QUESTION.search(clause.strip()))


def _verb(clause: str) -> str:
    """The verb that a clause begins with, in one word or several; else its first word."""
    found = re.match(VERB, clause, re.IGNORECASE)
    return found.group().lower() if found else clause.split(maxsplit=1)[0].lower().strip(",:")


def _take(clause: str, request: Request) -> None:
    """Add what one wish asks for."""
    verb = _verb(clause)
    kind = "question" if verb == "do" and clause.endswith("?") else KIND.get(verb, "question")
    rest = clause[len(verb) :].strip(" :,") if kind != "question" else clause
    if kind == "action" and request.actions:
        return
    if _STRATEGY.search(clause) or kind == "strategy":
        request.strategy = request.strategy or clause
    elif kind == "implementation" or (kind in ("vague", "writing") and _MADE.search(rest)):
        request.made.append(clause)
    elif kind == "writing" or (kind == "vague" and _TEXT.search(rest)):
        request.writing = True
        if keywords(_TEXT.sub("", rest)) or not (request.aspects or request.written):
            request.aspects += [request.written] if request.written else []
            request.written = clause
    else:
        _add_aspects(rest if kind == "vague" else clause, request)


def _add_aspects(text: str, request: Request) -> None:
    """What is to be found out, each part of a list by itself."""
    for aspect in _compared(text) or enumerated(text):
        if keywords(aspect) or _QUESTION.search(aspect):
            request.aspects.append(aspect)


def enumerated(text: str) -> list[str]:
    """The items of a list in a clause, each with what all are of (`of the market`); the clause where it has no list."""
    items = [item.strip(" .?") for item in _AND.split(text)]
    items = [*items[:-1], *re.split(r"\s+(?:and|or|&)\s+", items[-1], maxsplit=1)]
    if (
        len(items) < 3
        or _QUESTION.search(text)
        or any(re.match(rf"{VERB}|{_NO_ITEM}", item, re.IGNORECASE) for item in items[1:])
    ):
        return [text]
    last = _OF.match(items[-1])
    whole = f" {last['joint']} {last['of']}" if last else ""
    items[-1] = last["item"] if last else items[-1]
    return [re.sub(rf"^{VERB}\s+(?=\w)", "", f"{item}{whole}", flags=re.IGNORECASE) for item in items]


def _compared(text: str) -> list[str]:
    """`persistence of A`, `persistence of B` for “compare A and B on persistence”; without a point, each of two."""
    on = _ON.search(text)
    if not _COMPARES.search(text):
        return []
    things = re.sub(rf"^{VERB}\s+", "", text[: on.start()] if on else text, flags=re.IGNORECASE)
    items = [item.strip(" .?") for item in re.split(rf"{_AND.pattern}|\s+(?:and|with|to|versus|vs\.?)\s+", things)]
    if (len(items) != 2 and not on) or len(items) < 2:
        return []
    return [f"{on['on'].rstrip(' .?')} of {item}" if on else item for item in items if item]


_DENIED = re.compile(r"did not allow (?P<what>[\w-]+).*?That was task \S+: (?P<task>.+)$", re.DOTALL)
_SAID = re.compile(r"^The plan was rejected:\s*(?P<said>.+)$", re.DOTALL)
_LESS = re.compile(r"\b(?:without|leave out|drop|remove|skip|omit|cancel|no|do not|don't)\s+([^.;,\n]+)", re.IGNORECASE)
_MORE = re.compile(r"\b(?:also|add|include|plus)\s+([^.;\n]+)", re.IGNORECASE)


def heeded(request: Request, objections: list[str]) -> Request:
    """The request without what was objected to and with what was asked for besides; a human has to edit the rest."""
    for text in objections:
        denied, said = _DENIED.search(text), _SAID.match(text)
        for what in denied.groups() if denied else _LESS.findall(said["said"]) if said else ():
            request = _without(request, what)
        for what in _MORE.findall(_LESS.sub("", said["said"])) if said else ():
            more = understood(what)
            new = [aspect for aspect in more.aspects if aspect not in request.aspects]
            request = replace(request, aspects=[*request.aspects, *new], actions=[*request.actions, *more.actions])
    return request


def _without(request: Request, what: str) -> Request:
    """Leave out the action it names, or the aspects that are about nothing else."""
    if actions_in(what):
        return replace(request, actions=[])
    subject = keywords(what).keys()
    kept = [aspect for aspect in request.aspects if not subject or not (subject <= keywords(aspect).keys())]
    return replace(request, aspects=kept or request.aspects)


_CALCULATES = re.compile(
    r"\b(?:what(?:'s| is| are)|calculate|compute|evaluate|how much is|work out|solve)\b|=\s*\??\s*$", re.IGNORECASE
)
_SPOKEN = {
    r"(\d+(?:\.\d+)?)\s*(?:%|percent) of (\d+(?:\.\d+)?)": r"\1 / 100 * \2",
    r"(?:the )?square root of (\d+(?:\.\d+)?)": r"sqrt(\1)",
    r"\b(?:times|multiplied by)\b|(?<=\d)\s*[x×]\s*(?=\d)": " * ",
    r"\bdivided by\b|÷": " / ",
    r"\bplus\b": " + ",
    r"\bminus\b": " - ",
    r"\bto the power of\b|\^": " ** ",
    r"(?<=\d),(?=\d{3}\b)": "",
}
_EXPRESSION = re.compile(r"(?:sqrt)?[(\d.][\d\s.+\-*/()%]*[\d)]")
_OPERATION = re.compile(r"[\d)]\s*(?:\*\*|[-+*/%])\s*[(\d]|sqrt\(")


def expression_in(text: str) -> str:
    """The arithmetic asked for in `text`, or nothing: years with a dash between them are no subtraction."""
    said = text.strip()
    for pattern, sign in _SPOKEN.items():
        said = re.sub(pattern, sign, said, flags=re.IGNORECASE)
    found = [one.strip() for one in _EXPRESSION.findall(said) if _OPERATION.search(one)]
    best = max(found, key=len, default="")
    is_date = re.fullmatch(r"(?:1\d|20)\d\d\s*[-/]\s*\d{1,4}(?:\s*[-/]\s*\d{1,2})?", best)
    rest = keywords(_CALCULATES.sub("", said.replace(best, "")))
    is_asked = said.strip(" ?.=") == best or (_CALCULATES.search(text) and len(rest) <= MOST_BESIDE)
    return " ".join(best.split()) if best and is_asked and not is_date else ""
