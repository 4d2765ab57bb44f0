"""Writing: one text from the results of others, in their order, each passage once, nothing added.

What lacks is looked up where a reviewer asked for it; without inputs the writer does the research itself.
"""

from nodes.language.subjects import title_of
from nodes.llm.offline.answering import answer, lookups, points
from nodes.llm.offline.conversation import CONFIDENCE, Conversation, Reply, concluded
from nodes.policy.synthesis import without_repeats
from state.citation import LABEL


def write(talk: Conversation) -> Reply:
    """Put the inputs together."""
    texts = talk.inputs
    if not texts:
        return answer(talk)
    if talk.body("feedback"):
        if calls := lookups(talk):
            return calls
        texts += [f"## What the review asked for\n\n{points(talk)[0]}"] if talk.results("search") else []
    text = "\n\n".join(without_repeats(texts))
    return concluded(talk, text, 0.8 if LABEL.search(text) else 0.65)


def assemble(talk: Conversation) -> str:
    """One answer from several findings, each under its title."""
    texts = []
    for part in talk.all("finding"):
        title, body = part.attrs.get("title") or part.attrs.get("description"), CONFIDENCE.sub("", part.body).strip()
        texts += [f"## {title_of(title)}\n\n{body}" if title and not body.startswith("#") else body] if body else []
    nothing = "The findings are empty: no task delivered anything that answers the request."
    return "\n\n".join(without_repeats(texts)) or nothing
