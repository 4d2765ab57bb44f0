"""Whether a text does what was asked, as far as that can be told without a model: parts, length, inputs used.

Each check says nothing where it cannot tell, and its words are feedback to whoever wrote the text. A part counts as
left out only beside one that is there: who says `Paris` need not repeat the question.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from nodes.policy import errands
from nodes.policy.request_shape import shape_of
from state.citation import labels_in, without_labels

_ITEM = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)]|[a-z][.)])[ \t]+(\S.*)$", re.MULTILINE)
_QUESTION = re.compile(r"[^.!?\n]*\?")
_BESIDE = re.compile(
    r"\s*(?:[,;/&]|vs\.?|(?:,\s*)?(?:and|or|versus|und|oder|et|ou|y|o|e)\b)\s*(?:the\b\s*)?", re.IGNORECASE
)
"""What stands between two things that are asked about alike: `A, B and C`, `A versus B`."""
_NO_SUBJECT = frozenset(
    {"what", "which", "who", "when", "where", "why", "how"}
    | {"findings", "results", "inputs", "tasks", "answer", "answers", "sources"}
)
"""What stands beside a subject and is none: a word that asks, or that speaks of the work itself."""
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
TELLING = 4
"""Letters from which on a word may stand for what it is about, and to which it is cut: `price` is in `pricing`."""
LONG, LONG_CUT = 7, 6
"""Words of more letters are cut to that many."""
WORDS_OF_A_QUESTION = 2
"""Words of its own that a question needs before it can be told that a text does not speak of it."""
WORDS_OF_AN_INPUT = 6
"""The same of a result that another task builds on."""
MOST_NAMED = 3


def parts_left_out(request: str, text: str) -> list[str]:
    """The parts of a request that a text does not speak of, while it speaks of another one; in the request's words."""
    parts = parts_of(request)
    found = _said(text)
    own = _own_words([part for part, _ in parts])
    told = [(part, words, needed) for (part, needed), words in zip(parts, own, strict=True) if len(words) >= needed]
    left = [part for part, words, _ in told if not words & found]
    return left if 0 < len(left) < len(told) else []


def parts_of(request: str) -> list[tuple[str, int]]:
    """What a request asks for one by one, and how many words of its own each part needs to be looked for.

    Items of a list, else questions, else what stands side by side as its subject; empty where it is one thing.
    """
    items = [(item.strip(), WORDS_OF_A_QUESTION) for item in _ITEM.findall(request)]
    if len(items) > 1:
        return items
    questions = [(asked.strip(), WORDS_OF_A_QUESTION) for asked in _QUESTION.findall(request) if len(asked) > TELLING]
    if len(questions) > 1:
        return questions
    return [(name, 1) for name in _side_by_side(request)]


def _side_by_side(request: str) -> list[str]:
    found: list[str] = []
    places: list[tuple[int, int]] = []
    at = 0
    for slot in shape_of(request).slots:
        begin = request.find(slot, at)
        if begin >= 0:
            at = begin + len(slot)
            places.append((begin, at))
    for (begin, end), (following, last) in pairwise(places):
        if _BESIDE.fullmatch(request[end:following]):
            found += [request[begin:end], request[following:last]]
    return [part for part in dict.fromkeys(found) if part.lower() not in _NO_SUBJECT]


def _own_words(parts: Sequence[str]) -> list[set[str]]:
    """For each part the words that no other has."""
    words = [_stems(part) for part in parts]
    return [one.difference(*(other for k, other in enumerate(words) if k != n)) for n, one in enumerate(words)]


def says_all_of(text: str, asked: str) -> bool:
    """Whether a text has every telling word of another."""
    return _stems(asked) <= _said(text)


def inputs_unused(text: str, inputs: Mapping[str, str], known: str) -> list[str]:
    """Ids of the inputs of which nothing is in a text: no label, no figure and no word that only they had.

    `inputs`: results by task id. `known`: what was said to everybody, the request and the task. An input that says too
    little to be recognised counts as used.
    """
    labels, found, given = set(labels_in(text)), _said(text), _said(known)
    unused = []
    for task_id, result in inputs.items():
        words = _stems(without_labels(result)) - given
        if len(words) >= WORDS_OF_AN_INPUT and not words & found and not labels & set(labels_in(result)):
            unused.append(task_id)
    return unused


