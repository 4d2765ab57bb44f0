"""Follow-ups: what words mean that refer to what was said before, in the request or on the thread.

A request may ask on: of another subject ("what about Dapr?"), of the same one ("who makes it?", "which of these is the
newest?"), why, or again. It becomes a question that can stand alone, made of the questions before it and of the things
that their answers name (`mentions`); what else an answer says is no request. `and …?`, `why?` and `again` are known in
several languages; other pronouns than English ones get their subject behind them, in brackets.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from nodes.language.mentions import Mentions, mentions_in
from nodes.language.shapes import shape_of
from nodes.language.subjects import ASKS, PLACES, capital, joined, keywords, phrases, without_errand
from nodes.language.words import CJK, STOP_WORDS
from nodes.policy import errands
from nodes.policy.orders import ordered

LONGEST = 14
"""Words of a request that refers to what was before; a longer one says itself what it asks."""
SHORT = 9
"""Words of one that may do so without saying it."""
_JOINT = "and|but|so|then|also|und|aber|dann|et|mais|alors|y|pero|e|ma|en|maar|и|а|но|那么|那|では|じゃあ"
_WHY = re.compile(
    rf"(?:(?:{_JOINT})\s+)?(?:why(?: so| not| is that)?|how so|how come|warum|wieso|weshalb|pourquoi|por qu[eé]|perché|"
    r"porquê|waarom|varför|hvorfor|почему|зачем|为什么|为何|なぜ|どうして|왜|لماذا|क्यों)"
)
_REASON = "Why: "
_AGAIN = re.compile(
    r"(?:please )?(?:(?:try |ask |do it |once )?again|once more|retry|redo(?: it)?|nochmals?|noch einmal|encore(?: une "
    r"fois)?|otra vez|de nuevo|ancora|opnieuw|ещё раз|еще раз|再试一次|再来一次|もう一度|다시)(?: please)?"
)
_AND = re.compile(
    rf"^[¿\s]*(?:(?:(?:{_JOINT})\s+)?(?:what about|how about|(?:the )?same (?:question )?for|was ist mit|"
    r"wie (?:ist|sieht) es (?:aus )?mit|qu['’]en est-il (?:de|du|des)|et pour(?=\s+(?-i:[A-Z]))|"
    rf"qué (?:hay de|pasa con)|che ne dici di|en wat met|"
    rf"(?:что насч|как насч)[её]т|a co z)\s+|"
    rf"(?:{_JOINT})[\s,]+|(?=\S+\s*(?:呢|は)[?？]))",
    re.IGNORECASE,
)
_ASKS = re.compile(rf"^[¿\s]*(?:{ASKS})\b", re.IGNORECASE)
BARE = re.compile(
    rf"(?:{PLACES})\s+(?:{ASKS})(?:\s+[\w-]+)?|(?:{ASKS})(?: (?:long|often|much|many|far))?", re.IGNORECASE
)
"""What asks for more of the same answer: `in which year`, `how many`."""
_BOTH = re.compile(r"(?:the two|both)(?: (?:[a-z]+s|ones))?(?=[?.!]*$| (?:on|by)\b)", re.IGNORECASE)
_NTHS = {"first": 0, "former": 0, "second": 1, "latter": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_NTH = re.compile(
    rf"\bthe (?P<place>{'|'.join(_NTHS)})(?:(?<=er)\b| (?:ones?|options?|points?|items?)\b|(?=[\s?.!]*$))",
    re.IGNORECASE,
)
"""A place in what was listed: `the second one`."""
_OF_THESE = re.compile(r"\bof (?:these|those|them|the (?:two|three|four|five|above))\b", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:s?he|him|(?P<whose>his|her))\b", re.IGNORECASE)
_PLURAL = frozenset(["they", "them", "these", "those", "their", "theirs"])
_ONE = re.compile(
    r"\b(?:(?P<whose>its|theirs?|his|her)|it(?! \w+ (?:to|that|if)\b)|they|them|he|she|these|those|this one|that one|"
    r"(?<!which )(?<!the )one(?=\s*[?.!]|$)|"
    r"(?:this|that)(?=\s+(?:is|was|does|has)\b|\s*[?.!]|$))\b"
    r"(?!\s+(?:is|was) (?:that|to|better to)\b)",
    re.IGNORECASE,
)
_PLACED = re.compile(rf"^({PLACES}|{'|'.join(errands.ABOUT)}|pro|avec)\s", re.IGNORECASE)
_ARTICLES = "the|an?|our|my|your|its|their|his|her|this|that|der|die|das|den|dem|les?|la|el|los|las|il|lo|het"
_DETERMINED = re.compile(rf"^(?:{_ARTICLES})\s+", re.IGNORECASE)
_PROPERTY = re.compile(r"^(?:what|which|who) (?:is|are|was|were)\b", re.IGNORECASE)
_DOES = frozenset(["do", "does", "did", "can", "could", "will", "would", "should", "must", "may"])
_HELPS = _DOES | {"is", "are", "was", "were"}
_MOST = r"\w{2,}est|most|least|best|worst"
_SUPERLATIVE = re.compile(rf"(?:the )?(?:{_MOST})\b(?P<what> [\w-]+)?", re.IGNORECASE)
_COMPARES = re.compile(rf"^(?:which|what|who)(?: \w+){{0,2}} (?:\w{{2,}}er|more|less|worse|{_MOST})\b", re.IGNORECASE)
_KIND = re.compile(
    r"^(?:which|what|how many|list|name|show)(?: (?:all|of|the|our|my))* (?P<what>[\w-]+s)\b"
    r"(?P<which> (?!and|is|was|with|do|does|did|can)[^?.!]{3,60})?",
    re.IGNORECASE,
)
"""A kind of things that is asked for: `rooms`, `that have a projector`."""
_OF = frozenset(["of", "to", "at", "the"])
_DONE = re.compile(
    r"[a-z]{2,}(?:ed|[dtkvl]en)|lit|made|built|held|kept|lost|found|sold|paid|won|run|open|wrote|came|wants|keeps"
)
"""Words that are said of a thing: verbs in forms that tell."""
_SMALL = rf"(?:{PLACES}|{'|'.join(sorted(_HELPS))}|has|have|had|and)"
_BARE_NOUN = re.compile(rf"\b{_SMALL} (?P<it>(?!{_SMALL}\b)[\w-]+(?: (?!{_SMALL}\b)[\w-]+)?)", re.IGNORECASE)
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9.+#-]*")
_WORD = re.compile(r"[\w'’.+#-]*[\w+#]")


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that stands alone, and what its answer names."""

    question: str
    answer: str = ""

    @property
    def named(self) -> Mentions:
        """What the answer names."""
        return mentions_in(self.answer, self.question)

    @property
    def names(self) -> list[str]:
        """The names in the question."""
        return phrases(_inside(self.question))

    @property
    def subject(self) -> str:
        """What the question is about: its names, else a thing."""
        words = _WORD.findall(without_errand(self.question))
        pairs = enumerate(zip_longest(words, words[1:], fillvalue=""))
        is_thing = (n for n, (one, then) in pairs if re.fullmatch(_ARTICLES, one.lower()) and then not in STOP_WORDS)
        at = next(is_thing, -1)
        thing = _thing_in(words, at)
        is_part = at >= 0 and any(one in thing for one in self.names)
        return joined(self.names) if self.names and not is_part else thing


