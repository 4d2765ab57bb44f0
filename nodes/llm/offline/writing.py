"""Writing: one text from the results of others, in their order, each passage once, nothing added.

What lacks is looked up where a reviewer asked for it; without inputs the writer does the research itself.
"""

import re

from nodes.llm.offline.answering import answer, lookups, points
from nodes.llm.offline.conversation import Conversation, Reply, mail_quoted, missing_noted, with_confidence
from nodes.llm.offline.words import title_of
from nodes.llm.sections import Section
from nodes.policy.synthesis import without_repeats
from state.citation import LABEL

_CONFIDENCE = re.compile(r"\n*Confidence:[^\n]*\Z", re.IGNORECASE)


def write(talk: Conversation) -> Reply:
    """Put the inputs together."""
    inputs = inputs_of(talk)
    if not inputs:
        return answer(talk)
    if talk.body("feedback"):
        if calls := [call for call in lookups(talk) if not talk.was_called(call)]:
            return calls
        inputs = [*inputs, f"## What the review asked for\n\n{points(talk)[0]}"] if talk.results("search") else inputs
    text = "\n\n".join(without_repeats(inputs))
    return with_confidence(text + missing_noted(talk) + mail_quoted(talk), 0.8 if LABEL.search(text) else 0.65)


def inputs_of(talk: Conversation) -> list[str]:
    """The results of the tasks that this one builds on, without what they say about themselves."""
    return [text for part in talk.all("input") if (text := _CONFIDENCE.sub("", part.body).strip())]


def assemble(talk: Conversation) -> str:
    """One answer from several findings."""
    texts = [_under_its_title(part) for part in talk.all("finding") if part.body.strip()]
    return (
        "\n\n".join(without_repeats(texts))
        or "The findings are empty: no task delivered anything that answers the request."
    )


def _under_its_title(part: Section) -> str:
    title = part.attrs.get("title") or part.attrs.get("description") or ""
    body = _CONFIDENCE.sub("", part.body).strip()
    return body if not title or body.startswith("#") else f"## {title_of(title)}\n\n{body}"
