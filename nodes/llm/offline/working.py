"""A worker's next step: which kind of work its task and its tools make it.

Actions in the outside world: publish what was written, or say plainly that nothing was done.

Implementation: put what is known into a file and say what it is. It writes no programs, and says so.
"""

import csv
import io
import re
from collections.abc import Callable

from nodes.llm.offline.answering import answer, points
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
from nodes.llm.offline.requests import expression_in
from nodes.llm.offline.shapes import reshape, shape_in
from nodes.llm.offline.strategy import strategise
from nodes.llm.offline.words import subject_of, title_of
from nodes.llm.offline.writing import inputs_of, write
from nodes.policy.synthesis import without_repeats
from state.citation import LABEL, labels_in, without_labels


def work(talk: Conversation) -> Reply:
    """Call tools, or deliver the result of the task."""
    if talk.all("earlier") and (shape := shape_in(talk.task)):
        return reshape(talk, shape)
    if talk.attr("kind") == "action" or (talk.attr("action") and tool_for(talk)):
        return act(talk)
    if talk.has("calculate") and expression_in(talk.task):
        return calculate(talk)
    if not can_look_up(talk) and not inputs_of(talk):
        return unable(talk)
    return BY_KIND.get(talk.attr("kind"), write)(talk)


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
    return text + missing_noted(talk) + mail_quoted(talk)  # no confidence: there is nothing to ask a human about


def calculate(talk: Conversation) -> Reply:
    """Ask the tool, and report its answer."""
    call = Call("calculate", {"expression": expression_in(talk.task) or expression_in(talk.request)})
    answer = next((done for done in talk.done if done.tool == "calculate"), None)
    if answer is None:
        return [call]
    return f"FAILED: {answer.text}" if answer.failed else with_confidence(answer.text, 0.95)


def implement(talk: Conversation) -> Reply:
    """Gather from the tables and sources, write the file, report it."""
    written = [done for done in talk.done if done.tool == "write"]
    if not written:
        gathering = answer(talk)
        known = material(talk)
        if isinstance(gathering, list) or not known or not talk.has("write"):
            return gathering
        return [Call("write", artifact(talk, known))]
    if written[-1].failed:
        return f"FAILED: the file could not be written: {written[-1].text}"
    return _filed(talk, str(written[-1].args.get("name", "")), material(talk))


BY_KIND: dict[str, Callable[[Conversation], Reply]] = {
    "research": answer,
    "analysis": answer,
    "strategy": strategise,
    "implementation": implement,
}
"""Any other kind writes: from its inputs, or else what the sources say."""


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
    words = [word.lower() for word in subject_of(talk.request).values() if word.isascii()]
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


_CODE = re.compile(
    r"\b(?:code|script|program|function|class|module|library|app|application|api|service|test|bug)\b|\.py\b",
    re.IGNORECASE,
)
_POINTS = re.compile(r"\n{2,}|\n(?=- )")


def material(talk: Conversation) -> str:
    """All that can go into the file: the inputs, and what was looked up."""
    found = [points(talk)[0]] if talk.done and can_look_up(talk) and LABEL.search(points(talk)[0]) else []
    return "\n\n".join(without_repeats([*inputs_of(talk), *found]))


def artifact(talk: Conversation, known: str) -> Arguments:
    """Name and content of the file: a CSV where that is asked for, else Markdown."""
    name = name_for(talk)
    if name.endswith(".csv") or (re.search(r"\bcsv\b", talk.task, re.IGNORECASE) and name.endswith(".md")):
        return {"name": name.removesuffix(".md").removesuffix(".csv") + ".csv", "content": _as_csv(known)}
    return {"name": name, "content": f"# {title_of(talk.task)}\n\n{known}\n"}


def _statements(known: str) -> list[str]:
    return [part.removeprefix("- ") for part in _POINTS.split(known) if part.strip() and not part.startswith("#")]


def _as_csv(known: str) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["statement", "source"])
    for part in _statements(known):
        said = re.sub(r"(?m)^> ?", "", without_labels(part)).strip()
        rows.writerow([said, " ".join(f"[{file}#{place}]" for file, place in labels_in(part))])
    return out.getvalue()


def _filed(talk: Conversation, name: str, known: str) -> str:
    program = bool(_CODE.search(talk.task))
    note = " No program was written: the offline model cannot; the file holds the material for one." if program else ""
    count = len(_statements(known))
    about = f"The file {name} holds {count} statement{'' if count == 1 else 's'} with the sources.{note}"
    text = f"## {title_of(talk.task)}\n\n{about}\n\n{known}"
    return with_confidence(text + missing_noted(talk) + mail_quoted(talk), 0.4 if program else 0.8)
