"""Strategy: lines of the sources that name strengths, weaknesses, opportunities, threats, and what suits whom.

It weighs nothing: it looks for lines that name what they are, and shows them with their labels.
"""

import re
from collections.abc import Iterator

from nodes.llm.offline.answering import Passage, passages_in
from nodes.llm.offline.conversation import Call, Conversation, Reply, mail_quoted, missing_noted, with_confidence
from nodes.llm.offline.requests import keywords
from nodes.llm.offline.words import title_of
from nodes.tools.words import stems

MOST = 4
"""Lines of one kind."""
LONGEST = 400
SWOT = {
    "Strengths": ("strength advantage benefit", r"strengths?\b|advantages?\b|benefits?\b"),
    "Weaknesses": ("weakness limitation drawback", r"weakness|limitations?\b|drawback|disadvantage"),
    "Opportunities": ("opportunity forecast growth demand", r"opportunit|forecast|expects?\b|demand|growth of"),
    "Threats": ("threat risk failure", r"threat|risks?\b|danger|predicted"),
}
"""The words that are searched for, and how a line has to name its kind."""
SUITS = {
    "What suits whom": (
        "suits recommended choose better",
        r"suits?\b|suited|recommend|is for\b|best for|fits?\b",
    ),
}
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"“])")


def strategise(talk: Conversation) -> Reply:
    """Search for each kind, then show what names itself so."""
    kinds = {**SWOT, **SUITS} if re.search(r"\bswot\b", f"{talk.task} {talk.request}", re.IGNORECASE) else SUITS
    subject = " ".join(list(keywords(talk.request).values())[:6])
    calls = [Call("search", {"query": f"{words} {subject}", "limit": 12}) for words, _ in kinds.values()]
    if talk.has("search") and (left := [call for call in calls if not talk.was_called(call)]):
        return left
    about = set(stems(subject))
    parts, empty = [f"## {title_of(talk.task)}"], []
    seen: set[str] = set()
    for kind, (_, pattern) in kinds.items():
        named = re.compile(rf"\b(?:{pattern})", re.IGNORECASE)
        lines = [(line, passage) for line, passage in _lines(talk) if named.search(line) and line not in seen]
        ranked = sorted(lines, key=lambda item: (-_outspoken(named, item[0]), -len(about & set(stems(item[0])))))[:MOST]
        seen |= {line for line, _ in ranked}
        if ranked:
            parts.append(f"### {kind}\n\n" + "\n".join(f'- "{line}" {passage.label}' for line, passage in ranked))
        else:
            empty.append(kind.lower())
    if empty:
        parts.append(f"I found no line that speaks of {', '.join(empty)}.")
    sure = 0.7 if len(parts) > 2 else 0.4
    return with_confidence("\n\n".join(parts) + missing_noted(talk) + mail_quoted(talk), sure)


def _lines(talk: Conversation) -> Iterator[tuple[str, Passage]]:
    """Lines and sentences in what was found, with the narrowest place that is sure, then in the inputs' quotations."""
    texts = [*(done.text for done in talk.results("search")), *(_unquoted(part.body) for part in talk.all("input"))]
    given: set[str] = set()
    for passage in (passage for text in texts for passage in passages_in(text)):
        first = int(passage.place[1:].partition("-")[0])
        for number, line in enumerate(passage.text.split("\n")):
            place = f"L{first + number}" if passage.place[0] == "L" else passage.place
            for sentence in _SENTENCE.split(re.sub(r"^\s*(?:[-*•>]|\d+[.)])\s+", "", line)):
                if (
                    30 <= len(sentence) <= LONGEST
                    and '"' not in sentence
                    and sentence not in given
                    and passage.place[0] != "r"
                ):
                    given.add(sentence)
                    yield sentence.strip(), Passage(passage.file, place, sentence)


def _outspoken(named: re.Pattern[str], line: str) -> bool:
    """Whether it says so at once: `A strength of X is …`."""
    return bool(named.search(" ".join(line.split()[:6])))


def _unquoted(text: str) -> str:
    """A result with each quotation behind its label, as a tool shows it."""
    found = re.findall(r"((?:^>.*\n)+)(\[[^\[\]#\n]+#[^\]\n]+\])", text, re.MULTILINE)
    return "\n\n".join(f"{label} " + re.sub(r"(?m)^> ?", "", quoted).strip() for quoted, label in found)