def _thing_in(words: Sequence[str], at: int) -> str:
    """The first thing that words name, by their forms: to a verb or a small word; `at` the article before it, or -1."""
    low = [word.lower() for word in words]
    asks = low[:1] != [] and low[0] not in _HELPS
    start = at + 1 if at >= 0 else next((n for n, word in enumerate(low) if n >= asks and word not in STOP_WORDS), 0)
    end = start
    while end < len(words):
        then = words[end + 1] if end + 1 < len(words) else ""
        is_joint = low[end] in _OF and (then[:1].isupper() or then.lower() == "the" or low[end] == "of")
        is_said = end >= start + (at >= 0) and _DONE.fullmatch(words[end])  # right after an article: the hidden folder
        if not is_joint and (is_said or low[end] in STOP_WORDS - {"the"}):
            break
        end += 1
    is_before_verb = set(low[:start]) & (_DOES if asks else _HELPS)
    end -= bool(is_before_verb and end - start > 1)
    return " ".join(words[start - (at >= 0) : end])


def followed(request: str, earlier: Sequence[str], answers: Sequence[str] = ()) -> str:
    """The request in words that can stand alone, given those before it; as it is where it does so already.

    `answers`: what was answered to each of `earlier`, as far as that is known.
    """
    turns: list[Turn] = []
    for turn, answer in zip_longest(earlier, answers[: len(earlier)], fillvalue=""):
        said = turn.strip()
        is_about_answer = turns and (shape_of(said) or (ordered(said) and not phrases(_inside(said))))
        if said and not is_about_answer:
            turns.append(Turn(_meant(said, turns).removeprefix(_REASON), answer))
    return _meant(request, turns)


