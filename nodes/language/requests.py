"""What a request asks for: its wishes, each in words that make sense alone, and what is to be done with the answer.

Only questions and clauses that begin with a verb of work are wishes: the rest of a long mail is background. What the
request forbids, quotes, or gives as an example is no wish (`nodes.policy.orders`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nodes.language.following import standing_alone
from nodes.language.subjects import ASKS, KIND, PLACES, VERB, keywords, without_errand
from nodes.language.words import STOP_WORDS, words
from nodes.policy import errands
from nodes.policy.orders import GIVES_OUT, POLITE, actions_in, governs, ordered, plain, straight, without_forbidden

MOST_WISHES = 12
"""Wishes that become tasks of their own; what is beyond goes into the last."""

_QUESTION = re.compile(rf"^¿|^(?:(?:{PLACES}) )?(?:{ASKS})\b|[?？]$", re.IGNORECASE)
_WHAT_IS = re.compile(r"what (?:is|are|does|do)\b", re.IGNORECASE)
"""How a question begins that asks what something is: what is asked of `it` besides belongs to that."""
_JOINT = "and|und|et|y|e|ed"
_ITEM = re.compile(
    r"(?:^|\n)\s*(?:[-*•]|\(?(?:\d{1,2}|[a-h])[.)])\s+|(?<=[\s:;,.])\(?(?:\d{1,2}|[a-h])\)\s+|"
    r"(?<=[.?!;:])\s+\d{1,2}[.)]\s+"
)
_SENTENCE = re.compile(
    r"(?<=[?!])\s+|(?<=\w\w[.)])\s+(?=[A-Z0-9\"“])|(?:(?<=[.!?][\"'”’»])|(?<=[\"'”’»][.!?]))\s+(?=[A-Z])|;\s+|\n+"
)
_CLAUSE = re.compile(
    rf"(?<=\w)(?<!\bwhy):\s+(?=(?:(?:{PLACES}) )?(?:{ASKS})\b|{VERB}|(?:i|we|you|he|she|they|it)\b)|,?\s+(?=but\s)|"
    r",\s+(?=(?:(?:so|and) )?(?:i|we|you|he|she|they|it|nothing|nobody|no one)(?:['’]\w+)?\s)|\s+[–—-]{1,2}\s+",
    re.IGNORECASE,
)
"""Where one clause of a sentence ends and another begins that is not ruled by it; `Why: …?` is one question."""
_FRAME = re.compile(
    r"^(?:if|when|for|in|on|at|under|regarding|concerning|according to|as to|with regard to)\b(?!.*\b(?:i|you|we)\b)",
    re.IGNORECASE,
)
"""How begins what says under which condition, or of what, the rest of a sentence asks."""
_THEN = re.compile(
    rf"(?:\s*[,;]\s*(?:(?:{_JOINT})\s+)?(?:(?:then|finally|also|dann|just|only|simply|instead)\s+)?|"
    rf"\s+(?:then|(?:{_JOINT})(?:\s+(?:then|finally|also|dann))?)\s+)(?={VERB})",
    re.IGNORECASE,
)
_OWNS = (
    r"ha(?:s|ve|d)\s+(?!(?:the|it|he|she|they|we|i|you|any\w*|some\w*|every\w*|our|my|your|this|these|there)\b|"
    r"(?-i:[A-Z]))"
)
"""`has 60 members`, which asks nothing."""
_ASKS_ON = re.compile(
    rf"\s*,?\s+(?:{_JOINT})\s+(?=(?:(?:{PLACES})\s+)?(?:{ASKS})\s+\w)(?!{_OWNS})|,\s+(?=(?:(?:(?:{PLACES})\s+)?(?:what|how)|why|who|which|whether)\s+\w|"
    r"(?:when|where)\s+(?:is|are|was|were|do|does|did|can|will|has|have|should)\b)",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\b(?:how|what|why|which|who|that|if|when|whether|to(?!\s+(?:(?:the|an?|my|our|your)\b|(?-i:[A-Z]))))\s+\w+",
    re.IGNORECASE,
)
_NEEDS = re.compile(
    r"\b(?:i|we) (?:need|want|require|(?:am|are) looking for|would like|have to know)\b|['’]d like\b", re.IGNORECASE
)
_LETTER = re.compile(
    r"\A\s*(?:to whom it may concern|hi|hello|hey|dear|good (?:morning|afternoon|evening))\b[^\n,.!?:]{0,40}[,.!:]\s*|"
    r"(?:\n\s*|(?<=[.!?])\s+)(?:(?:best|kind|warm)(?: \w+)?|regards|cheers|(?:many )?thanks|thank you|yours(?: \w+)?|"
    r"sincerely)[,.!]?\s*(?:\n\s*)*[^\n?]{0,40}\Z",
    re.IGNORECASE,
)
"""How a letter begins and ends."""
_TOLD = re.compile(r"^(?:i|we|you|he|she|they|it|there|nobody|no one|nothing|everybody|everyone)\b", re.IGNORECASE)
_WANTS_TO = re.compile(r"(?:i|we)\b[\w '’]{1,20}\bto\b(?! know)", re.IGNORECASE)
"""What somebody wants to do themselves, unless that is work for others: `we want to visit the castle`."""
_BACKGROUND = re.compile(
    r"^(?:(?:have|has|had|is|are|was|were) (?:not|never|been|had|already|still|now)|not|no|never|do not|don['’]?t|"
    r"without|for example|for instance|e\.g\.)\b",
    re.IGNORECASE,
)
_TEXTS = (
    "press release|how-?to|guide|checklist|paragraph|advert|summary|overview|blog post|white ?paper|document|notice|"
    "invitation|announcement|text|draft|"
    + (
        "answer|e-?mail|note|one-pager|statement|proposal|introduction|minutes|"
        + "|".join(
            word for word, kind in errands.meanings(errands.KINDS).items() if kind in errands.DOCUMENTS | {"memo"}
        )
    )
)
_TEXT = re.compile(rf"\b(?:{_TEXTS})\b", re.IGNORECASE)
_ABOUT = re.compile(
    r"\b(?:about|on|of|for|regarding|concerning|covering|(?:that|which) (?:says?|tells?|shows?|explains?|answers?))\s+"
    r"(?P<what>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_STRATEGY = re.compile(r"\bswot\b|\brecommendations?\b|\bstrateg(?:y|ies)\b", re.IGNORECASE)
_RESULT = re.compile(
    rf"^(?:it|them|this|that|these|those|everything|(?:the|your|all) (?:results?|findings?|outcome|whole|{_TEXTS}))\b"
    r".{0,40}$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?:it|this|that|these|those|them|the above|(?:the|your|all) (?:results?|findings?|outcome|answers?))\b",
    re.IGNORECASE,
)
_READERS = re.compile(r"\b(?:for|to) (?:(?:the|our|my|all) )?[\w-]+", re.IGNORECASE)
_ONCE_DONE = re.compile(
    r"(?<![^\s])(?:once|after|when|as soon as) you(?:['’]ve| have) (?P<form>[a-z]+) (?P<what>[^,.;\n]+), (?:then )?",
    re.IGNORECASE,
)
_BASES = {"found": "find", "written": "write", "made": "make", "drawn": "draw", "got": "get", "identified": "identify"}
_THAT_IS = re.compile(r"\b(?:that|saying|to say)\s+(?P<what>.+)$", re.IGNORECASE | re.DOTALL)
_MADE = re.compile(r"\b(?:script|csv|code|function|program|module|spreadsheet|json|app)\b", re.IGNORECASE)
_OF = re.compile(r"(?P<item>.{2,60}?)\s+(?P<joint>of|for|in|on|about|within|across)\s+(?P<of>.{3,})$", re.DOTALL)
_LEADING = r"(?:the|its|their|about|on|of|covering|including|include|cover|are|is)"
_COMPARES = re.compile(r"^(?:compare|contrast)\b|\b(?:versus|vs\.?|difference between)\b", re.IGNORECASE)
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


def understood(text: str) -> Request:
    """The request, taken apart by rules: lists, sentences, chained verbs, enumerations."""
    request = Request(text.strip(), actions=ordered(text))
    before: list[str] = []
    for clause in wishes_in(text):
        said = [one for one in _SENTENCE.split(text.partition(clause)[0].strip()) if keywords(one)]
        before = before or [f"{one.rstrip(' ,;')}." if not one.endswith((".", "?")) else one for one in said[-1:]]
        is_of_result = _RESULT.match(clause.partition(" ")[2]) and not _QUESTION.match(clause)
        whole = clause if is_of_result else standing_alone(clause, before)
        before = before if is_of_result and before else [whole]
        if whole != clause and request.aspects and _WHAT_IS.match(request.aspects[-1]) and _QUESTION.match(clause):
            request.aspects[-1] = _with(request.aspects[-1], clause)
        else:
            _take(whole, request)
    request.aspects = _whole(request.aspects)
    if len(request.aspects) > MOST_WISHES:
        request.aspects[MOST_WISHES - 1 :] = ["; ".join(request.aspects[MOST_WISHES - 1 :])]
    return request


def _whole(aspects: Sequence[str]) -> list[str]:
    """The questions, those that say too little to stand alone (`and which doesn't?`) with the one before."""
    found: list[str] = []
    for aspect in aspects:
        if found and STOP_WORDS.issuperset(word.lower() for word in words(aspect)):
            found[-1] = _with(found[-1], aspect)
        else:
            found.append(aspect)
    return found


def _with(question: str, more: str) -> str:
    """A question and what it asks besides."""
    return f"{question.rstrip(' ?.,')}, and {more[:1].lower()}{more[1:]}"


def is_of_answer(written: str) -> bool:
    """Whether a text that is asked for is about nothing but what was said before: `write that up as a memo`."""
    about = _TEXT.sub("", _READERS.sub("", written))
    return KIND.get(_verb(written)) in ("writing", "vague") and bool(_BEFORE.search(written)) and not keywords(about)


def wishes_in(text: str) -> list[str]:
    """The clauses that ask for something, in order; those that say what is needed, or all, where none does."""
    wishes, clauses, is_announced = list[str](), list[str](), False
    text = without_forbidden(_LETTER.sub("", straight(text))) or text
    text = _ONCE_DONE.sub(_ordered_first, text)
    parts = [part for part in _ITEM.split(text) if part.strip()]
    for number, part in enumerate(parts):
        for place, sentence in enumerate(_SENTENCE.split(part.strip())):
            frame = ""
            for wish in _clauses_of(sentence):
                clause = re.sub(r",?\s+(?:and|or)$", "", POLITE.sub("", wish.strip()).strip(" ,;.\n"))
                announces = clause.endswith(":") and number + 1 < len(parts)
                is_announced |= announces
                if announces or not re.search(r"\w", clause) or _BACKGROUND.match(clause):
                    continue
                is_item = number > 0 and place == 0 and (is_announced or len(parts) > 2)
                is_told = _WANTS_TO.match(wish.strip()) and _verb(clause) not in KIND
                if is_item or (_is_wish(clause) and not is_told):
                    wishes.append(f"{frame}{clause}")
                elif _FRAME.match(clause):
                    frame = f"{clause.rstrip(':')}, "
                    continue
                clauses.append(f"{frame}{clause}")
    told = [one for one in clauses if not _TOLD.match(one)]
    return wishes or [one for one in clauses if _NEEDS.search(one)] or told or clauses


def _ordered_first(found: re.Match[str]) -> str:
    """`find the tariff, then` for “once you have found the tariff,”."""
    form = found["form"].lower()
    verb = next((one for one in (_BASES.get(form), form[:-2], form[:-1], form) if one in KIND), "")
    return f"{verb} {found['what']}, then " if verb else found.group()


def _clauses_of(sentence: str) -> list[str]:
    """The clauses of a sentence that are not ruled by one another."""
    clauses = [sentence.strip(" ,;")] if plain(sentence) != straight(sentence) else _CLAUSE.split(sentence.strip(" ,;"))
    return [piece for clause in clauses for one in _chained(clause) for piece in _asked_in(one)]


def _asked_in(clause: str) -> list[str]:
    """A clause at the questions that are joined in it; quoted words hold none."""
    return _ASKS_ON.split(clause) if _ASKS_ON.search(plain(clause)) else [clause]


def _chained(sentence: str) -> list[str]:
    """A sentence at its chained verbs; quoted words hold none, and a subordinate clause keeps its own."""
    hidden = plain(sentence)
    if hidden != sentence and not _THEN.search(hidden):
        return [sentence]
    kept: list[str] = []
    for piece in _THEN.split(sentence):
        is_loose = len(piece.split()) <= 4 and not _RESULT.match(piece.partition(" ")[2])
        is_ruled = kept and governs(kept[-1]) and _SUBORDINATE.search(kept[-1])
        if is_ruled and (is_loose or not _is_wish(POLITE.sub("", kept[-1]))):
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
    rest = re.sub(r"\s+for (?:me|us)\b", "", rest)
    about = _ABOUT.search(rest)
    is_text_about = bool(about and _TEXT.search(rest[: about.start()]))
    if kind == "action" and request.actions:
        is_message = request.actions == ["send"] and (message := _THAT_IS.search(rest))
        if is_message and message and not (request.aspects or request.written):
            request.written = f"Write: {message['what']}"
        request.writing |= bool(request.aspects) and not request.made and not GIVES_OUT.isdisjoint(request.actions)
    elif _STRATEGY.search(clause) or kind == "strategy":
        request.strategy = request.strategy or clause
    elif kind == "implementation" or (kind in ("vague", "writing") and _MADE.search(rest)):
        request.made.append(clause)
    elif kind == "writing" or (kind == "vague" and _TEXT.search(rest)):
        is_summary = verb.startswith("summari") and not request.aspects
        if not is_summary and request.aspects and (_RESULT.match(rest) or not about):
            request.writing = True
            return
        if about and is_text_about and request.aspects and about.group().lower().startswith("for "):
            request.writing = True  # those who are to read it
            return
        subject = (about["what"] if about and is_text_about else rest).strip(" .?")
        if any(keywords(subject).keys() <= keywords(aspect).keys() for aspect in request.aspects):
            request.writing = True
            return
        pair = re.fullmatch(r"([\w-]+(?: [\w-]+)?) and ([\w-]+(?: [\w-]+)?)", subject)
        if request.aspects or pair or len(enumerated(subject)) > 1:
            request.writing = True
            for part in pair.groups() if pair else (subject,):
                _add_aspects(part, request)
        elif is_summary or not keywords(subject):
            request.aspects.append(clause)
        else:
            request.written = clause
    else:
        _add_aspects(rest if kind == "vague" else clause, request)


def _add_aspects(text: str, request: Request) -> None:
    """What is to be found out, each part of a list by itself."""
    for aspect in _compared(text) or enumerated(text):
        if (keywords(aspect) or _QUESTION.search(aspect)) and without_errand(aspect).lower() not in (
            without_errand(other).lower() for other in request.aspects
        ):
            request.aspects.append(aspect)


def enumerated(text: str) -> list[str]:
    """The items of a list in a clause, each with what all are of (`of the market`); the clause where it has no list."""
    head, colon, tail = text.partition(": ")
    items = [item.strip(" .?") for item in _AND.split(tail if colon and "," in tail else text) if item.strip(" .?")]
    items = [*items[:-1], *re.split(r"\s+(?:and|or|&)\s+", items[-1], maxsplit=1)] if len(items) > 1 else items
    is_chain = any(re.match(rf"{VERB}|{_NO_ITEM}", item, re.IGNORECASE) for item in items[1:])
    if is_chain or len(items) < (2 if colon else 3):
        return [text]
    joint = f" of {_bare(head)}" if colon and keywords(_bare(head)) and not _NEEDS.search(head) else ""
    if not joint and (last := _OF.match(items[-1])):
        items[-1], joint = last["item"], f" {last['joint']} {_bare(last['of'])}"
    first = re.match(rf"(?P<of>.*\b{_LEADING})\s+(?P<item>[^,]+)$", items[0], re.DOTALL)
    if first and not colon and not joint and _QUESTION.search(text) and keywords(first["of"]):
        return [text]  # one question about several things
    if first and not colon:
        items[0] = first["item"]
        whole = _bare(re.split(r"[\s,]+(?:covering|including|include|cover)\b", first["of"])[0])
        is_of_whole = re.search(r"\b(?:cover|includ)", first["of"]) and keywords(whole)
        joint = joint or (f" of {whole}" if is_of_whole else "")
    lead = re.compile(rf"^{VERB}\s+(?=\w)|^(?:me |us )?(?:about )?", re.IGNORECASE)
    return [lead.sub("", f"{item}{joint}") for item in items]


def _compared(text: str) -> list[str]:
    """`persistence of A`, `persistence of B` for “compare A and B on persistence”; without a point, each of two."""
    on = _ON.search(text)
    if not _COMPARES.search(text) or not (on or _verb(text) in ("compare", "contrast")):
        return []
    things = re.sub(rf"^{VERB}\s+", "", text[: on.start()] if on else text, flags=re.IGNORECASE)
    items = [item.strip(" .?") for item in re.split(rf"{_AND.pattern}|\s+(?:and|with|to|versus|vs\.?)\s+", things)]
    if (len(items) != 2 and not on) or len(items) < 2:
        return []
    if (
        not on
        and (of := re.match(r"(?P<what>.+ (?:of|for|in|at) )", items[0]))
        and not re.search(r" (?:of|for|in|at) ", items[1])
    ):
        items[1] = f"{of['what']}{items[1]}"
    return [f"{on['on'].rstrip(' .?')} of {item}" if on else item for item in items if item]


def _bare(text: str) -> str:
    """A subject without the verbs and small words around it."""
    text = re.sub(rf"^(?:{VERB}\s*)?(?:what (?:is|are)\s+)?", "", POLITE.sub("", text.strip()), flags=re.IGNORECASE)
    text = re.sub(rf"\s*\b{_LEADING}\s*$", "", text, flags=re.IGNORECASE)
    return re.sub(r"^(?:the|a|an)\s+", "", text.strip(), flags=re.IGNORECASE).strip(" :,.?")


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
    is_asked = said.strip(" ?.=") == best or _CALCULATES.search(text)
    return " ".join(best.split()) if best and is_asked and not is_date else ""
