"""Strategy: lines of the sources that name strengths, weaknesses, opportunities, threats, and what suits whom.

It weighs nothing: it looks for lines that name what they are, and shows up to four a kind with their labels.
"""

import re

from nodes.language.subjects import keywords, names, title_of
from nodes.language.words import stems
from nodes.llm.offline.answering import passages_in
from nodes.llm.offline.conversation import Call, Conversation, Reply, concluded
from nodes.llm.offline.reshaping import points_of
from state.citation import line_of

SHORTEST, LONGEST = 30, 400
"""Characters of a line."""
SWOT = {
    "Strengths": "strength advantage benefit",
    "Weaknesses": "weakness drawback disadvantage",
    "Opportunities": "opportunity forecast demand",
    "Threats": "threat risk danger",
}
"""The words that are searched for; a line has to name its kind by one of them."""
SUITS = {"What suits whom": "suits suited fits recommend"}
_MARK = re.compile(r"^\s*(?:[-*•>]|\d+[.)])\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"“])")


def strategise(talk: Conversation) -> Reply:
    """Search for each kind, then show what names itself so; what an input says already only where it does so first."""
    kinds = {**SWOT, **SUITS} if re.search(r"\bswot\b", f"{talk.task} {talk.request}", re.IGNORECASE) else SUITS
    subject = " ".join(list(keywords(talk.request).values())[:6])
    calls = [Call("search", {"query": f"{words} {subject}", "limit": 12}) for words in kinds.values()]
    if "search" in talk.tools and (left := [call for call in calls if not talk.answer_to(call)]):
        return left
    lines, about, given = _lines(talk), set(stems(subject)), "\n".join(talk.inputs)
    parts, empty = [f"## {title_of(talk.task)}"], []
    for kind, words in kinds.items():
        named = set(stems(words))
        fitting = [line for line in lines if named & set(stems(line))]
        if kind in SUITS:  # what suits whom says what
            fitting = [line for line in fitting if names(line)] or fitting
        first = [line for line in fitting if named & set(stems(line)[:6])]
        fresh = [line for line in fitting if line in first or line not in given]
        best = sorted(fresh, key=lambda line: (line not in first, -len(about & set(stems(line)))))[:4]
        if best:
            parts.append(f"### {kind}\n\n" + "\n".join(f'- "{line}" {lines.pop(line)}' for line in best))
        else:
            empty.append(kind.lower())
    if empty:
        parts.append(f"I found no line that speaks of {', '.join(empty)}.")
    return concluded(talk, "\n\n".join(parts), 0.7 if len(parts) > 2 else 0.4)


def _lines(talk: Conversation) -> dict[str, str]:
    """Sentences in what was found and in the inputs' quotations, with the label of the narrowest place that is sure."""
    shown = [done.text for done in talk.results("search")]
    shown += [f"{one.labels} {one.text}" for said in talk.inputs for one in points_of(said) if one.is_quoted]
    found: dict[str, str] = {}
    for passage in (passage for text in shown for passage in passages_in(text) if passage.place[0] != "r"):
        for number, line in enumerate(passage.text.split("\n")):
            label = f"[{passage.file}#{line_of(passage.place, passage.text, number)}]"
            for sentence in _SENTENCE.split(_MARK.sub("", line)):
                if SHORTEST <= len(sentence) <= LONGEST and '"' not in sentence:
                    found.setdefault(sentence.strip(), label)
    return found
