"""A worker's next step: which kind of work its task and its tools make it."""

from collections.abc import Callable

from nodes.llm.offline.acting import act, tool_for
from nodes.llm.offline.analysis import analyse, tables_for
from nodes.llm.offline.calculating import calculate, expression_in
from nodes.llm.offline.conversation import Conversation, Reply
from nodes.llm.offline.implementing import implement
from nodes.llm.offline.remarks import mail_quoted, missing_noted, with_confidence
from nodes.llm.offline.research import research
from nodes.llm.offline.salience import NUMBERS
from nodes.llm.offline.strategy import strategise
from nodes.llm.offline.writing import inputs_of, write

BY_KIND: dict[str, Callable[[Conversation], Reply]] = {
    "research": analyse,
    "analysis": analyse,
    "strategy": strategise,
    "writing": write,
    "review": write,
    "implementation": implement,
}


def work(talk: Conversation) -> Reply:
    """Call tools, or deliver the result of the task."""
    if talk.attr("kind") == "action" or (talk.attr("action") and tool_for(talk)):
        return act(talk)
    if talk.has("calculate") and expression_in(talk.task):
        return calculate(talk)
    if not can_look_up(talk) and not inputs_of(talk):
        return unable(talk)
    return BY_KIND.get(talk.attr("kind"), _otherwise)(talk)


def can_look_up(talk: Conversation) -> bool:
    """Whether there is something to look things up in, or something was looked up before the tools went."""
    offered = any(talk.has(tool) for tool in ("search", "read", "query"))
    return bool(talk.done) or (offered and bool(talk.source_lines or not talk.all("task")))


def unable(talk: Conversation) -> str:
    """The plain word that the offline model knows nothing by itself."""
    text = (
        "This cannot be answered offline: no language model is configured, and there are no sources or inputs to "
        "answer from. Give sources, or set OPENAI_API_KEY or OPENAI_BASE_URL."
    )
    return with_confidence(text + missing_noted(talk) + mail_quoted(talk), 0.3)


def _otherwise(talk: Conversation) -> Reply:
    """A kind of its own: figures where they are wanted and there, else the inputs, else the sources."""
    if talk.has("query") and NUMBERS.search(talk.task) and tables_for(talk):
        return analyse(talk)
    return write(talk) if inputs_of(talk) else research(talk)
