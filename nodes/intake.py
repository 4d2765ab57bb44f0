"""Intake: what is asked, with what, under which policy. Text that arrives while work is in flight becomes a note."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from nodes.policy.conversation import turns_before
from nodes.runtime.context import Node, open_context
from nodes.runtime.listener import TOO_LATE, refuse_waiting
from nodes.runtime.rows import clear, list_run
from nodes.runtime.services import Services
from nodes.runtime.trust_store import begun_rows
from nodes.tools.readers.table import READABLE
from state.channels import Terms, is_over
from state.conversation import Turn
from state.errors import BadInput
from state.policy import merged_policy
from state.run import Phase
from state.supervisor import SupervisorState, Update

LONGEST_QUERY = 100_000
"""Characters; what is longer belongs into a source."""


def make_intake(services: Services) -> Node:
    """The node."""

    async def intake(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Start a run, or take a note for the one in flight, which goes on by its phase."""
        if state.get("phase") and not is_over(state):
            return _note(state)
        update = await asyncio.to_thread(opened, state, services)
        run = open_context(services, {**state, **update}, runtime, Phase.decomposing)  # type: ignore[typeddict-item]
        update["started_at"] = run.services.clock.now()
        if run.outer is None and not run.by_hand:
            await list_run(run.store, run.thread_id, update["goal"], update["started_at"], services.door)
        sources = await run.sources()
        skipped = [f"{item.file}: {item.reason}" for item in sources.skipped] if sources else []
        await refuse_waiting(run, f"{TOO_LATE}: the run before had ended")
        await clear(run.store, run.thread_id)
        await run.enter(begun_rows(run, update["started_at"]))
        return {**update, "warnings": [*update["warnings"], *skipped]}

    return intake


def opened(state: SupervisorState, services: Services) -> Update:
    """The state of a run that starts now. Blocking: files of earlier runs of the thread are looked for.

    Raises:
        BadInput: no request, or one that is too long.
        PolicyInvalid: unknown or out-of-range policy fields.
    """
    messages = state.get("messages") or []
    goal = checked_goal(state.get("query") or last_human(messages))
    earlier = turns_before(state, _before_last_human(messages, is_query=bool(state.get("query"))))
    sources, gone = _sources(state, earlier)
    terms = Terms(
        policy=merged_policy(services.policy, state.get("policy")),
        sources=sources,
        model=services.models.name,
        team=[agent.name for agent in services.team],
    )
    said = [HumanMessage(goal)] if state.get("query") else []
    return {
        **_blank(),
        "messages": said,
        "earlier": [turn.model_dump(mode="json") for turn in earlier],
        "goal": goal,
        "warnings": gone,
        "terms": terms.model_dump(mode="json"),
        "phase": Phase.decomposing.value,
        "started_at": services.clock.now(),
    }


def _blank() -> Update:
    """What an earlier run on the thread may have left, as it is before anything has happened."""
    return {
        "query": "",
        "tasks": [],
        "draft": None,
        "mode": None,
        "iteration": 0,
        "accepted": "",
        "worked_s": 0.0,
        "control": None,
        "decisions": {},
        "asked": None,
        "handed_back": 0,
        "replanned": [],
        "unread": "",
        "refused": {},
        "unreviewed": "",
        "doubts": [],
        "notes": [],
        "objections": [],
        "spent": {},
        "artifacts": [],
        "usage": {},
        "report": "",
        "error": None,
        "at_limit": False,
        "finished_at": None,
    }


def checked_goal(text: str | None) -> str:
    """The request, if it is one.

    Raises:
        BadInput: it is empty or too long.
    """
    goal = (text or "").strip()
    if not goal:
        raise BadInput("the request is empty; say what is to be done")
    if len(goal) > LONGEST_QUERY:
        raise BadInput(f"the request has {len(goal)} characters; give at most {LONGEST_QUERY}, the rest as a source")
    return goal


def last_human(messages: Sequence[AnyMessage]) -> str:
    """The text of the last human message, or an empty string."""
    return next((message.text for message in reversed(messages) if message.type == "human"), "")


def _before_last_human(messages: Sequence[AnyMessage], *, is_query: bool) -> list[tuple[str, str]]:
    """Who said what before the request, which is the last human message where it did not come as a query."""
    said = [(str(message.type), str(message.text)) for message in messages]
    last = max((number for number, (who, _) in enumerate(said) if who == "human"), default=0)
    return said if is_query else said[:last]


def _sources(state: SupervisorState, earlier: Sequence[Turn]) -> tuple[list[str], list[str]]:
    """What agents may read, and what is left out of it: the thread's sources, and the files of its earlier runs.

    A source that a run of the thread has had already, and that is not there any more, does not keep the next from
    starting; one that was given just now does.
    """
    given = list(state.get("sources") or [])
    before = Terms.model_validate(state.get("terms") or {}).sources
    gone = [path for path in given if path in before and not Path(path).exists()]
    made = [artifact.path for turn in earlier for artifact in turn.artifacts]
    readable = [path for path in made if Path(path).suffix.lower() in READABLE and Path(path).is_file()]
    sources = [path for path in dict.fromkeys([*given, *readable]) if path not in gone]
    return sources, [f"the source {path} of this thread is not there any more; it was left out" for path in gone]


def _note(state: SupervisorState) -> Update:
    """Keep what was said, if anything was, for agents that start from now on."""
    text = (state.get("query") or last_human(state.get("messages") or [])).strip()
    notes = state.get("notes", [])
    if not text or (not state.get("query") and text in (state.get("goal"), *notes)):
        return {"query": ""}
    added = [*notes, text] if text != state.get("goal") else notes
    answer = AIMessage("Work on this thread is still in flight; this was passed on as a note. Nothing was restarted.")
    return {"query": "", "notes": added, "messages": [answer]}
