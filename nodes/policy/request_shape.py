"""The shape of a request: what is to be done with what sort of thing, its subject factored out (chapter 15.7).

`Analyze the AI Agent market` and `Do a market analysis for RPA` have one shape: analyze, market, and a subject each.
`Delete the AI Agent market analysis` has another, whatever words it shares.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from nodes.policy import errands

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(
    rf"[^\W\d_][\w-]*\.[a-z]{{2,4}}(?!\w)|\d+(?:[.,:]\d+)*|[{_CJK}]+|[^\W\d_{_CJK}](?:[^\W_{_CJK}]|[+#])*|[.!?;,:\n]"
)
_ENDS = frozenset(".!?;,:\n")
_OF = frozenset({"of", "des", "der", "von", "de", "du", "del", "di"})
_ABOUT = _OF | errands.ABOUT
_OBJECT = frozenset("をのが")
"""After a word of Japanese that names a deed: it is what something is done with."""
_AND = frozenset({"and", "then", "und", "et", "y", "e"})
_TO = frozenset({"to", "zu", "please", "bitte"})
OTHER_KIND = 0.7
"""Most that requests about different sorts of things can be alike."""
BARE = 0.95
"""How alike requests are of which only the verb says what is to be done: `Compare A and B`, `Compare C and D`."""
LONG_BARE, LONG_BARE_WORDS = 0.8, 6
"""The same where they have more words than that which nobody knows: one verb says little about them."""
EACH_PART = 0.97
"""For each part that the subject of one has and the other's has not."""
NAMELESS = 0.9
"""Where only one of them has a subject at all."""


@dataclass(frozen=True)
class RequestShape:
    """What a request asks for, and its subject."""

    acts: frozenset[str]
    """What is to be done, in one word each; of a question, how it asks."""
    kinds: frozenset[str]
    """With what sort of thing."""
    slots: tuple[str, ...]
    """The subject: each part as it is written, in order."""
    is_denied: bool
    """Whether something in it is not to be done."""

    @property
    def asks(self) -> str:
        """What is to be done, in one line: only requests with the same are alike at all."""
        return " ".join(["not"] * self.is_denied + sorted(self.acts)) or "-"

    @property
    def subject_words(self) -> int:
        """Words of the subject."""
        return sum(len(slot.split()) for slot in self.slots)


def similarity(one: RequestShape, other: RequestShape) -> float:
    """How much alike is what they ask for, 0 to 1, whatever about; 0 where something else is to be done."""
    if one.acts != other.acts or one.is_denied != other.is_denied:
        return 0.0
    found = _of_kinds(one.kinds, other.kinds)
    if not one.kinds and not other.kinds:
        longest = max(one.subject_words, other.subject_words)
        found = 1.0 if one.slots == other.slots else BARE if longest <= LONG_BARE_WORDS else LONG_BARE
    if bool(one.slots) != bool(other.slots):
        return found * NAMELESS
    return found * EACH_PART ** abs(len(one.slots) - len(other.slots))


def _of_kinds(one: frozenset[str], other: frozenset[str]) -> float:
    if one == other:
        return 1.0
    return OTHER_KIND * len(one & other) / len(one | other)


@lru_cache(maxsize=4_096)
def shape_of(request: str) -> RequestShape:
    """The shape of a request, in any language of `nodes.policy.errands`."""
    text = unicodedata.normalize("NFC", request)
    for said, meant in errands.PHRASES.items():
        text = re.sub(said, meant, text, flags=re.IGNORECASE)
    return _Reader(list(_tokens(text)), text).read()


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.text.casefold()


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(text):
        if re.match(f"[{_CJK}]", found.group()):
            yield from _unspaced(found.group(), found.start())
        else:
            yield _Token(found.group(), found.start(), found.end())


def _unspaced(text: str, start: int) -> Iterator[_Token]:
    """The known words of a text without spaces, and what stands between them."""
    known, at, begun = _cjk_words(), 0, 0
    while at < len(text):
        word = next((word for word in known if text.startswith(word, at)), "")
        if not word:
            at += 1
            continue
        if begun < at:
            yield _Token(text[begun:at], start + begun, start + at)
        yield _Token(word, start + at, start + at + len(word))
        at = begun = at + len(word)
    if begun < at:
        yield _Token(text[begun:at], start + begun, start + at)


