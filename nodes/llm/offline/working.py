"""A worker's next step: which kind of work its task and its tools make it, and in which shape its result comes."""

import csv
import io
import re
from dataclasses import replace

from nodes.language.following import followed
from nodes.language.requests import expression_in
from nodes.language.shapes import PREVIOUS, parted
from nodes.language.subjects import keywords, subject_of, title_of
from nodes.llm.offline.answering import answer, lookups, points
from nodes.llm.offline.conversation import NOTHING, Arguments, Call, Conversation, Reply, Tool, concluded
from nodes.llm.offline.reshaping import points_of, reshaped, rows_of
from nodes.llm.offline.strategy import strategise
from nodes.policy.orders import action_of
from nodes.policy.synthesis import without_repeats
from state.citation import LABEL
from state.text import counted

_FILE_NAME = re.compile(r"\b[\w-]+(?:/[\w-]+)*\.(?:md|txt|html|csv|json)\b")
_TITLES = ("name", "title", "subject", "filename", "file")
_CONTENTS = ("content", "text", "body", "message", "report", "document")
_CODE = re.compile(
    r"\b(?:code|script|program|function|class|module|library|app|application|api|service|test|bug)\b|\.py\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"^The (?:answer|(?P<both>two answers)) before(?:, (?P<how>shorter|as a \w+))?(?:: (?P<many>.+))?$"
)
"""The task of putting the last answer into a shape, as plans of the version before say it."""


def work(talk: Conversation) -> Reply:
    """Call tools, or deliver what is asked for in its shape, below a verdict on each input where that is wanted."""
    task, shape = parted(_BEFORE.sub(_as_now, talk.task))
    asked, (questions, answers) = task, talk.before
    if questions and (name := task.rstrip(".")) in PREVIOUS:
        said = "\n\n".join([text for text in answers if text.strip()][-PREVIOUS.index(name) - 1 :])
        nothing = "There is no answer on this thread yet that could be put in another way."
        reply: Reply = concluded(talk, said or nothing, 0.8 if said and NOTHING not in said else 0.3)
        asked = followed(questions[-1], questions[:-1], answers)
    else:
        reply = _work(replace(talk, task=task))
    if not isinstance(reply, str):
        return reply
    given = {one.attrs.get("task") for one in talk.all("given")}
    inputs = [part for part in talk.all("input") if part.attrs.get("task", "") in given]
    verdicts = [
        f"Input {one.attrs.get('task', '')}: {'good' if one.body.strip() else 'The result is empty.'}" for one in inputs
    ]
    return "\n".join([*verdicts, reshaped(reply, shape, keywords(asked)) if shape else reply])


def _as_now(task: re.Match[str]) -> str:
    """The same in the words that `parted` reads."""
    how = f"in {task['many']}" if task["many"] else (task["how"] or "").replace("shorter", "briefly")
    return f"{PREVIOUS[bool(task['both'])]}. {how}".strip()


def _work(talk: Conversation) -> Reply:
    if talk.attr("kind") == "action" or (talk.attr("action") and tool_for(talk)):
        return act(talk)
    if "calculate" in talk.tools and (expression := expression_in(talk.task)):
        call = Call("calculate", {"expression": expression})
        said = talk.answer_to(call)
        return (f"FAILED: {said.text}" if said.failed else concluded(talk, said.text, 0.95)) if said else [call]
    is_offered = talk.tools.keys() & {"search", "read", "query"} and (talk.source_lines or not talk.all("task"))
    if not (is_offered or talk.done or talk.inputs):
        why = "no language model is configured, and there are no sources or inputs to answer from"
        how = "Give sources, or set OPENAI_API_KEY or OPENAI_BASE_URL."
        return concluded(talk, f"This cannot be answered offline: {why}. {how}", None)  # nothing to ask a human about
    by_kind = {"research": answer, "analysis": answer, "strategy": strategise, "implementation": implement}
    return by_kind.get(talk.attr("kind"), write)(talk)


def write(talk: Conversation) -> Reply:
    """One text from the inputs in their order, each passage once, nothing added; without inputs, what is found."""
    texts = talk.inputs
    if not texts:
        return answer(talk)
    if talk.body("feedback"):
        if calls := lookups(talk):
            return calls
        texts += [f"## What the review asked for\n\n{points(talk)[0]}"] if talk.results("search") else []
    text = "\n\n".join(without_repeats(texts))
    return concluded(talk, text, 0.8 if LABEL.search(text) else 0.65)


def implement(talk: Conversation) -> Reply:
    """Gather from the tables and sources, put it into a file, say what that is. It writes no programs, and says so."""
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


def act(talk: Conversation) -> Reply:
    """Call the tool that the action names; report what it said. Without a tool, or when it refused: failed."""
    tool, content = tool_for(talk), "\n\n".join(talk.inputs)
    if tool is None:
        return f"FAILED: there is no tool to {talk.attr('action') or 'do this'} with; nothing was done"
    if said := next((done for done in talk.done if done.tool == tool.name), None):
        done = f"{title_of(talk.task)}: {said.text}.\n\n{content}"
        return f"FAILED: {tool.name} was not carried out: {said.text}" if said.failed else concluded(talk, done, 0.9)
    if not content:
        return f"FAILED: there is nothing to {tool.name}, no input came with this task"
    usual = {**dict.fromkeys(_TITLES, name_for(talk)), **dict.fromkeys(_CONTENTS, content)}
    if not set(tool.required) <= usual.keys():
        return f"FAILED: the arguments of {tool.name} are not known; nothing was done"
    return [Call(tool.name, {argument: usual[argument] for argument in tool.arguments if argument in usual})]


def tool_for(talk: Conversation) -> Tool | None:
    """The tool named like the action, else `publish` for what is to go out."""
    action = talk.attr("action").lower()
    names = [name for name in talk.tools if action and action in name.lower() and "un" + action not in name]
    names += ["publish"] if action_of(action) in ("", "publish", "send") else []
    return talk.tools.get(names[0]) if names else None


def name_for(talk: Conversation) -> str:
    """The file name that the task gives, or one made from what the request is about."""
    given = _FILE_NAME.search(talk.task) or _FILE_NAME.search(talk.request)
    words = [word.lower() for word in subject_of(talk.request).values() if word.isascii()]
    return given.group() if given else "-".join(["report", *words[:5]]) + ".md"


def artifact(talk: Conversation, known: str) -> Arguments:
    """Name and content of the file: a table as CSV where that is asked for, else Markdown."""
    name = name_for(talk)
    if not name.endswith(".csv") and not (re.search(r"\bcsv\b", talk.task, re.IGNORECASE) and name.endswith(".md")):
        return {"name": name, "content": f"# {title_of(talk.task)}\n\n{known}\n"}
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows_of(points_of(known), keywords(talk.task)))
    return {"name": f"{name.rpartition('.')[0]}.csv", "content": out.getvalue()}
