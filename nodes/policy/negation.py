"""Negations: does a statement deny what its source says, or say what its source denies."""

import re

from state.quotation import says_no

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SOFT = re.compile(
    r"\b(?:fail|lack|un\w|in\w{4,}|im\w{4,}|refus|avoid|prevent|miss|only|few|rare|stop|seldom|forbid|reject|den[iy]|exclud|"
    r"too|instead|rather|but|except|unless|kaum|fehl|nur)",
    re.IGNORECASE,
)
_COMMON = frozenset(
    "the and for with that this from are was were has have had its per than then will does did can may "  # noqa: SIM905
    "der die das und ist mit von".split()
)
ALIKE = 0.75
"""From this share of its words found in one sentence of the source on, a statement is taken to repeat that sentence."""
NEAR = 2
"""Words between a negation and what it denies."""


def is_turned(said: str, there: str) -> bool:
    """Whether `said` repeats the sentence `there`, but one of the two denies it and the other does not."""
    ours, theirs = _WORD.findall(said), _WORD.findall(there)
    mine, its = {_stem(word) for word in ours if _counts(word)}, {_stem(word) for word in theirs if _counts(word)}
    if len(mine) < 2 or len(mine & its) < ALIKE * len(mine):
        return False
    if says_no(said) == says_no(there):
        return False
    denying, other = (theirs, said) if says_no(there) else (ours, there)
    if denying is ours and _SOFT.search(other):
        return False
    shared = mine & its
    for at, word in enumerate(denying):
        if says_no(word) and any(_stem(near) in shared for near in denying[at + 1 : at + 1 + NEAR]):
            return True
    return False


def _counts(word: str) -> bool:
    return len(word) > 2 and word.lower() not in _COMMON and not says_no(word)


def _stem(word: str) -> str:
    return word.lower().rstrip("s")[:6]
