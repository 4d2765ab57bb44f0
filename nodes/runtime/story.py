"""The story of a run in its thread: a few short AI messages with stable ids, each replaced in place as things change.

What the thread is to say follows from the state alone (`nodes.policy.wording`), so it is told after every node, and a
fork, an edit or a thread of a version before is told alike. A question is an AI message with a tool call in front of
the interrupt, of the same name and arguments: pages that draw questions on tool calls show it; its answer closes the
call and stands in the place of the question. While tasks are at work nothing of the state can change: then lines are
added to the message that tells how far it is (`live`), for whoever streams messages; at the end of the step one line
stands in their place.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from contextvars import copy_context
from functools import wraps
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, ToolCall, ToolMessage
from langgraph.config import get_config
from langgraph.graph.message import push_message
from langgraph.runtime import Runtime

from nodes.policy.approvals import open_questions
from nodes.policy.shown import args_of, names_of
from nodes.policy.wording import decided, plan_list, progress, progress_line, questions_text
from nodes.runtime.context import Node
from nodes.runtime.nesting import OuterRun
from state.approval import Approval, Decision
from state.channels import RunState, is_over, records_of
from state.record import FINAL, TaskRecord
from state.supervisor import SupervisorState, Update

NAME = "baton"
"""The name of the messages."""


def said(state: RunState, part: str, text: str, **more: Any) -> AIMessage:
    """A message of the run's story; `part` tells it from the others."""
    return AIMessage(text, id=f"{state.get('story') or NAME}-{part}", name=NAME, **more)


def is_story(message: AnyMessage) -> bool:
    """Whether a message only tells of a run on its way: it is neither a request nor what came of one."""
    return message.type == "tool" or (message.name == NAME and not str(message.id).endswith("-report"))


TOLD = {"tasks", "asked", "decisions"}
"""The channels that the plan and its progress are told from."""


def told(node: Node) -> Node:
    """The node, and after it what has changed in the story. A supervisor that works for another has none."""

    @wraps(node)
    async def telling(state: SupervisorState, runtime: Runtime[None]) -> Any:
        update = await node(state, runtime)
        if isinstance(cast(object, runtime.context), OuterRun):
            return update
        return {**update, "messages": _with_story(state, update)}

    return telling


def _with_story(state: SupervisorState, update: Update) -> list[AnyMessage]:
    """The messages of the update, with those of the story that are new or changed."""
    added: list[AnyMessage] = list(update.get("messages") or [])
    after: SupervisorState = {**state, **update}  # type: ignore[typeddict-item]
    now = [*(state.get("messages") or []), *added]
    records = records_of(after) if update.keys() & TOLD else []  # nothing else changes what is told of tasks
    if not after.get("goal"):
        return added
    questions = [] if is_over(after) else open_questions(after)
    parts = _questions(after, now, questions)
    if len(records) > 1:
        parts = [
            said(after, "plan", plan_list(records)),
            *([said(after, "progress", progress(records, questions))] if after.get("phase") != "decomposing" else []),
            *parts,
        ]
    known = {message.id: message for message in now}
    changed = [one for one in parts if not _is_same(one, known.get(one.id))]
    report = [one for one in added if one.id == f"{after.get('story') or NAME}-report"]
    return [*(one for one in added if one not in report), *changed, *report]


def _is_same(one: AnyMessage, other: AnyMessage | None) -> bool:
    return other is not None and one.content == other.content and _calls(one) == _calls(other)


def _calls(message: AnyMessage) -> list[str]:
    return [str(call["id"]) for call in message.tool_calls] if isinstance(message, AIMessage) else []


