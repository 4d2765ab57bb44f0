"""From what an agent returned to an outcome: its text, its claims with citations, and a bounded size.

A claim is a statement with the places it names and what stands there. A big result goes to a file, and the state of the
run holds its beginning and where it is.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, cast

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from nodes.agents.citations import claims_in
from nodes.tools.files import digest, place_in, put
from nodes.tools.sources import Sources
from nodes.tools.storage import Location
from state.agent import Brief
from state.errors import AgentFailed
from state.record import NOTHING, Artifact, Outcome, Usage
from state.text import all_unicode, as_text, to_json

OUTCOME_KEYS = frozenset({"result", "confidence", "artifacts", "cost", "failed"})
"""A returned mapping with any of these is an outcome; any other is the result itself."""

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def outcome_of(returned: object, agent: str, brief: Brief) -> Outcome:
    """What a function returned, as an outcome.

    Raises:
        AgentFailed: it declared failure, returned nothing, or something that is not plain JSON,
            or a cost that is none.
    """
    is_outcome = isinstance(returned, Mapping) and OUTCOME_KEYS & set(returned)
    fields: Mapping[str, Any] = cast(Mapping[str, Any], returned) if is_outcome else {"result": returned}
    if reason := fields.get("failed"):
        raise AgentFailed(str(reason), "declared")
    result = fields.get("result")
    is_nothing = result is None or (isinstance(result, str) and not result.strip())
    if is_nothing and not fields.get("artifacts"):
        raise AgentFailed("the agent returned nothing; return a text or a mapping with `result`", "invalid")
    try:
        used = Usage(cost=cost) if (cost := fields.get("cost")) else NOTHING
        to_json = all_unicode(_JSON.validate_python(result if result is not None else "", strict=True))
        if not 0 <= used.cost < inf:
            raise AgentFailed(f"the agent returned what is not an outcome: cost: {used.cost} is no price", "invalid")
        return Outcome(
            task_id=brief.task.id,
            agent=agent,
            status="done",
            result=to_json,
            confidence=fields.get("confidence"),
            artifacts=fields.get("artifacts") or [],
            usage=used,
            also_answers=also_answered(fields.get("also_answers"), brief),
            review=fields.get("review") if brief.reviews else None,
            iteration=brief.iteration,
        )
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'result'}: {e['msg']}" for e in error.errors()[:3])
        raise AgentFailed(f"the agent returned what is not an outcome: {wrong}", "invalid") from error


def also_answered(said: object, brief: Brief) -> list[str]:
    """Ids, of what builds on the task, of what its agent says it has answered too; what names none of them is void."""
    named = said if isinstance(said, list) else [said]
    return [task_id for task_id in brief.then if task_id in named]


def result_as_json(value: object) -> object:
    """A graph's result as plain JSON; text of any length stays whole."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("result"), str):
        stored = {
            key: item
            for key, item in value.items()
            if key in ("result", "confidence", "artifacts", "cost", "also_answers", "review")
        }
        return {**stored, "failed": value["failed"]} if value.get("failed") else stored
    made = to_json(value, longest=sys.maxsize, most=sys.maxsize)
    if made in ({}, None):
        raise AgentFailed("the graph ended without a result; let it set `result` or end on a message", "invalid")
    return made


def result_of(answer: object) -> object:
    """The result in what a Runnable or graph returned: `result`, a structured response, the last message, or all."""
    if isinstance(answer, BaseMessage):
        return answer.text
    if isinstance(answer, BaseModel):
        return answer.model_dump(mode="json")
    if not isinstance(answer, Mapping):
        return answer
    if "failed" in answer or "result" in answer:
        return answer
    if answer.get("structured_response") is not None:
        return result_of(answer["structured_response"])
    messages = answer.get("messages")
    if isinstance(messages, Sequence) and messages and not isinstance(messages, str):
        last = messages[-1]
        text = last.get("content") if isinstance(last, Mapping) else getattr(last, "text", None)
        return text if isinstance(text, str) else as_blocks(text)
    return {key: value for key, value in answer.items() if key not in ("messages", "task")}


def as_blocks(content: object) -> str:
    """The text of a message's content blocks."""
    blocks = cast(Sequence[JsonValue], content) if isinstance(content, Sequence) else []
    return "".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))


LARGEST = 100_000
"""Characters of a result that go into the state of a run; what is longer becomes an artifact."""
SHOWN = 4_000
"""Characters of such a result that stay."""


QUICK = 2_000
"""Characters of a result that take less to look through, without sources, than a thread takes to start."""


def is_quick(outcome: Outcome, sources: Sources | None) -> bool:
    """Whether `stored` does nothing that holds up an event loop."""
    return outcome.status != "done" or (sources is None and len(outcome.text) <= QUICK)


def stored(outcome: Outcome, folder: Location, sources: Sources | None) -> Outcome:
    """The outcome with its claims found and its size bounded. Blocking, unless it `is_quick`.

    Raises:
        ToolRefused: the artifacts folder cannot be written to.
    """
    if outcome.status != "done":
        return outcome
    text = outcome.text
    if len(text) > LARGEST:
        artifact = _filed(outcome, folder)
        note = f"\n\n… ({len(text)} characters in all, in the artifact {artifact.name})"
        outcome = outcome.model_copy(
            update={"result": text[:SHOWN] + note, "artifacts": [*outcome.artifacts, artifact], "claims": []}
        )
    if outcome.claims:
        return outcome
    return outcome.model_copy(update={"claims": claims_in(as_text(outcome.result), outcome.task_id, sources)})


def _filed(outcome: Outcome, folder: Location) -> Artifact:
    is_text = isinstance(outcome.result, str)
    name = f"results/{outcome.task_id}.{'txt' if is_text else 'json'}"
    content = outcome.text if is_text else json.dumps(outcome.result, ensure_ascii=False)
    data = content.encode("utf-8", "replace")
    target = place_in(folder, name)
    put(target, data, overwrite=True)
    return Artifact(
        name=name, path=str(target.resolve()), bytes=len(data), sha256=digest(data), task_id=outcome.task_id
    )