def standing_alone(text: str, questions: Sequence[str]) -> str:
    """The words with what they refer to in place of `it` and `its`, where they name nothing themselves."""
    return _with_subject(text, [Turn(one) for one in questions])


def _meant(request: str, turns: Sequence[Turn]) -> str:
    text = " ".join(request.split())
    bare = text.strip(" ?!.¿？。！،؟").casefold()
    if not turns or not text or len(text.split()) > LONGEST:
        return request
    last = turns[-1].question
    if _AGAIN.fullmatch(bare):
        return last
    if _WHY.fullmatch(bare):
        return f"{_REASON}{last}"
    began = _AND.match(text)
    rest = text[began.end() :].strip() if began else text
    if BARE.fullmatch(rest.strip(" ?!.")):  # for how long?
        return f"{last.rstrip(' ?.!')} {rest}"
    rest = _pointed(rest, turns)
    if began and not _ASKS.match(rest) and not _OF_THESE.search(rest):
        return _asked_of(rest.strip(" ?!.？呢は"), turns)
    return _about(rest, turns, is_joined=bool(began))


def _pointed(text: str, turns: Sequence[Turn]) -> str:
    """The text with the names of what was listed, where it points at those: `the second one`, `both`."""
    spoken = list(dict.fromkeys(name for turn in turns[-3:] for name in turn.names))
    listed = next((turn.named.things for turn in reversed(turns) if len(turn.named.things) > 1), tuple(spoken))
    found = _NTH.search(text)
    place = _NTHS[found["place"].lower()] if found else len(listed)
    text = _put(listed[place], text, found) if found and place < len(listed) else text
    return _BOTH.sub(lambda _: _these(turns), text)


def _these(turns: Sequence[Turn]) -> str:
    """The two things that were spoken of last: what the questions name, what answers came to, what one listed."""
    ones = list(dict.fromkeys(turn.named.one for turn in turns if turn.named.one))
    spoken = list(dict.fromkeys(name for turn in turns[-3:] for name in turn.names))
    found = (spoken, ones[-2:], turns[-1].named.things)
    return next((joined(list(two)) for two in found if len(two) == 2), _kind(turns))


def _kind(turns: Sequence[Turn]) -> str:
    """What `of these` are: the kind of things that was asked for last, or the names that were."""
    last = turns[-1]
    if found := _KIND.match(last.question):
        which = (found["which"] or "").strip(" ?.!")
        that = "" if re.match(rf"{PLACES}|that|$", which) else "that "
        return f"the {found['what']} {that}{which}".strip()
    return last.subject