def _questions(state: SupervisorState, now: Sequence[AnyMessage], questions: Sequence[Approval]) -> list[AnyMessage]:
    """What the messages say that have asked, and the one that asks now, with what closes the tool calls of the others.

    One question is asked at a time, the most urgent first: pages that draw questions on tool calls answer by position,
    whichever they were clicked on. That message is the last of the thread, as those pages expect: behind a note it is
    said again. One that asks no more says what became of its questions, each the last that asked it.
    """
    ask = f"{state.get('story') or NAME}-ask-"
    closed = {message.tool_call_id for message in now if isinstance(message, ToolMessage)}
    asking = [one for one in now if isinstance(one, AIMessage) and str(one.id).startswith(ask)]
    is_last = bool(asking) and not any(one.type == "human" for one in now[list(now).index(asking[-1]) + 1 :])
    current = asking[-1] if is_last and questions and _asks(asking[-1], questions[0].id, closed) else None
    is_open = {one.id for one in questions}
    ends = {**_ends(state), **dict.fromkeys(is_open, "It is asked again below.")}
    parts: list[AnyMessage] = []
    for number, one in enumerate(asking):
        if one is current:
            continue
        later = is_open.union(*map(_titles, asking[number + 1 :]))
        titles = {key: title for key, title in _titles(one).items() if key not in later}
        lines = [f"{title} {ends.get(key, 'It is not asked any more.')}" for key, title in titles.items()]
        lines = lines or [f"{title} It is asked again below." for title in [*_titles(one).values()][:1]]
        parts.append(one.model_copy(update={"content": "\n\n".join(lines)}))
        parts += [
            ToolMessage(
                ends.get(_question(call), "It is not asked any more."),
                tool_call_id=str(call["id"]),
                name=call["name"],
                id=f"{call['id']}-answer",
            )
            for call in one.tool_calls
            if call["id"] not in closed
        ]
    if not questions:
        return parts
    number = asking.index(current) if current else len(asking)
    first = questions[0]
    call: ToolCall = {
        "name": names_of(questions)[0],
        "args": args_of(first),
        "id": f"{ask}{number}/{first.id}",
        "type": "tool_call",
    }
    titles = {one.id: one.title for one in questions}
    text = questions_text(questions, state.get("unread", ""))
    return [*parts, said(state, f"ask-{number}", text, tool_calls=[call], additional_kwargs={ASKED: titles})]


ASKED = "asked"
"""Where a message keeps which questions it has asked: their titles by id."""


def _titles(message: AIMessage) -> dict[str, str]:
    """What a message has asked, by id; one of a version before says the names of what it asked about."""
    names = {_question(call): call["name"] for call in message.tool_calls}
    return message.additional_kwargs.get(ASKED) or names


def _asks(message: AIMessage, question: str, closed: Container[str]) -> bool:
    """Whether the message asks this question first, and nobody has answered it."""
    return [_question(call) for call in message.tool_calls if call["id"] not in closed] == [question]


def _ends(state: SupervisorState) -> dict[str, str]:
    """By question, who decided what."""
    decisions = state.get("decisions") or {}
    return {key: f"{decided(Decision.model_validate(one))}." for key, one in decisions.items()}


def _question(call: ToolCall) -> str:
    """The id of the question that a call shows."""
    return str(call["id"]).partition("/")[2]


class Writing:
    """Shows whoever streams messages the report as it is written, under the id that it will have.

    LangGraph streams a message of an id once: what the report has besides is told when it is complete.
    """

    def __init__(self, state: RunState) -> None:
        self._id = f"{state.get('story') or NAME}-report"
        self._context = copy_context()
        self._told = ""

    def hear(self, text: str) -> None:
        """Show a piece of it."""
        self._told += text
        chunk = AIMessageChunk(content=text, id=self._id, name=NAME)
        self._context.copy().run(push_message, chunk, state_key=None)

    def complete(self, report: str) -> None:
        """Show what follows in the report, if some of it was shown; all of it, where that was changed."""
        if self._told:
            _, found, rest = report.partition(self._told.strip())
            self.hear(rest if found else f"\n\n{report}")


def _is_heard() -> bool:
    """Whether anybody may stream messages: LangGraph hands them on by a callback."""
    told = get_config().get("callbacks")
    return bool(told.handlers if isinstance(told, BaseCallbackManager) else told)


def live(state: RunState, records: Mapping[str, TaskRecord], writer: Callable[[Any], None]) -> Callable[[Any], None]:
    """The writer of a node's events, which also tells whoever streams messages what is being done."""
    if not _is_heard():
        return writer
    context, key = copy_context(), f"{state.get('story') or NAME}-progress"
    at_work: list[str] = []
    ended: dict[str, str] = {one: record.status for one, record in records.items() if record.status in FINAL}

    def write(event: Any) -> None:
        writer(event)
        kind, task = event.get("kind"), str(event.get("task_id") or "")
        if kind not in ("task_started", "task_finished") or len(records) < 2:
            return
        if kind == "task_started":
            at_work.append(task)
        else:
            at_work[:] = [one for one in at_work if one != task]
            ended[task] = str(event["data"]["status"])
        line = f"\n\n{progress_line(records, ended, at_work)}"
        context.run(push_message, AIMessageChunk(content=line, id=key, name=NAME), state_key=None)

    return write
