"""Assembly: one answer from several findings; the request answered first, each thing once, labels kept."""

from nodes.llm.offline.conversation import Conversation
from nodes.llm.offline.statements import Statement, statements_in
from nodes.llm.offline.titles import title_of
from nodes.llm.offline.writing import composed
from nodes.llm.sections import Section


def assemble(talk: Conversation) -> str:
    """The answer, in Markdown."""
    statements = [statement for part in talk.all("finding") for statement in _statements(part)]
    if not statements:
        return "The findings are empty: no task delivered anything that answers the request."
    return composed(statements)


def _statements(part: Section) -> list[Statement]:
    """The statements of a finding, below its own headings or below what its task is called."""
    title = part.attrs.get("title") or part.attrs.get("description") or ""
    trail = (title_of(title),) if title else ()
    return [
        s if s.trail else Statement(s.text, s.labels, trail, s.task)
        for s in statements_in(part.body, part.attrs.get("task", ""))
    ]