_ACTS, _NOUNS, _KINDS, _ASKS = map(errands.meanings, (errands.ACTS, errands.NOUNS, errands.KINDS, errands.ASKS))
_DENIALS, _LIGHT, _SMALL, _MANNER = errands.DENIALS, errands.LIGHT, errands.SMALL, errands.MANNER


@lru_cache(maxsize=1)
def _cjk_words() -> list[str]:
    """Longest first."""
    known = {*_ACTS, *_NOUNS, *_KINDS, *_ASKS, *_DENIALS, *_SMALL}
    return sorted((word for word in known if re.match(f"[{_CJK}]", word)), key=len, reverse=True)


def _act(word: str) -> str:
    """What a verb comes to, in any of its English forms; empty for any other word."""
    stems = [word, word.removesuffix("s"), word.removesuffix("es")]
    for ending in ("ing", "ed"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            stems += [stem, stem + "e", stem[:-1] if stem[-1:] == stem[-2:-1] else stem]
    return next((_ACTS[stem] for stem in stems if stem in _ACTS), "")


@dataclass
class _Reader:
    """Reads a request from its first word to its last."""

    tokens: list[_Token]
    text: str
    acts: set[str] = field(default_factory=set)
    nouns: list[str] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    runs: list[list[_Token]] = field(default_factory=list)
    is_denied: bool = False
    is_light: bool = False
    """Whether a verb was read that says nothing."""
    is_about: bool = False
    """Whether what comes now is only what it is about: `a report about the market` asks for a report."""
    is_open: bool = True
    """Whether the verb of the clause is still to come."""

    def read(self) -> RequestShape:
        """The shape."""
        at = 0
        while at < len(self.tokens):
            at += self._take(at)
        acts, kinds = set(self.acts), set(self.kinds)
        if not acts and self.nouns:
            acts.add(self.nouns.pop(0))
        if not acts and self.is_light:
            acts.add("write" if kinds & errands.DOCUMENTS else "build")
        slots = [self.text[run[0].start : run[-1].end] for run in self.runs if run]
        return RequestShape(frozenset(acts), frozenset({*kinds, *self.nouns}), tuple(slots), self.is_denied)

    def _take(self, at: int) -> int:
        """Read the token there; how many were read."""
        token = self.tokens[at]
        word = token.word
        if word in _ENDS:
            self._cut()
            self.is_about = False
            self.is_open = self.is_open or not self.acts
        elif word in _DENIALS and self.text[token.end : token.end + 1] != "-":
            self.is_denied = True
            self._cut()
        elif word in _ASKS and (self._is_first() or _ASKS[word] in ("how", "why", "whether")):
            self._cut()
            return self._ask(at)
        elif self._is_verb(at):
            self._verb(at)
        elif word in _NOUNS:
            self._cut()
            self.nouns.append(_NOUNS[word])
        elif word in _KINDS and not self._is_topic(at):
            self._cut()
            self.kinds.add(_KINDS[word])
        elif (word in _SMALL or word in _MANNER) and not self._is_month(at):
            self._cut()
            self.is_about = self.is_about or (word in _ABOUT and bool(self.kinds))
        elif self._next(at) in _OF and word.islower() and token.text.islower() and not self.text[token.start].isdigit():
            self._cut()
            self.kinds.add(_KINDS.get(word, _singular(word)))
        else:
            self._subject(token)
        return 1

    def _ask(self, at: int) -> int:
        """A question: how it asks, and what it asks for where that follows at once."""
        asked, taken = _ASKS[self.tokens[at].word], 1
        following = self._next(at)
        if asked in ("how", "who") and following and following not in errands.BE | _SMALL | _ENDS and self._is_first():
            asked, taken = f"{asked} {following}", 2
        if asked in ("which", "what") and following in _KINDS and (verb := self._next(at + 1)) not in _SMALL | _ENDS:
            self.kinds.add(_KINDS[following])
            asked, taken = f"{asked} {_act(verb) or _singular(verb)}", 3
        self.acts.add(f"{asked}?")
        self.is_open = False
        return min(taken, len(self.tokens) - at)

    def _verb(self, at: int) -> None:
        word = self.tokens[at].word
        self._cut()
        is_light = word in _LIGHT and self._has_noun(at)
        if is_light or (word in _LIGHT and not _act(word)):
            self.is_light = True
            return
        act = _act(word) or _singular(word)
        if act == "build" and self._makes_document(at):
            act = "write"
        self.acts.add(act)
        self.is_open = False

    def _is_verb(self, at: int) -> bool:
        """Whether the word there says what is to be done: it opens a clause, or stands after `to`."""
        token = self.tokens[at]
        word, following = token.word, self._next(at)
        if re.match(f"[{_CJK}]", word):
            return word in _ACTS and not self.acts and following not in _OBJECT
        if word in _SMALL and word not in _LIGHT:
            return False
        if not self.is_open:
            before = self.tokens[at - 1].word if at else ""
            return before in _AND | {",", ";", "."} and bool(_act(word)) and following in _SMALL | _DENIALS
        if word in _LIGHT:
            return True
        if self.is_light and (at == 0 or self.tokens[at - 1].word not in _TO):
            return False
        if _act(word) and word not in _NOUNS:
            return not self.runs or not self.runs[-1] or self._is_last_chance(at)
        if _act(word):
            return self._is_first() and following in _SMALL | _MANNER
        if not self._is_first() or word in _NOUNS or word.isdigit():
            return False
        if following in _SMALL and following not in _OF and following not in _AND:
            return True
        rest = self.tokens[at + 1 :]
        says_it = any(other.word in _NOUNS or (_act(other.word) and not other.text.istitle()) for other in rest)
        return word not in _KINDS and not says_it

    def _is_last_chance(self, at: int) -> bool:
        return not self.acts and not any(other.word in _NOUNS for other in self.tokens[at + 1 :])

    def _is_first(self) -> bool:
        """Whether nothing that counts stands before it."""
        return not self.acts and not self.kinds and not self.nouns and not any(self.runs) and not self.is_light

    def _is_topic(self, at: int) -> bool:
        """Whether a sort of thing is only what is spoken of, or part of a word: `report generator`."""
        token, following = self.tokens[at], self._next(at)
        known = _SMALL | _MANNER | _ENDS | _DENIALS | _NOUNS.keys() | _KINDS.keys() | _ABOUT
        is_part = _KINDS[token.word] in errands.DOCUMENTS and following.isalpha() and following not in known
        return self.is_about or (is_part and self.tokens[at + 1].text.islower())

    def _is_month(self, at: int) -> bool:
        """Whether `May` stands there, and not the verb: `the notes of May`, `in May 2025`."""
        return self.tokens[at].text == "May" and at > 0 and self.tokens[at - 1].word in _SMALL

    def _has_noun(self, at: int) -> bool:
        """Whether the clause has a noun that says what is to be done."""
        for other in self.tokens[at + 1 :]:
            if other.word in _ENDS:
                return False
            if other.word in _NOUNS:
                return True
        return False

    def _makes_document(self, at: int) -> bool:
        for other in self.tokens[at + 1 :]:
            if other.word in _ENDS or other.word in _OF | {"about", "on", "for"}:
                return False
            if _KINDS.get(other.word) in errands.DOCUMENTS:
                return True
        return False

    def _next(self, at: int) -> str:
        return self.tokens[at + 1].word if at + 1 < len(self.tokens) else ""

    def _subject(self, token: _Token) -> None:
        if not self.runs:
            self.runs.append([])
        run = self.runs[-1]
        between = self.text[run[-1].end : token.start] if run else ""
        if run and between.strip(" \t-–'’&/%"):
            self.runs.append([])
        self.runs[-1].append(token)

    def _cut(self) -> None:
        if self.runs and self.runs[-1]:
            self.runs.append([])


def _singular(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word
