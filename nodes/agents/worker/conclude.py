"""Last step: from the conversation to an outcome."""

import re
from functools import partial
from typing import cast

from langchain_core.messages import AIMessage, ToolMessage, messages_to_dict
from langgraph.runtime import Runtime
from pydantic import JsonValue

from nodes.agents.citations import asked_in, claims_in, computations
from nodes.agents.results import LARGEST, also_answered
from nodes.agents.tool_calls import own_limit, without_answer
from nodes.agents.worker.context import WorkerContext, WorkerState
from nodes.agents.worker.desk_tools import DELEGATE
from nodes.agents.worker.think import answer_in
from nodes.llm.ask import name_of
from nodes.llm.cut_off import doubt_of_end
from nodes.policy.confidence import split_confidence
from nodes.policy.headings import without_thoughts
from nodes.policy.judging import split_review
from nodes.tools.thread import in_thread
from state.approval import Approval
from state.record import Artifact, Failure, Outcome, Usage
from state.supervisor import Update

_ANSWERS = re.compile(r"^[\s*_>-]*also answers[*_]*\s*:(?P<ids>[^\n]*)(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)
_FAILED = re.compile(r"^\W*failed\s*:\s*(?P<why>.+)", re.IGNORECASE | re.DOTALL)


async def conclude(state: WorkerState, runtime: Runtime[WorkerContext]) -> Update:
    """The outcome of the task: done, failed as the agent declares, or parked with its conversation."""
    context = runtime.context
    outcome = Outcome(
        task_id=context.invocation.brief.task.id,
        agent=context.invocation.spec.name,
        status="done",
        usage=Usage.model_validate(state.get("usage") or {}),
        model=name_of(context.model),
        artifacts=_artifacts(state, context.invocation.brief.task.id),
        iteration=context.invocation.brief.iteration,
    )
    if state.get("questions"):
        questions = [Approval.model_validate(question) for question in state["questions"]]
        changes: dict[str, object] = {"status": "parked", "approvals": questions, "conversation": conversation(state)}
    elif state.get("halted"):
        changes = {"status": "parked", "conversation": conversation(state)}
    elif handed := state.get("handed"):
        failure = Failure(kind="declared", message=f"handed over to {handed['to']}")
        said = {"result": handed["note"], "handed_to": handed["to"]}
        changes = {"status": "failed", "failure": failure, **said}
    elif state.get("failure"):
        failure = Failure.model_validate(state["failure"])
        changes = {"status": "failed", "failure": failure, "conversation": conversation(state)}
        if (
            failure.kind == "limit"
            and context.invocation.execution.budget.exhausted
            and (delivered := _by_workers(state))
        ):
            changes = await _delivered({**state, "limited": failure.message}, context, delivered)
            changes["confidence"] = None  # the run ends here: nobody is asked whether it will do
    else:
        changes = await _delivered(state, context, answer_in(state["messages"]))
    return {"outcome": outcome.model_copy(update=changes).model_dump(mode="json")}


def conversation(state: WorkerState) -> list[JsonValue]:
    """What was said so far, as plain data."""
    return cast(list[JsonValue], messages_to_dict(state["messages"]))


def _by_workers(state: WorkerState) -> str:
    """What others have delivered to it: all there is where the run ends before it can say something itself."""
    return "\n\n".join(
        message.text
        for message in state["messages"]
        if isinstance(message, ToolMessage) and message.name == DELEGATE and message.status != "error"
    )


async def _delivered(state: WorkerState, context: WorkerContext, said: str) -> dict[str, object]:
    """The outcome of what was `said` last."""
    text, confidence = split_confidence(without_thoughts(said))
    named = [name for line in _ANSWERS.finditer(text) for name in re.split(r"[\s,;`*]+", line["ids"])]
    if also := also_answered(named, context.invocation.brief):
        text = _ANSWERS.sub("", text).strip()
    text, review = split_review(text, context.invocation.brief.reviews)
    cut_off = state.get("cut_off")
    if declared := _FAILED.match(text):
        return {"status": "failed", "failure": Failure(kind="declared", message=declared["why"].strip()[:2000])}
    if not text and not _artifacts(state, context.invocation.brief.task.id):
        if limit := own_limit(context.invocation.spec, state.get("thoughts", 0)) if state.get("limited") else "":
            return {
                "status": "failed",
                "failure": Failure(kind="limit", message=without_answer(limit, state["messages"])),
            }
        why = f"the agent gave an empty answer{f': {cut_off}' if cut_off else ''}"
        return {"status": "failed", "failure": Failure(kind="invalid", message=why)}
    doubts = [doubt_of_end(context.invocation.spec.name, context.invocation.brief.task.id, cut_off)] if cut_off else []
    records, earlier = context.invocation.execution.records.values(), context.invocation.brief.earlier
    computed = {**computations(records, earlier), **_computed(state)}
    is_kept = len(text) <= LARGEST  # of what is longer only the beginning stays, with claims of its own
    brief, stated = context.invocation.brief, text if is_kept else ""
    sources = await context.invocation.execution.run.sources()  # with pages that it has fetched
    claims = await in_thread(partial(claims_in, stated, brief.task.id, sources, computed, asked_in(brief)))
    if state.get("limited"):
        confidence = min(confidence if confidence is not None else 1.0, 0.5)
        text += f"\n\n(The agent stopped early: {state['limited']}.)"
    limited = state.get("limited") or ""
    return {
        "result": text,
        "claims": claims,
        "confidence": confidence,
        "limited": limited,
        "doubts": doubts,
        "also_answers": also,
        "review": review,
    }


def _artifacts(state: WorkerState, task_id: str) -> list[Artifact]:
    """What its tools wrote, the last version of each name."""
    found: dict[str, Artifact] = {}
    for message in state["messages"]:
        made = message.artifact if isinstance(message, ToolMessage) and isinstance(message.artifact, dict) else {}
        for one in made.get("artifacts", [made] if "sha256" in made else []):
            artifact = Artifact.model_validate({**one, "task_id": task_id})
            found[artifact.name] = artifact
    return list(found.values())


def _computed(state: WorkerState) -> dict[str, str]:
    """For each tool result, by its text, the SQL that made it: what a `#table` label stands for."""
    sql = {
        str(call["id"]): str(call["args"].get("sql", ""))
        for message in state["messages"]
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["name"] == "query"
    }
    return {
        message.text: sql[message.tool_call_id]
        for message in state["messages"]
        if isinstance(message, ToolMessage) and message.status != "error" and message.tool_call_id in sql
    }
