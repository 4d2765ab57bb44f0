"""Strategy: lines of the sources that name strengths, weaknesses, opportunities, threats, and what suits whom.

It weighs nothing: it looks for lines that name what they are, and shows them with their labels.
"""

import re
from collections.abc import Iterator

from nodes.language.subjects import keywords, names, title_of
from nodes.language.words import stems
from nodes.llm.offline.answering import passages_in
from nodes.llm.offline.conversation import Call, Conversation, Reply, concluded
from state.citation import line_of

MOST = 4
"""Lines of one kind."""
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
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"“])")


def strategise(talk: Conversation) -> Reply:
    """Search for each kind, then show what names itself so."""
    kinds = {**SWOT, **SUITS} if re.search(r"\bswot\b", f"{talk.task} {talk.request}", re.IGNORECASE) else SUITS
    subject = " ".join(list(keywords(talk.request).values())[:6])
    calls = [Call("search", {"query": f"{words} {subject}", "limit": 12}) for words in kinds.values()]
    if "search" in talk.tools and (left := [call for call in calls if not talk.answer_to(call)]):
        return left
    given = "\n".join(_unquoted(part.body) for part in talk.all("input"))
    lines, about = dict(_lines(talk)), set(stems(subject))
    parts, empty = [f"## {title_of(talk.task)}"], []
    for kind, words in kinds.items():
        named = set(stems(words))
        fitting = [line for line in lines if named & set(stems(line))]
        if kind in SUITS:  # what suits whom says what
            fitting = [line for line in fitting if names(line)] or fitting
        # What the report says already says it once more only where that is what it is called.
        fitting = [line for line in fitting if line not in given or named & set(stems(line)[:6])]
        first = sorted(fitting, key=lambda one: (not named & set(stems(one)[:6]), -len(about & set(stems(one)))))[:MOST]
        if first:
            parts.append(f"### {kind}\n\n" + "\n".join(f'- "{line}" {lines.pop(line)}' for line in first))
        else:
            empty.append(kind.lower())
    if empty:
        parts.append(f"I found no line that speaks of {', '.join(empty)}.")
    return concluded(talk, "\n\n".join(parts), 0.7 if len(parts) > 2 else 0.4)


def _lines(talk: Conversation) -> Iterator[tuple[str, str]]:
    """Sentences in what was found and in the inputs' quotations, with the label of the narrowest place that is sure."""
    texts = [*(done.text for done in talk.results("search")), *(_unquoted(part.body) for part in talk.all("input"))]
    for passage in reversed([passage for text in texts for passage in passages_in(text) if passage.place[0] != "r"]):
        for number, line in enumerate(passage.text.split("\n")):
            label = f"[{passage.file}#{line_of(passage.place, passage.text, number)}]"
            for sentence in _SENTENCE.split(re.sub(r"^\s*(?:[-*•>]|\d+[.)])\s+", "", line)):
                if SHORTEST <= len(sentence) <= LONGEST and '"' not in sentence:
                    yield sentence.strip(), label


def _unquoted(text: str) -> str:
    """A result with each quotation behind its label, as a tool shows it."""
    found = re.findall(r"((?:^>.*\n)+)(\[[^\[\]#\n]+#[^\]\n]+\])", text, re.MULTILINE)
    return "\n\n".join(f"{label} " + re.sub(r"(?m)^> ?", "", quoted).strip() for quoted, label in found)
