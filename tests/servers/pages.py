"""What chat pages show of a thread, by what the source of each reads: Agent Chat UI, Agent Inbox, deep-agents-ui.

Each of them takes what the server gives (a part of a stream, a thread of its list, a state of its history) and says
which question it draws. Whatever else a person would see and could do nothing with is in `wrong`: a form for nothing,
a call that spins for ever, a name instead of a question. `tests` has their words only, none of their code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]
DECISIONS = {"approve", "edit", "reject"}
"""What all of them can send."""


@dataclass(frozen=True)
class Shown:
    """What a page shows of a thread."""

    texts: list[str]
    """Its messages, as text, in order."""
    name: str = ""
    """What the form of the open question is called; nothing, where it draws none."""
    args: Json = field(default_factory=dict)
    """The fields of the form."""
    wrong: list[str] = field(default_factory=list)
    """What a person would see and could not use."""


def agent_chat_ui(values: Json, state: Json | None = None) -> Shown:
    """Agent Chat UI: below the last message, if that is none of the person's, the first request as a form.

    Args:
        values: the last part of a stream of mode `values`, or the values of the thread.
        state: the head of the thread's history, once nothing streams.
    """
    found, messages = _interrupt(values, state), _messages(values)
    texts, wrong = _texts(messages), _said(messages)
    if found is None:
        return Shown(texts, wrong=wrong)
    asked = found.get("value") or {}
    requests, configs = asked.get("action_requests") or [], asked.get("review_configs") or []
    if not requests or not configs:
        return Shown(texts, wrong=[*wrong, f"a table of {found} with no button"])
    wrong += [f"no form for {one}" for one in requests if not isinstance(one.get("args"), dict) or not one.get("name")]
    wrong += [f"no buttons for {one}" for one in configs if not DECISIONS.issuperset(one.get("allowed_decisions", "?"))]
    wrong += [f"no config for {one['name']}" for one in requests if one["name"] not in _named(configs)]
    if messages and messages[-1]["type"] not in ("ai", "tool") and {"ai", "tool"} & {one["type"] for one in messages}:
        return Shown(texts, wrong=[*wrong, "the question is drawn nowhere: the last message is a person's"])
    return Shown(texts, requests[0]["name"], requests[0]["args"], wrong)


def deep_agents_ui(values: Json, state: Json | None = None) -> Shown:
    """deep-agents-ui: a request as a card on the call of the same name in the last message; other calls with their end.

    Args:
        values: as for Agent Chat UI.
        state: as for Agent Chat UI.
    """
    found, messages = _interrupt(values, state), _messages(values)
    texts, wrong = _texts(messages), _said(messages)
    closed = {one["tool_call_id"] for one in messages if one["type"] == "tool"}
    told = [one for one in messages if one["type"] != "tool"]
    open_calls = [call for one in told for call in one.get("tool_calls") or [] if call["id"] not in closed]
    if found is None:
        return Shown(texts, wrong=[*wrong, *(f"{call['name']} spins for ever" for call in open_calls if state)])
    requests = {one["name"]: one for one in (found.get("value") or {}).get("action_requests") or []}
    cards = [call for call in (told[-1].get("tool_calls") or [] if told else []) if call["name"] in requests]
    wrong += [f"{call['name']} is shown as stopped, with no card" for call in open_calls if call not in cards]
    if len(cards) != 1:
        return Shown(texts, wrong=[*wrong, f"{len(cards)} cards for {found}"])
    request = requests[cards[0]["name"]]
    wrong += [f"the card shows {request['args']}, the call {cards[0]['args']}"] * (request["args"] != cards[0]["args"])
    return Shown(texts, request["name"], request["args"], wrong)


def agent_inbox(thread: Json) -> Shown:
    """Agent Inbox: one row a thread that is `interrupted`; the first request, by `arguments`, with its description.

    Args:
        thread: as the list of threads has it.
    """
    found = [one for several in (thread.get("interrupts") or {}).values() for one in several]
    if thread["status"] != "interrupted":
        return Shown([], wrong=[f"{thread['status']}, with {found}"] * bool(found))
    if not found:
        return Shown([], wrong=["a row that asks nothing"])
    asked = found[0].get("value") or {}
    request, config = (asked.get("action_requests") or [{}])[0], (asked.get("review_configs") or [{}])[0]
    wrong = [f"{len(found)} questions, of which one can be answered"] * (len(found) > 1)
    wrong += [f"no {name} in the first request" for name in ("name", "arguments", "description") if name not in request]
    wrong += [f"it can only be marked as resolved: {config}"] * (not DECISIONS & {*config.get("allowed_decisions", [])})
    plain = str(request.get("description", "")).partition("\n")[0]
    wrong += [f"the row shows Markdown: {plain}"] * (plain.lstrip().startswith(("#", "*", "`", "|", "{", "[")))
    return Shown([plain], request.get("name", ""), request.get("arguments", {}), wrong)


def _interrupt(values: Json, state: Json | None) -> Json | None:
    """The question that `useStream` gives a page: of what streamed last, else of the thread's head.

    A thread that is to go on and asks nothing is a breakpoint to it, and that is drawn as a question.
    """
    if isinstance(streamed := values.get("__interrupt__"), list):
        return {"when": "breakpoint"} if not streamed else streamed[0] if len(streamed) == 1 else {"value": {}}
    if state is None:
        return None
    tasks = state.get("tasks") or []
    asked = tasks[-1].get("interrupts") if tasks else []
    return dict(asked[-1]) if asked else {"when": "breakpoint"} if state.get("next") else None


def _messages(values: Json) -> Sequence[Json]:
    return values.get("messages") or []


def _named(configs: Sequence[Json]) -> set[str]:
    return {one["action_name"] for one in configs}


def _texts(messages: Sequence[Json]) -> list[str]:
    blocks = [[one] if isinstance(one := message["content"], str) else message["content"] for message in messages]
    return ["".join(one if isinstance(one, str) else one.get("text", "") for one in several) for several in blocks]


def _said(messages: Sequence[Json]) -> list[str]:
    """What is wrong with messages on every page: they are keyed by their ids, and shown as they come."""
    ids = [one.get("id") for one in messages]
    wrong = [f"two messages have the id {one}" for one in {*ids} if ids.count(one) > 1]
    wrong += [f"no id: {one}" for one in messages if not one.get("id")]
    wrong += [
        f"{one['name']} speaks for the assistant" for one in messages if one["type"] == "ai" and one["name"] != "baton"
    ]
    wrong += [f"JSON for a person: {text}" for text in _texts(messages) if text.lstrip().startswith(('{"', "[{"))]
    return wrong