_COUNTS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "ein": 1, "einem": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "zehn": 10,
}  # fmt: skip
_LENGTH = re.compile(
    r"(?P<how>(?:at|not?)\s+(?:most|more\s+than)|no\s+more\s+than|up\s+to|under|below|less\s+than|fewer\s+than|max(?:imum)?"
    r"|within|höchstens|maximal|at\s+least|no\s+less\s+than|mindestens|in|about|around|exactly|ungefähr|etwa)\s+(?:of\s+)?"
    rf"(?P<count>\d{{1,5}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})(?:\s+or\s+(?:less|fewer))?[ -]"
    r"(?:short\s+|kurzen\s+)?(?P<unit>words?|sentences?|bullet\s*points?|bullets|paragraphs?|wörtern?|worten|sätzen?|stichpunkten?)\b",
    re.IGNORECASE,
)
_LEAST = ("at least", "no less", "mindestens")
_ROUGH = ("about", "around", "ungefähr", "etwa")
SLACK = 1.1
"""A text may be a tenth longer than it should: counting words is no science."""
ROUGHLY = 1.3


_BRIEF = re.compile(r"\bbriefly\b|\bin (?:short|brief|a nutshell)\b|\b(?:short|brief) answer\b", re.IGNORECASE)


def is_length_said(asked: str) -> bool:
    """Whether a request says how long the text is to be: what it leaves out is then left out on purpose."""
    return bool(_LENGTH.search(asked) or _BRIEF.search(asked))


def length_fault(asked: str, text: str) -> str:
    """What is wrong with the length of a text, where `asked` says how long it is to be; empty otherwise."""
    for wanted in _LENGTH.finditer(asked):
        how = " ".join(wanted["how"].lower().split())
        count = int(wanted["count"]) if wanted["count"].isdigit() else _COUNTS[wanted["count"].lower()]
        unit, has = _counted(wanted["unit"].lower(), text)
        slack = ROUGHLY if how.startswith(_ROUGH) else SLACK if unit == "words" else 1.0
        if not how.startswith(_LEAST) and has > count * slack:
            return f"It has {has} {unit}, and was to have {wanted[0].strip()}; make it shorter."
        if how.startswith((*_LEAST, *_ROUGH)) and has < count / slack:
            return f"It has {has} {unit}, and was to have {wanted[0].strip()}; say more."
    return ""


def _counted(unit: str, text: str) -> tuple[str, int]:
    plain = without_labels(text).strip()
    if unit.startswith(("word", "wört", "wort")):
        return "words", len(re.findall(r"\w+(?:['’-]\w+)*", plain))
    if unit.startswith(("sentence", "sätz", "satz")):
        return "sentences", len(re.findall(r"[^.!?\n]*\w[^.!?\n]*(?:[.!?]+(?=\s|$)|\n|$)", _DECIMAL.sub("0", plain)))
    if unit.startswith(("bullet", "stichpunkt")):
        return "bullet points", len(_ITEM.findall(plain))
    return "paragraphs", len([block for block in re.split(r"\n\s*\n", plain) if block.strip()])


_DECIMAL = re.compile(r"\d[.,]\d|\b(?:e\.g|i\.e|z\.B|etc|vs|Mr|Mrs|Dr|St|No)\.", re.IGNORECASE)


def _stems(text: str) -> set[str]:
    """Telling words as they are looked for: cut short, so that their endings do not count."""
    return {
        word if is_whole else word[: LONG_CUT if len(word) > LONG else TELLING] for word, is_whole in _telling(text)
    }


def _said(text: str) -> set[str]:
    """Telling words as they are found: cut in both ways, and whole where they are short."""
    return {part for word, _ in _telling(text) for part in (word, word[:TELLING], word[:LONG_CUT])}


def _telling(text: str) -> Iterator[tuple[str, bool]]:
    """Words that say what a text is about, in small letters without accents, and whether each stands as a whole.

    Numbers, what is written in capitals, and pairs of characters of scripts without spaces do.
    """
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        plain = "".join(c for c in unicodedata.normalize("NFD", word.casefold()) if not unicodedata.combining(c))
        if _UNSPACED.match(word):
            yield from ((word[n : n + 2], True) for n in range(max(1, len(word) - 1)))
        elif word[0].isdigit() or (word.isupper() and len(word) > 1):
            yield plain, True
        elif len(plain) >= TELLING and plain not in errands.SMALL and plain not in errands.MANNER:
            yield plain, False
