"""Follow-ups: what a request means that refers to what was asked before on the thread.

It asks on: of another subject ("what about Dapr?"), of the same one ("who makes it?", "which of these is the newest?"),
why, or again. Then it becomes a question that can stand alone, made of the questions before it; answers are not looked
into, what they say is no request. `and …?`, `why?` and `again` are known in several languages; what else refers is
English, and in others the subject before is put behind what names none.
"""

import re
from collections.abc import Sequence

from nodes.llm.offline.requests import keywords
from nodes.llm.offline.shapes import shape_of
from nodes.llm.offline.words import names, without_errand
from nodes.llm.sections import Section
from nodes.policy.orders import ordered
from nodes.tools.words import stem

LONGEST = 14
"""Words of a request that refers to what was before; a longer one says itself what it asks."""
_WHY = re.compile(
    r"(?:and |but |und |aber |et |y |и |а )?(?:why|why so|why not|why is that|how so|how come|warum|wieso|weshalb|"
    r"pourquoi|por qué|perché|por que|porquê|waarom|varför|hvorfor|почему|зачем|为什么|为何|なぜ|どうして|왜|لماذا|क्यों)"
)
_REASON = "Why: "
_AGAIN = re.compile(
    r"(?:please )?(?:(?:try |ask |do it |once )?again|once more|retry|redo(?: it)?|nochmals?|noch einmal|encore(?: une "
    r"fois)?|otra vez|de nuevo|ancora|opnieuw|ещё раз|еще раз|再试一次|再来一次|もう一度|다시)(?: please)?"
)
_AND = re.compile(
    r"^[¿\s]*(?:(?:and|but|so|then|also|und|aber|dann|et|mais|alors|y|pero|e|ma|en|maar|и|а|но|那么|那|では|じゃあ)[\s,]+|"
    r"(?P<about>(?:and |but |und |et |y |и |а )?(?:what about|how about|(?:the )?same (?:question )?for|was ist mit|"
    r"wie (?:ist|sieht) es (?:aus )?mit|qu['’]en est-il (?:de|du|des)|et pour|qué (?:hay de|pasa con)|che ne dici di|"
    r"en wat met|что насчёт|что насчет|как насчёт|как насчет|a co z)\s+)|(?=\S+\s*(?:呢|は)[?？]))",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^(?:what|how|why|who|whose|which|when|where|is|are|was|were|does|do|did|can|could|should|would|will|has|have|may|"
    r"must|wer|was|wie|welche[rsnm]?|wann|wo|ist|sind|hat|kann|quel(?:le)?s?|qui|que|quoi|comment|combien|où|est|"
    r"qué|quién|cuál(?:es)?|cuánto|cómo|dónde|es|chi|che|quale|quanto|come|wie|wat|welke|hoe|кто|что|как|какой|какая|"
    r"какие|сколько|где|когда)\b",
    re.IGNORECASE,
)
_OF_THESE = re.compile(r"\bof (?:these|those|them|the (?:two|three|four|five|above))\b", re.IGNORECASE)
_ONE = re.compile(
    r"\b(?P<word>its|their|theirs|his|her)\b|"
    r"\b(?P<whole>it|they|them|he|she|these|those|this one|that one|"
    r"(?:this|that)(?=\s+(?:is|was|does|has|costs?|work|mean)\b|\s*[?.!]|\s*$))"
    r"(?!\s+(?:is|was) (?:that|to|better to)\b)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:es|sie|er|ihn|ihm|ihr|ihre|sein|seine|davon|dessen|deren|dies|dieser|dieses|diesen|diese|il|elle|ils|elles|"
    r"cela|ça|celui-ci|ceux-ci|ce|ello|ellos|estos|estas|eso|esos|questo|questi|loro|deze|dit|hij|zij|он|она|оно|они|"
    r"это|этот|эти|них|его|её)\b|它|这|那个|哪个|それ|これ|그것|هذا|هذه",
    re.IGNORECASE,
)
_PLACED = re.compile(
    r"^(?P<prep>in|of|for|on|with|without|per|from|since|by|under|at|until|before|after|für|mit|pro|avec)\s+",
    re.IGNORECASE,
)
_DETERMINED = re.compile(r"^(?:the|its|their|his|her|der|die|das|le|la|les|el|los|las|il|lo|de|het)\s+", re.IGNORECASE)
_LAST_OBJECT = re.compile(
    r"\b(?:in|of|for|on|with|about|is|are|by|from|do|does)\s+(?:the |a )?(?P<what>[\w-]+)[\s?.!]*$"
)
_SUPERLATIVE = re.compile(r"^(?:which|what|who)(?: one| ones)? .*\b(?:\w+est|most|least|best|worst)\b", re.IGNORECASE)
_THANKS = re.compile(
    r"(?:thanks?|thank you|thx|ok|okay|great|good|nice|danke|merci|gracias|grazie|спасибо|谢谢)(?: .{0,20})?"
)
_HEAD = re.compile(
    r"^(?:(?:what|which|who|how many|how much|list|show|name|compare|tell me|give me|find|describe|explain)\s+)+"
    r"(?:(?:are|is|were|was|do|does|did)\s+)?(?:(?:the|all|me|us|about)\s+)*",
    re.IGNORECASE,
)  # fmt: skip
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9.+#-]*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def followed(request: str, earlier: Sequence[Section]) -> str:
    """The request in words that can stand alone; as it is where it does so already, or nothing was before."""
    questions = _questions(earlier)
    text = " ".join(request.split())
    if not questions or not text or len(text.split()) > LONGEST:
        return request
    last, bare = questions[-1], text.strip(" ?!.¿？。！،؟").casefold()
    if _THANKS.fullmatch(bare):
        return request
    if _AGAIN.fullmatch(bare):
        return last
    if _WHY.fullmatch(bare):
        return f"{_REASON}{last}"
    began = _AND.match(text)
    rest = text[began.end() :].strip() if began else text
    if began and not _ASKS.match(rest):
        return _asked_of(rest.strip(" ?!.？"), questions)
    return _about(rest, questions, is_joined=bool(began))


def _questions(earlier: Sequence[Section]) -> list[str]:
    """What was asked before, each in words that can stand alone.

    What only wanted another shape asked nothing, and neither did what was only to be done with an answer.
    """
    resolved: list[str] = []
    for turn in earlier:
        asked = turn.attrs.get("request", "").strip()
        is_about_answer = bool(resolved) and bool(shape_of(asked) or (ordered(asked) and not _names(_inside(asked))))
        if asked and not is_about_answer:
            before = [Section("earlier", "", {"request": one}) for one in resolved[-1:]]
            resolved.append(followed(asked, before).removeprefix(_REASON))
    return resolved


def _asked_of(what: str, questions: Sequence[str]) -> str:
    """The last question, asked of something else: `and Dapr?`, `and per year?`; or something else of its subject."""
    last = questions[-1]
    if _CJK.search(what + last):
        subject = re.sub(r"(?:呢|は)$", "", what).strip()
        return _LATIN.sub(subject, last, count=1) if _LATIN.search(last) else f"{subject} {last}"
    if placed := _PLACED.match(what):
        same = re.compile(rf"\b{placed['prep']}\s+(?:the\s+|a\s+)?[\w.-]+(?:\s+[A-Z][\w.-]*)*", re.IGNORECASE)
        return same.sub(what, last, count=1) if same.search(last) else f"{last.rstrip(' ?.!')} {what}?"
    if own := _names(what):
        return _renamed(last, what) if _names(_inside(last)) else f"{last.rstrip(' ?.!')}: {' '.join(own)}"
    words = what.split()
    if place := re.search(rf"((?:[\w-]+\s+){{0,{len(words) - 1}}})\b({_of_stem(words[-1], last)})\b", last):
        return f"{last[: place.start()]}{what}{last[place.end() :]}"
    aspect = _DETERMINED.sub("", what)
    object_ = _LAST_OBJECT.search(last)
    if aspect == what and object_ and not _names(_inside(last)):
        return f"{last[: object_.start('what')]}{what}{last[object_.end('what') :]}"
    return f"{aspect[:1].upper()}{aspect[1:]} of {_subject(questions)}"


def _names(text: str) -> list[str]:
    """Proper names in a text that is no beginning of a sentence: its first word may be one."""
    return names(f"xx {text}")


def _inside(question: str) -> str:
    """A question without its first word, whose capital says nothing."""
    return question.partition(" ")[2]


def _of_stem(word: str, text: str) -> str:
    """The word of a text with the stem of another, for a pattern; one that matches nothing where there is none."""
    found = next((one for one in re.findall(r"[\w-]+", text) if stem(one) == stem(word)), None)
    return re.escape(found) if found else r"(?!)"


def _renamed(question: str, name: str) -> str:
    """The question with another name in place of its last one."""
    known = _names(_inside(question))
    joint = r"[\s-]+"
    pattern = rf"(?:{'|'.join(map(re.escape, known))})(?:{joint}(?:{'|'.join(map(re.escape, known))}))*"
    places = list(re.finditer(rf"(?<!\w){pattern}(?!\w)", question))
    if not places:
        return f"{question.rstrip(' ?.!')}: {name}"
    return f"{question[: places[-1].start()]}{name}{question[places[-1].end() :]}"


def _about(text: str, questions: Sequence[str], *, is_joined: bool) -> str:
    """The request with its subject in place of what stands for it."""
    own = _names(_inside(text))
    subject = _subject(questions)
    if not subject:
        return text
    if _OF_THESE.search(text):
        return _OF_THESE.sub(f"of {_set(questions)}", text)
    if not own and _SUPERLATIVE.search(text) and _is_short(text) and not _ONE.search(text) and " of " not in text:
        return f"{text.rstrip(' ?.!')} of {_set(questions)}?"
    match = _ONE.search(text)
    if match and not own:
        is_possessive = bool(match["word"])
        return f"{text[: match.start()]}{subject}{chr(39) + 's' if is_possessive else ''}{text[match.end() :]}"
    refers = is_joined or len(keywords(text)) < 2 or (bool(_ELSEWHERE.search(text)) and not text.isascii())
    if own or not (refers or _ELSEWHERE.search(text)) or not _is_short(text):
        return text
    if keywords(text).keys() >= keywords(subject).keys():
        return text
    return f"{text.rstrip(' ?.!？')} ({subject.replace(' and ', ', ')})?"


def _is_short(text: str) -> bool:
    return len(text.split()) <= 9


def _subject(questions: Sequence[str]) -> str:
    """What the last questions are about: the names of the newest that has any, else what the last one asks for."""
    for question in reversed(questions):
        if found := _names(_inside(question)) or (_LATIN.findall(question) if _CJK.search(question) else []):
            return _listed(list(dict.fromkeys(found)))
    return _topic(questions[-1])


def _set(questions: Sequence[str]) -> str:
    """What the last question speaks of, where it is several: its names, or what it asks for."""
    found = _names(_inside(questions[-1]))
    return _listed(found) if len(found) > 1 else f"the {_topic(questions[-1])}"


def _topic(question: str) -> str:
    bare = _DETERMINED.sub("", _HEAD.sub("", without_errand(question)).strip(" ?.!"))
    return " ".join(re.split(r"[?.!;:]\s", bare)[0].split()[:10])


def _listed(found: Sequence[str]) -> str:
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"
