"""A worker's next step: which kind of work its task and its tools make it.

Actions in the outside world: publish what was written, or say plainly that nothing was done.

Implementation: put what is known into a file and say what it is. It writes no programs, and says so.
"""

import csv
import io
import re
from collections.abc import Callable, Sequence

from nodes.llm.offline.analysis import analyse, figures_of, tables_for
from nodes.llm.offline.conversation import (
    Arguments,
    Call,
    Conversation,
    Reply,
    Tool,
    mail_quoted,
    missing_noted,
    with_confidence,
)
from nodes.llm.offline.requests import calculate, expression_in
from nodes.llm.offline.research import as_statement, best_quotes, research
from nodes.llm.offline.salience import NUMBERS
from nodes.llm.offline.statements import Statement, bullets, deduplicated
from nodes.llm.offline.strategy import strategise
from nodes.llm.offline.words import keywords, title_of
from nodes.llm.offline.writing import inputs_of, write


def implement(talk: Conversation) -> Reply:
    """Gather from the tables and sources, write the file, report it."""
    written = [done for done in talk.done if done.tool == "write"]
    if not written:
        gathering = analyse(talk)
        if isinstance(gathering, list):
            return gathering
        known = material(talk)
        if not known or not talk.has("write"):
            return gathering
        return [Call("write", artifact(talk, known))]
    if written[-1].failed:
        return f"FAILED: the file could not be written: {written[-1].text}"
    return _filed(talk, str(written[-1].args.get("name", "")), material(talk))


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


_FILE_NAME = re.compile(r"\b[\w-]+(?:/[\w-]+)*\.(?:md|txt|html|csv|json)\b")
_CONFIDENCE = re.compile(r"\n+Confidence:.*\Z", re.IGNORECASE)
_TITLES = ("name", "title", "subject", "filename", "file")
_CONTENTS = ("content", "text", "body", "message", "report", "document")


def act(talk: Conversation) -> Reply:
    """Call the tool that the action names; report what it said. Without a tool, or when it refused: failed."""
    tool = tool_for(talk)
    if tool is None:
        wanted = talk.attr("action") or "do this"
        return f"FAILED: there is no tool to {wanted} with; nothing was done"
    answer = next((done for done in talk.done if done.tool == tool.name), None)
    if answer is not None:
        return _reported(talk, tool.name, answer.text, answer.failed)
    content = content_of(talk)
    args = filled(tool, name_for(talk), content)
    if not content:
        return f"FAILED: there is nothing to {tool.name}, no input came with this task"
    return [Call(tool.name, args)] if args else f"FAILED: the arguments of {tool.name} are not known; nothing was done"


def tool_for(talk: Conversation) -> Tool | None:
    """The tool named like the action, else `publish`, which is how this team sends things out."""
    action = talk.attr("action").lower()
    named = next(
        (tool for name, tool in talk.tools.items() if action and action in name.lower() and "un" + action not in name),
        None,
    )
    sends = action in ("", "publish", "send", "share", "post", "release", "deliver", "announce")
    return named or (talk.tools.get("publish") if sends else None)


def name_for(talk: Conversation) -> str:
    """The file name that the task gives, or one made from what the request is about."""
    given = _FILE_NAME.search(talk.task) or _FILE_NAME.search(talk.request)
    words = [word.lower() for word in keywords(talk.request).values() if word.isascii()]
    return given.group() if given else "-".join(["report", *words[:5]]) + ".md"


def content_of(talk: Conversation) -> str:
    """The inputs as they are, without what they say about themselves."""
    return "\n\n".join(_CONFIDENCE.sub("", part.body).strip() for part in talk.all("input")).strip()


def filled(tool: Tool, name: str, content: str) -> Arguments | None:
    """Arguments by their usual names; None where a required one is something else."""
    values: Arguments = {}
    for argument in tool.arguments:
        if argument in _TITLES:
            values[argument] = name
        elif argument in _CONTENTS:
            values[argument] = content
        elif argument in tool.required:
            return None
    return values or {"name": name, "content": content}


def _reported(talk: Conversation, tool: str, answer: str, failed: bool) -> str:
    if failed:
        return f"FAILED: {tool} was not carried out: {answer}"
    what = title_of(talk.task)
    return f"{what}: {answer}.{missing_noted(talk)}\n\n{content_of(talk)}\n\nConfidence: 0.9"


MOST_QUOTES = 6

_CODE = re.compile(
    r"\b(?:code|script|program|function|class|module|library|app|application|api|service|test|bug)\b|\.py\b",
    re.IGNORECASE,
)


def material(talk: Conversation) -> list[Statement]:
    """All that can go into the file: figures, inputs, quotations."""
    picks = [as_statement(pick) for pick in best_quotes(talk, MOST_QUOTES)]
    return deduplicated([*figures_of(talk), *inputs_of(talk), *picks])


def artifact(talk: Conversation, known: Sequence[Statement]) -> Arguments:
    """Name and content of the file: a CSV where that is asked for, else Markdown."""
    name = name_for(talk)
    if name.endswith(".csv") or (re.search(r"\bcsv\b", talk.task, re.IGNORECASE) and name.endswith(".md")):
        return {"name": name.removesuffix(".md").removesuffix(".csv") + ".csv", "content": _as_csv(known)}
    return {"name": name, "content": f"# {title_of(talk.task)}\n\n{bullets(known)}\n"}


def _as_csv(known: Sequence[Statement]) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["statement", "source"])
    rows.writerows([statement.words, " ".join(statement.labels)] for statement in known)
    return out.getvalue()


def _filed(talk: Conversation, name: str, known: Sequence[Statement]) -> str:
    program = bool(_CODE.search(talk.task))
    note = " No program was written: the offline model cannot; the file holds the material for one." if program else ""
    size = f"{len(known)} statement{'' if len(known) == 1 else 's'}"
    about = f"The file {name} holds {size} with the sources.{note}"
    text = f"## {title_of(talk.task)}\n\n{about}\n\n{bullets(known)}"
    return with_confidence(text + missing_noted(talk) + mail_quoted(talk), 0.4 if program else 0.8)
