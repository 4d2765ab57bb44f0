"""Follow-ups: what words mean that refer to what was said before, in the request or on the thread.

A request may ask on: of another subject ("what about Dapr?"), of the same one ("who makes it?", "which of these is the
newest?"), why, or again. It becomes a question that can stand alone, made of the questions before it and of the things
that their answers name (`mentions`); what else an answer says is no request. `and …?`, `why?` and `again` are known in
several languages; other pronouns than English ones get their subject behind them, in brackets.
"""

import re
from collections.abc import Sequence
from itertools import pairwise, zip_longest

from nodes.language.mentions import Mentions, mentions_in
from nodes.language.shapes import shape_of
from nodes.language.subjects import ASKS, PLACES, VERB, capital, joined, keywords, names, without_errand
from nodes.language.words import STOP_WORDS, stem
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
    r"wie (?:ist|sieht) es (?:aus )?mit|qu['’]en est-il (?:de|du|des)|et pour|qué (?:hay de|pasa con)|che ne dici di|"
    rf"en wat met|(?:что насч|как насч)[её]т|a co z)\s+|(?:no,? |sorry,? )*i (?:meant|mean)\s+|"
    rf"(?:only|just)\s+(?=(?:{PLACES})\s)|(?:{_JOINT})[\s,]+|(?=\S+\s*(?:呢|は)[?？]))",
    re.IGNORECASE,
)
_ASKS = re.compile(rf"^[¿\s]*(?:{ASKS})\b", re.IGNORECASE)
_BARE = re.compile(
    rf"(?:(?:{PLACES})\s+)?(?:{ASKS})(?:\s+(?:long|often|much|many|far|soon|late|early|not))?|"
    rf"(?:up )?(?:{PLACES})\s+(?:what|which)\s+[\w-]+",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"(?<=\w )(?:the (?P<count>two|three|four|five)|both)(?: (?P<what>[a-z]+s|ones))?(?=[?.!]*$)", re.IGNORECASE
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "both": 2}
_PLACES_IN = {"first": 0, "former": 0, "second": 1, "latter": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_NTH = re.compile(
    rf"\bthe (?P<place>{'|'.join(_PLACES_IN)})(?: (?P<count>two|three))?(?:(?<=er)\b| of (?:them|these|those)|"
    r" (?:ones?|options?|points?|items?|entry|entries|ways?|kinds?|types?)\b(?: of (?:them|these|those))?|"
    rf"(?=\s*(?:[?.!,]|['’]s\b|$)|\s(?:and|or|to|does|do|has|have|can|may|must|did|will|{ASKS})\b))",
    re.IGNORECASE,
)
"""A place in what was listed: `the second one`, `the last two`."""
_PLURAL = frozenset(["they", "them", "these", "those", "their", "theirs"])
_OF_THESE = re.compile(r"\bof (?:these|those|them|the (?:two|three|four|five|above))\b", re.IGNORECASE)
_ONE = re.compile(
    r"\b(?:(?P<whose>its|their|theirs|his|her)|it(?! \w+ (?:to|that|if)\b)|they|them|he|she|these|those|this one|"
    r"that one|(?<!which )(?<!no )(?<!each )(?<!every )(?<!or )(?<!the )one(?=\s*[?.!]|$)|"
    r"(?:this|that)(?=\s+(?:is|was|does|has|costs?|work|mean)\b|\s*[?.!]|\s*$))\b"
    r"(?!\s+(?:is|was) (?:that|to|better to)\b)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:es|sie|er|ihn?|ihm|ihre?|seine?|davon|de(?:ss|r)en|dies(?:e[rsnm]?)?|ils?|elles?|cela|ça|celui-ci|ceux-ci|ce|"
    r"ell[oa]s?|est[oa]s?|es[oa]s?|quest[oi]|loro|deze|dit|hij|zij|он[аои]?|это|этот|эти|них|его|её)\b|"
    r"它|这|那个|哪个|それ|これ|그것|هذا|هذه",
    re.IGNORECASE,
)
_PLACED = re.compile(rf"^({PLACES}|{'|'.join(errands.ABOUT)}|pro|avec)\s", re.IGNORECASE)
_DETERMINED = re.compile(r"^(?:the|an?|its|their|his|her|der|die|das|les?|la|el|l[ao]s|il|lo|de|het)\s+", re.IGNORECASE)
_LAST_OBJECT = re.compile(
    r"\b(?:(?:in|of|for|on|with|about|is|are|by|from|do|does)\s+(?:the |a )?(?P<what>[\w-]+)|"
    r"(?:has|have|had)\s+(?:the |an? )?(?P<owner>[\w-]+(?: [\w-]+)?))[\s?.!]*$"
)
_MOST = re.compile(r"\b(?:most|least|more|less|fewest|fewer)$", re.IGNORECASE)
_SUPERLATIVE = re.compile(r"(?:the )?(?:\w{2,}est|most|least|best|worst)\b(?P<what> [\w-]+)?", re.IGNORECASE)
_HAS = re.compile(r"^(?P<which>(?:which|what|who)\b.*?) (?:has|have|had) (?:the )?\w+(?:est)?\b", re.IGNORECASE)
_AMOUNTS = re.compile(r"\b(?:most|least|fewest)\b", re.IGNORECASE)
_NAMES_A_PART = re.compile(r"^(?:what|which)\b", re.IGNORECASE)
_AMOUNT_OF = re.compile(r"\bhow (?:much|many) (?P<what>[\w-]+)\b", re.IGNORECASE)
_WHAT_IS = re.compile(r"^(?:what|who) (?:is|are|was|were) (?!the\b|an?\b)[\w-]+[?.!]*$", re.IGNORECASE)
_THOSE = re.compile(r"^(?:(?:show|list|give me|and|but) )?(?:just |only )?(?:those|the ones)\b", re.IGNORECASE)
_IS = frozenset(["is", "are", "was", "were"])
_DOES = frozenset(["do", "does", "did", "can", "could", "will", "would", "should", "must", "may"])
_COMPARES = re.compile(
    r"^(?:which|what|who)(?: ones?)? (?:.*\b(?:\w+est|most|least|best|worst)\b|"
    r"(?:is|are|was|were|has|have|costs?) (?:the |much )?(?:\w{2,}er|more|less|worse)\b)",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"^(?:and )?(?:which|who)(?: one)? (?:is|are|was|has|have|costs?) (?:the )?(?:\w{2,}er|more|less)\b", re.IGNORECASE
)
_THESE = re.compile(
    r"^(?:which|what|how many|list|name|show|give me|find)\b(?: (?:are|is))?(?: all)?(?: of)?(?: (?:the|our|my|these))?"
    r" (?P<what>(?!ha[sd]\b|have\b)[\w-]+(?: [\w-]+)??)"
    rf"(?= (?:{PLACES}|and|that|have|has|had|{'|'.join(sorted(_IS | _DOES))})\b|[?.!,]|$)",
    re.IGNORECASE,
)
_PART_OF = re.compile(
    r"\b[Tt]he (?:(?:[a-z-]+ ){1,2}(?:of|to|for|at|from|in) (?:the )?[A-Z][\w-]*"
    r"(?:\s+(?:(?:of|de|von|van) (?:the )?)?[A-Z][\w-]*)*(?:(?: [a-z-]+){0,2}(?=[\s?.!]*$)|(?=\s+[a-z]))|"
    r"[A-Z][\w-]*(?: [A-Z][\w-]*)*(?: [a-z-]+){1,2}(?=[\s?.!]*$))"
)
"""`the harbour of Port Anselm`, `the Arden tower`."""
_SEVERAL_OF = re.compile(r"(?:the )?\w+[^s\W]s of (?:the )?(?P<what>.+)")
"""`the symptoms of …`, which no `it` stands for."""
_DO_THAT = re.compile(r"\bdo (?:that|this|it|so)\b", re.IGNORECASE)
_DEED = re.compile(r"\b(?:i|you|we|one|people) (?P<what>\w.+?)[\s?.!]*$", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:s?he|him|(?P<whose>his|her))\b", re.IGNORECASE)

_THANKS = re.compile(r"(?:thank(?:s| you)|thx|ok(?:ay)?|great|good|nice|danke|merci|gra[cz]ias?|спасибо|谢谢)\b.{0,20}")
_WHOEVER = frozenset(["i", "you", "we", "one", "people", "somebody", "anybody", "they"])
_AMOUNT = frozenset(["many", "much", "long", "often", "far", "old", "soon", "big"])
_PLACE = frozenset(PLACES.split("|"))
_LAST_THING = re.compile(rf"(?<= )(?:the|our|my|your) (?:(?!(?:{PLACES})\b)[\w-]+ ?){{1,3}}$", re.IGNORECASE)
_DONE = re.compile(
    r"\w{2,}ed|\w+(?:dd|tt|k|v|l)en|lit|made|built|held|kept|lost|found|sold|bought|sent|paid|written|shown|given|taken|set|put|cut|won|born|"
    r"done|told|taught|caught|brought|fed|led|laid|drawn|grown|known|worn|hung|run|open|chosen"
)
"""Words that are said of a thing behind `is` or `was`: participles in their forms."""
_OWN = frozenset(["the", "a", "an", "its", "their", "his", "her", "our", "my", "your"])
_DETERMINERS = frozenset(["the", "a", "an", "our", "my", "this"])
_SAYS = frozenset(["says", "reads", "states", "asks", "wants", "keeps", "needs", "leaks", "makes", "wrote", "came"])
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9.+#-]*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def followed(request: str, earlier: Sequence[str], answers: Sequence[str] = ()) -> str:
    """The request in words that can stand alone, given those before it; as it is where it does so already.

    `answers`: what was answered to each of `earlier`, as far as that is known.
    """
    asked: list[str] = []
    named: list[Mentions] = []
    for turn, answer in zip_longest(earlier, answers[: len(earlier)], fillvalue=""):
        said = turn.strip()
        rest = _AND.sub("", said).strip(" ?!.")
        is_about_answer = asked and (
            shape_of(said) or _BARE.fullmatch(rest) or (ordered(said) and not _names(_inside(said)))
        )
        if said and not is_about_answer:
            asked.append(_meant(said, asked[-3:], named).removeprefix(_REASON))
            named.append(mentions_in(answer, asked[-1]))
    return _meant(request, asked, named)


def standing_alone(text: str, questions: Sequence[str]) -> str:
    """The words with what they refer to in place of `it` and `its`, where they name nothing themselves."""
    last = questions[-1] if questions else ""
    if last.endswith(".") and not re.match(VERB, last, re.IGNORECASE):  # a statement: of what it speaks
        questions = [thing] if (thing := _thing_in(last)) else []
    if (that := _DO_THAT.search(text)) and (deed := _DEED.search(last)):
        return _put(deed["what"], text, that)
    asked = next((one for said in reversed(questions) if (one := without_errand(said)).lower().startswith("who ")), "")
    if (person := _PERSON.search(text)) and asked:
        who = f"the one who {_inside(asked).rstrip(' ?.!')}"
        return _put(f"that of {who}" if person["whose"] else who, text, person)
    match, subject = _ONE.search(text), _subject(questions)
    if match and match.group().lower() in ("it", "its") and (several := _SEVERAL_OF.fullmatch(subject)):
        subject = several["what"]
    if not match or not subject or _names(_inside(text[: match.start()])):
        return text
    return _put(_of(subject) if match["whose"] else subject, text, match)


def _of(subject: str) -> str:
    return f"{subject}'" if subject.endswith("s") else f"{subject}'s"


def _thing_in(statement: str) -> str:
    """The first thing that a statement names: `the form for parental leave` of “I cannot find the form for …”."""
    words = re.findall(r"[\w'’-]+", statement)
    first = next((n for n, word in enumerate(words) if word.lower() in _DETERMINERS), len(words))
    found: list[str] = []
    for word, then in pairwise([*words[first + 1 : first + 7], ""]):
        is_joint = bool(found) and word in ("of", "for") and then.lower() not in STOP_WORDS - {"the"}
        if not is_joint and (word.lower() in STOP_WORDS - {"the"} or _DONE.fullmatch(word) or word.lower() in _SAYS):
            break
        found.append(word)
    return f"the {' '.join(found)}" if found else ""


def _pointed(text: str, questions: Sequence[str], named: Sequence[Mentions]) -> str:
    """The text with the names of what the answers before named, where it points at those: `the last two`, `both`."""
    listed = next((one.things for one in reversed(named) if len(one.things) > 1), ())

    spoken = list(dict.fromkeys(name for one in questions[-3:] for name in _names(_inside(one))))

    def nth(found: re.Match[str]) -> str:
        place, count = _PLACES_IN[found["place"].lower()], _NUMBERS.get((found["count"] or "").lower(), 1)
        among = spoken if found["place"].lower() in ("former", "latter") and len(spoken) == 2 else listed
        things = among[-count:] if place < 0 else among[place : place + count]
        return joined(list(things)) if len(things) == count else found.group()

    text = _NTH.sub(nth, text)
    if not named:
        return text
    ones = list(dict.fromkeys(one.one for one in reversed(named) if one.one))[::-1]
    is_named = len(spoken) > 1
    if (several := _BOTH.search(text)) and not is_named:
        count = _NUMBERS[(several["count"] or "both").lower()]
        years = sorted({year for one in questions[-count:] for year in _YEAR.findall(one)})
        if several["what"] == "years" and len(years) == count:
            return f"{questions[-1].rstrip(' ?.!').replace(years[-1], joined(years))}?"
        things = next((list(one) for one in (ones[-count:], listed) if len(one) == count), [])
        return _put(joined(things), text, several) if things else text
    if _MORE.search(text) and not is_named and len(ones) > 1:
        return f"{text.rstrip(' ?.!')} of {joined(ones[-2:])}?"
    one = named[-1].one or (
        joined(list(named[-1].things)) if named[-1].are_computed and not _OF_THESE.search(text) else ""
    )
    is_one = bool(named[-1].one)
    found = _ONE.search(text)
    if one and found and (found.group().lower() in _PLURAL) is not is_one and not _names(_inside(text)):
        return _put(_of(one) if found["whose"] else one, text, found)
    return text


def _meant(request: str, questions: Sequence[str], named: Sequence[Mentions] = ()) -> str:
    text = " ".join(request.split())
    bare = text.strip(" ?!.¿？。！،؟").casefold()
    if not questions or not text or len(text.split()) > LONGEST or _THANKS.fullmatch(bare):
        return request
    text = _pointed(text, questions, named)
    if _AGAIN.fullmatch(bare):
        return questions[-1]
    if _WHY.fullmatch(bare):
        return f"{_REASON}{questions[-1]}"
    began = _AND.match(text)
    rest = text[began.end() :].strip() if began else text
    if _BARE.fullmatch(rest.strip(" ?!.")):  # for how long?
        return f"{questions[-1].rstrip(' ?.!')} {rest}"
    amounts = _AMOUNT_OF.search(rest), _AMOUNT_OF.search(questions[-1])
    if all(amounts) and len(rest.split()) == len(str(amounts[0] and amounts[0].group()).split()):  # and how much salt?
        return _AMOUNT_OF.sub(rest.rstrip(" ?.!"), questions[-1], count=1)
    if began and not _ASKS.match(rest):
        return _asked_of(rest.strip(" ?!.？"), questions)
    return _about(rest, questions, is_joined=bool(began))


def _asked_of(what: str, questions: Sequence[str]) -> str:
    """The last question, asked of something else: `and Dapr?`, `and per year?`; or something else of its subject."""
    last = questions[-1]
    bare = last.rstrip(" ?.!")
    if what.lower() in last.lower():  # it was asked of this and others
        return f"{capital(what)}?"
    if _OF_THESE.search(what):
        return f"Which is {_OF_THESE.sub(f'of {_several(questions)}', what)}?"
    most = _SUPERLATIVE.fullmatch(re.sub(r" ones?$", "", what))
    ranked = next((one for one in reversed(questions) if _SUPERLATIVE.search(one)), "")
    if most and (other := _SUPERLATIVE.search(ranked)):  # and the most sugar? and the oldest?
        is_of_kind = most.group().lower().endswith("est") and not _AMOUNTS.search(most.group())
        if is_of_kind and other["what"] and not most["what"] and (has := _HAS.match(ranked)):
            return f"{has['which']} is {most.group()}?"
        return _put(f"{most.group()}{'' if most['what'] else other['what'] or ''}", ranked, other)
    if _CJK.search(what + last):
        subject = re.sub(r"(?:呢|は)$", "", what).strip()
        return _LATIN.sub(subject, last, count=1) if _LATIN.search(last) else f"{subject} {last}"
    if placed := _PLACED.match(what):
        head = re.escape(what.rsplit(maxsplit=1)[-1])
        same = re.compile(
            rf"\b{placed[1]}\s+(?:the\s+|a\s+)?(?:(?:[\w.-]+\s+){{0,3}}{head}\b|[\w.-]+(?:\s+(?-i:[A-Z])[\w.-]*)*)",
            re.IGNORECASE,
        )
        return same.sub(what, last, count=1) if same.search(last) else f"{bare} {what}?"
    known = "|".join(map(re.escape, _names(_inside(last))))
    if own := _names(what):
        places = list(re.finditer(rf"(?<!\w)(?:{known})(?:[\s-]+(?:{known}))*(?!\w)", last)) if known else []
        return _put(what, last, places[-1]) if places else f"{bare}: {what if known else ' '.join(own)}"
    aspect, topic = _DETERMINED.sub("", what), _subject([last])
    is_of_whole = aspect != what and topic in last and _DETERMINED.match(topic) and not _AMOUNT_OF.search(last)
    acts = re.match(rf"^(?:what|which)\b.*\b(?:{'|'.join(sorted(_DOES))}) {re.escape(topic)} ", last, re.IGNORECASE)
    if is_of_whole and (acts or not _NAMES_A_PART.match(last)) and not _ONE.match(what):
        return last.replace(topic, what)
    if _ONE.match(what) and aspect != what:
        return f"{capital(aspect)} of {_owner(questions)}"
    *before, head = what.split()
    same_word = next((re.escape(one) for one in re.findall(r"[\w-]+", last) if stem(one) == stem(head)), "")
    if same_word and (place := re.search(rf"((?:[\w-]+\s+){{0,{len(before)}}})\b{same_word}\b", last)):
        return _put(what, last, place)
    object_ = _LAST_OBJECT.search(last)
    if aspect == what and object_ and not known:
        said = object_.lastgroup or "what"
        if said == "what" and _DONE.fullmatch(object_["what"]) and re.search(r"\b(?:is|are) \S+$", bare):
            return f"{capital(what)} {' '.join(bare.split()[-2:])}?"  # and cats? after “Which animals are forbidden?”
        return f"{last[: object_.start(said)]}{what}{last[object_.end(said) :]}"
    return f"{capital(aspect)} of {_owner(questions)}"


def _about(text: str, questions: Sequence[str], *, is_joined: bool) -> str:
    """The request with its subject in place of what stands for it, or behind it."""
    subject, is_short = _subject(questions), len(text.split()) <= SHORT
    if not subject:
        return standing_alone(text, questions)
    if _MOST.search(text.rstrip(" ?.!")) and (amount := _AMOUNT_OF.search(questions[-1])):
        text = f"{text.rstrip(' ?.!')} {amount['what']}?"
    if _OF_THESE.search(text):
        return _OF_THESE.sub(f"of {_several(questions)}", text)
    if those := _THOSE.match(text):
        return f"{capital(_several(questions))}{text[those.end() :]}"
    own, refers = _names(_inside(text)), _ONE.search(text)
    if not own and is_short and _BOTH.search(text):
        return _BOTH.sub(_several(questions), text)
    if not own and not refers and is_short and _COMPARES.search(text) and " of " not in text:
        return f"{text.rstrip(' ?.!')} of {_several(questions, named=True)}?"
    if (whole := standing_alone(text, questions)) != text:
        return whole
    is_open = is_joined or bool(_ELSEWHERE.search(text)) or (len(keywords(text)) < 2 and not _WHAT_IS.match(text))
    if own or not is_open or not is_short or keywords(text).keys() >= keywords(subject).keys():
        return text
    return f"{text.rstrip(' ?.!？')} ({subject.replace(' and ', ', ')})?"


def _several(questions: Sequence[str], *, named: bool = False) -> str:
    """What `of these` are: the names of the last question, the things it asks for, else the names of the last ones."""
    last = next((one for one in reversed(questions) if not one.lower().startswith("compare ")), questions[-1])
    own, these = _names(_inside(last)), _THESE.match(last)
    before = list(dict.fromkeys(name for one in questions[-3:] for name in _names(_inside(one))))
    listed = own if len(own) > 1 else before if named or not these else []
    if named and len(listed) < 2 and not these:
        listed = list(dict.fromkeys(topic for one in questions[-2:] if _DETERMINED.match(topic := _subject([one]))))
    of_them = re.search(r"\bof (?:the |our |my )?(?P<what>[\w-]+)[\s?.!]*$", last)
    things = _noun(found["what"]) if (found := these or of_them) else _DETERMINED.sub("", _topic(last))
    if len(listed) > 1:
        return joined(listed)
    rest = last[these.start("what") + len(_noun(these["what"])) :].strip(" ?.!") if these else ""
    if not 0 < len(rest.split()) <= LONGEST // 2 or rest.lower().startswith(("and ", "are ", "is ", "with the", "by ")):
        return f"the {things}"
    return (
        f"the {things} {rest}"
        if re.match(rf"(?:{PLACES}|that)\b", rest, re.IGNORECASE)
        else f"the {things} that {rest}"
    )


def _noun(what: str) -> str:
    """`trails` of “which trails start”, which is no `trails start`."""
    first, _, then = what.partition(" ")
    return first if re.search(r"[^s]s$", first) and then and not then.endswith("s") else what


def _owner(questions: Sequence[str]) -> str:
    """What has the thing that is asked for besides: `the pump` after “What is the warranty on the pump?”."""
    return re.sub(r"^.*?\s(?:on|of|for|in)\s+", "", _subject(questions))


def _names(text: str) -> list[str]:
    """Proper names in a text that is no beginning of a sentence; words that follow each other are one name."""
    single = "|".join(map(re.escape, names(f"xx {text}")))
    whole = rf"(?<!\w)(?:{single})(?:\s+(?:(?:of|de|du|von|van)\s+(?:the\s+)?)?(?:{single}))*(?!\w)"
    return list(dict.fromkeys(match.group() for match in re.finditer(whole, text))) if single else []


def _inside(question: str) -> str:
    """A question without its first word, whose capital says nothing."""
    return question.partition(" ")[2]


def _put(what: str, text: str, place: re.Match[str]) -> str:
    return f"{text[: place.start()]}{what}{text[place.end() :]}"


def _subject(questions: Sequence[str]) -> str:
    """What the last questions are about: the names of the newest that has any, else what the last one asks for."""
    for question in reversed(questions):
        if part := _PART_OF.search(question):
            ends_in_verb = _DOES & set(question.lower().split())  # does the bus to Velden stop
            return re.sub(r"(?: [a-z-]+)+$", "", part.group()) if ends_in_verb else part.group()
        if found := _names(_inside(question)) or (_LATIN.findall(question) if _CJK.search(question) else []):
            return joined(list(dict.fromkeys(found)))
    return _topic(questions[-1]) if questions else ""


def _topic(question: str) -> str:
    """The thing that a question without names is about: `the lighthouse` of “When was the lighthouse lit?”.

    Where the verb stands tells how far the thing goes: before it, or behind it in “who wrote the manual”.
    """
    words = re.split(r"[.!?;:](?:\s|$)", without_errand(question))[0].split() or [""]
    said = [word.lower() for word in words]
    asks = said[0] if re.fullmatch(ASKS, said[0]) else ""
    helps = next((n for n, word in enumerate(said[:6]) if word in _IS | _DOES), -1)
    is_verb_first = asks == "who" or (asks == "what" and not _DETERMINED.match(" ".join(words[1:])))
    if not asks:
        return " ".join(words[:10])
    if helps < 0 and is_verb_first:
        return " ".join(words[2:12])
    has = next((n for n, word in enumerate(said[:6]) if word in ("has", "have", "had")), -1)
    if asks == "how" and said[1:2] and said[1] in _AMOUNT and 0 < has < len(words) - 1 and helps < 0:
        return " ".join(words[has + 1 :])  # how much caffeine has tea
    rest = words[helps + 1 :] if helps >= 0 else words[2 if said[1:2] and said[1] in _AMOUNT else 1 :]
    if asks == "how" and said[1:2] and said[1] in _AMOUNT and (at := _LAST_THING.search(" ".join(words))):
        return at.group()
    if (
        helps > 1
        and asks in ("how", "when", "where", "why")
        and not (said[1] in _AMOUNT or _DETERMINED.match(" ".join(rest)))
    ):
        return " ".join(words[1:helps])  # how bees are fed
    if helps > 1 and said[helps] in _IS and asks in ("what", "which") and not _DETERMINED.match(" ".join(rest)):
        return " ".join(words[1:helps] if said[-1] == "there" else [*words[1:helps], *rest[:8]])
    if helps >= 0 and said[helps] in _IS and asks in ("what", "which", "who"):
        return " ".join(rest[:10])
    if asks in ("what", "which") and helps < 0 and rest and (noun := _noun(" ".join(rest[:2]))) == rest[0]:
        return noun
    is_of_whoever = bool(rest) and rest[0].lower() in _WHOEVER
    rest = rest[2:] if is_of_whoever else rest
    thing = rest[: next((n for n, word in enumerate(rest) if n and word.lower() in _PLACE | _OWN), len(rest))]
    ends_in_verb = not is_of_whoever and (
        helps < 0 or said[helps] in _DOES or _DONE.fullmatch(thing[-1] if thing else "")
    )
    is_long = len(_DETERMINED.sub("", " ".join(thing)).split()) > 1
    ends_in_verb = ends_in_verb or (
        helps == 0 and said[0] in _IS and _DETERMINED.match(" ".join(thing))
    )  # is a dog fed
    return re.sub(r" be(?:en)?$", "", " ".join(thing[:-1] if ends_in_verb and is_long else thing))
