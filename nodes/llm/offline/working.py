"""A worker's next step: which kind of work its task and its tools make it.

Actions in the outside world: publish what was written, or say plainly that nothing was done.

Implementation: put what is known into a file and say what it is. It writes no programs, and says so.
"""

import csv
import io
import re
from collections.abc import Callable

from nodes.language.requests import expression_in
from nodes.language.shapes import parted
from nodes.language.subjects import keywords, subject_of, title_of
from nodes.llm.offline.answering import answer, points
from nodes.llm.offline.conversation import Arguments, Call, Conversation, Reply, Tool, concluded
from nodes.llm.offline.reshaping import points_of, reshape, reshaped, rows_of, shape_in
from nodes.llm.offline.reviewing import judged
from nodes.llm.offline.strategy import strategise
from nodes.llm.offline.writing import write
from nodes.policy.orders import action_of
from nodes.policy.synthesis import without_repeats
from state.citation import LABEL
from state.text import counted

_SENDS = frozenset(("", "publish", "send"))
"""Families of actions for which `publish` will do: it is how this team sends things out."""
_FILE_NAME = re.compile(r"\b[\w-]+(?:/[\w-]+)*\.(?:md|txt|html|csv|json)\b")
_TITLES = ("name", "title", "subject", "filename", "file")
_CONTENTS = ("content", "text", "body", "message", "report", "document")
_CODE = re.compile(
    r"\b(?:code|script|program|function|class|module|library|app|application|api|service|test|bug)\b|\.py\b",
    re.IGNORECASE,
)


def work(talk: Conversation) -> Reply:
    """Call tools, or deliver the result of the task, with a verdict on each input where that is asked for."""
    reply = _shaped(talk)
    return judged(talk, reply) if isinstance(reply, str) else reply


def _shaped(talk: Conversation) -> Reply:
    """What the task asks for, in the shape that it says."""
    if talk.all("earlier") and (shape := shape_in(talk.task)):
        return reshape(talk, shape)
    task, shape = parted(talk.task)
    reply = _work(talk.with_task(task))
    return reshaped(reply, shape, keywords(task)) if shape and isinstance(reply, str) else reply


def _work(talk: Conversation) -> Reply:
    if talk.attr("kind") == "action" or (talk.attr("action") and tool_for(talk)):
        return act(talk)
    if "calculate" in talk.tools and (expression := expression_in(talk.task)):
        call = Call("calculate", {"expression": expression})
        said = talk.answer_to(call)
        return (f"FAILED: {said.text}" if said.failed else concluded(talk, said.text, 0.95)) if said else [call]
    if not can_look_up(talk) and not talk.inputs:
        unable = (
            "This cannot be answered offline: no language model is configured, and there are no sources or inputs to "
        )
        # no confidence: there is nothing to ask a human about
        return concluded(talk, f"{unable}answer from. Give sources, or set OPENAI_API_KEY or OPENAI_BASE_URL.", None)
    return BY_KIND.get(talk.attr("kind"), write)(talk)


def can_look_up(talk: Conversation) -> bool:
    """Whether there is something to look things up in, or something was looked up before the tools went."""
    is_offered = talk.tools.keys() & {"search", "read", "query"}
    return bool(talk.done) or bool(is_offered and (talk.source_lines or not talk.all("task")))


def implement(talk: Conversation) -> Reply:
    """Gather from the tables and sources, write the file, report it."""
    found = [points(talk)[0]] if talk.done else []
    known = "\n\n".join(without_repeats([*talk.inputs, *filter(LABEL.search, found)]))
    written = next((done for done in reversed(talk.done) if done.tool == "write"), None)
    if not written:
        gathering = answer(talk)
        if isinstance(gathering, list) or not known or "write" not in talk.tools:
            return gathering
        return [Call("write", artifact(talk, known))]
    if written.failed:
        return f"FAILED: the file could not be written: {written.text}"
    is_program = bool(_CODE.search(talk.task))
    note = " No program was written: the offline model cannot; the file holds the material for one." * is_program
    count = counted(len(points_of(known)), "statement")
    about = f"The file {written.args.get('name', '')} holds {count} with the sources.{note}"
    return concluded(talk, f"## {title_of(talk.task)}\n\n{about}\n\n{known}", 0.4 if is_program else 0.8)


BY_KIND: dict[str, Callable[[Conversation], Reply]] = {
    "research": answer,
    "analysis": answer,
    "strategy": strategise,
    "implementation": implement,
}
"""Any other kind writes: from its inputs, or else what the sources say."""


def act(talk: Conversation) -> Reply:
    """Call the tool that the action names; report what it said. Without a tool, or when it refused: failed."""
    tool, content = tool_for(talk), "\n\n".join(talk.inputs)
    if tool is None:
        return f"FAILED: there is no tool to {talk.attr('action') or 'do this'} with; nothing was done"
    said = next((done for done in talk.done if done.tool == tool.name), None)
    if said and said.failed:
        return f"FAILED: {tool.name} was not carried out: {said.text}"
    if said:
        return concluded(talk, f"{title_of(talk.task)}: {said.text}.\n\n{content}", 0.9)
    if not content:
        return f"FAILED: there is nothing to {tool.name}, no input came with this task"
    args = filled(tool, name_for(talk), content)
    return [Call(tool.name, args)] if args else f"FAILED: the arguments of {tool.name} are not known; nothing was done"


def tool_for(talk: Conversation) -> Tool | None:
    """The tool named like the action, else `publish` for what is to go out."""
    action = talk.attr("action").lower()
    named = (tool for name, tool in talk.tools.items() if action in name.lower() and "un" + action not in name)
    return (next(named, None) if action else None) or (
        talk.tools.get("publish") if action_of(action) in _SENDS else None
    )


def name_for(talk: Conversation) -> str:
    """The file name that the task gives, or one made from what the request is about."""
    given = _FILE_NAME.search(talk.task) or _FILE_NAME.search(talk.request)
    words = [word.lower() for word in subject_of(talk.request).values() if word.isascii()]
    return given.group() if given else "-".join(["report", *words[:5]]) + ".md"


def filled(tool: Tool, name: str, content: str) -> Arguments | None:
    """Arguments by their usual names; None where a required one is something else."""
    usual: Arguments = {**dict.fromkeys(_TITLES, name), **dict.fromkeys(_CONTENTS, content)}
    values = {argument: usual[argument] for argument in tool.arguments if argument in usual}
    is_known = set(tool.required) <= usual.keys()
    return (values or {"name": name, "content": content}) if is_known else None


def artifact(talk: Conversation, known: str) -> Arguments:
    """Name and content of the file: a table as CSV where that is asked for, else Markdown."""
    name = name_for(talk)
    if not name.endswith(".csv") and not (re.search(r"\bcsv\b", talk.task, re.IGNORECASE) and name.endswith(".md")):
        return {"name": name, "content": f"# {title_of(talk.task)}\n\n{known}\n"}
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows_of(points_of(known), keywords(talk.task)))
    return {"name": f"{name.rpartition('.')[0]}.csv", "content": out.getvalue()}
