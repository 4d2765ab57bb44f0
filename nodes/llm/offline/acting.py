"""Actions in the outside world: publish what was written, or say plainly that nothing was done."""

import re

from nodes.llm.offline.conversation import Arguments, Call, Conversation, Reply, Tool
from nodes.llm.offline.remarks import missing_noted
from nodes.llm.offline.titles import title_of
from nodes.llm.offline.words import keywords

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