def _asked_of(what: str, turns: Sequence[Turn]) -> str:
    """The last question, asked of something else: `and Dapr?`, `and per year?`; or something else of its subject."""
    last = turns[-1].question
    bare, subject = last.rstrip(" ?.!"), turns[-1].subject
    most = _SUPERLATIVE.fullmatch(re.sub(r" ones?$", "", what))
    ranked = next((turn.question for turn in reversed(turns) if _SUPERLATIVE.search(turn.question)), "")
    if most and (other := _SUPERLATIVE.search(ranked)):  # and the most sugar? and the oldest?
        return _put(f"{most.group()}{'' if most['what'] else other['what'] or ''}", ranked, other)
    if CJK.search(what + last):
        return _LATIN.sub(what, last, count=1) if _LATIN.search(last) else f"{what} {last}"
    if placed := _PLACED.match(what):
        head = re.escape(what.rsplit(maxsplit=1)[-1])
        same = re.compile(
            rf"\b{placed[1]}\s+(?:the\s+|a\s+)?(?:(?:[\w.-]+\s+){{0,3}}{head}\b|[\w.-]+(?:\s+(?-i:[A-Z])[\w.-]*)*)",
            re.IGNORECASE,
        )
        found = list(same.finditer(last))
        return _put(what, last, found[-1]) if found else f"{bare} {what}?"
    aspect = _DETERMINED.sub("", what)
    if phrases(what):
        known = "|".join(map(re.escape, turns[-1].names)) or "(?!)"
        places = list(re.finditer(rf"(?<!\w)(?:{known})(?:[\s-]+(?:{known}))*(?!\w)", last))
        return _put(aspect, last, places[-1]) if places else f"{bare}: {what}"
    if aspect == what:
        return _like(what, last) or f"{bare}: {what}?"
    if _DETERMINED.match(subject) and not _PROPERTY.match(last):
        return last.replace(subject, what)
    return f"{capital(aspect)} of {re.sub(r'^.*? (?:on|of|for|in) ', '', subject)}"


def _like(what: str, question: str) -> str:
    """The question with a noun in place of the last one that has no article before it either."""
    found = [one for one in _BARE_NOUN.finditer(question) if one["it"].split()[0].lower() not in STOP_WORDS]
    fitting = [one for one in found if one["it"].isdigit() is what.isdigit()]
    return f"{question[: fitting[-1].start('it')]}{what}{question[fitting[-1].end('it') :]}" if fitting else ""


def _about(text: str, turns: Sequence[Turn], *, is_joined: bool) -> str:
    """The request with its subject in place of what stands for it, or behind it."""
    subject, is_short = turns[-1].subject, len(text.split()) <= SHORT
    if _OF_THESE.search(text):
        return _OF_THESE.sub(f"of {_kind(turns)}", text)
    own = phrases(_inside(text))
    if not own and not _ONE.search(text) and _COMPARES.search(text):
        return f"{text.rstrip(' ?.!')} of {_these(turns)}?"
    if (whole := _with_subject(text, turns)) != text:
        return whole
    is_open = is_joined or len(keywords(text)) < 2
    if own or not is_open or not is_short or keywords(text).keys() >= keywords(subject).keys():
        return text
    return f"{text.rstrip(' ?.!？')} ({subject.replace(' and ', ', ')})?"


def _with_subject(text: str, turns: Sequence[Turn]) -> str:
    """The words with what they refer to in place of a pronoun, where they name nothing themselves before it."""
    if not turns:
        return text
    asked = next((turn for turn in reversed(turns) if without_errand(turn.question).lower().startswith("who ")), None)
    if asked and (person := _PERSON.search(text)):
        who = asked.named.one or f"the one who {_inside(without_errand(asked.question)).rstrip(' ?.!')}"
        return _put(_of(who) if person["whose"] else who, text, person)
    match = _ONE.search(text)
    if not match or phrases(_inside(text[: match.start()])):
        return text
    last, is_plural, named = turns[-1], match.group().lower() in _PLURAL, turns[-1].named
    subject = last.subject
    if is_plural and named.are_computed:
        subject = joined(list(named.things))
    elif named.one and not is_plural and not last.names and not last.question.lower().startswith("who "):
        subject = named.one
    return _put(_of(subject) if match["whose"] else subject, text, match) if subject else text


def _of(subject: str) -> str:
    return f"{subject}'" if subject.endswith("s") else f"{subject}'s"


def _inside(question: str) -> str:
    """A question without its first word, whose capital says nothing."""
    return question.partition(" ")[2]


def _put(what: str, text: str, place: re.Match[str]) -> str:
    return f"{text[: place.start()]}{what}{text[place.end() :]}"
