"""Intake: what is asked, with what, under which policy. Text that arrives while work is in flight becomes a note."""

import asyncio
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from nodes.policy.strictness import stricter
from nodes.runtime.context import Node, RunContext, open_context
from nodes.runtime.listener import TOO_LATE, refuse_waiting
from nodes.runtime.rows import clear, list_run
from nodes.runtime.services import Services
from nodes.runtime.trust_store import begun_rows
from nodes.tools.collect import confined
from nodes.tools.pages import is_address
from state.channels import Terms, is_over
from state.errors import BadInput, SourcesInvalid, ToolRefused
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
        update, kept = await asyncio.to_thread(opened, state, services)
        run = open_context(services, {**state, **update}, runtime, Phase.decomposing)  # type: ignore[typeddict-item]
        update["started_at"] = run.services.clock.now()
        if run.outer is None and not run.by_hand:
            await list_run(run.store, run.thread_id, update["goal"], update["started_at"], services.door)
        update["terms"]["audited"] = await run.audit.count()
        kept += await _gathered(run, state.get("sources") or [])
        sources = await run.sources()
        skipped = [f"{item.file}: {item.reason}" for item in sources.skipped] if sources else []
        await refuse_waiting(run, f"{TOO_LATE}: the run before had ended")
        await clear(run.store, run.thread_id)
        await run.enter(begun_rows(run, update["started_at"]))
        return {**update, "warnings": [*kept, *skipped]}

    return intake


def opened(state: SupervisorState, services: Services) -> tuple[Update, list[str]]:
    """The state of a run that starts now, and what of the client's policy does not hold, in words.

    Raises:
        BadInput: no request, or one that is too long.
        PolicyInvalid: unknown or out-of-range policy fields.
        SourcesInvalid: sources outside the folders that clients may name.
    """
    if services.door:
        policy, kept = stricter(services.policy, state.get("policy"))
    else:
        policy, kept = merged_policy(services.policy, state.get("policy")), []
    terms = Terms(
        policy=policy,
        sources=confined([path for path in state.get("sources") or [] if not is_address(path)], services.source_roots),
        model=services.models.name,
        team=[agent.name for agent in services.team],
    )
    goal = checked_goal(state.get("query") or last_human(state.get("messages") or []))
    said = [HumanMessage(goal)] if state.get("query") else []
    update: Update = {
        **_blank(),
        "messages": said,
        "goal": goal,
        "terms": terms.model_dump(mode="json"),
        "phase": Phase.decomposing.value,
        "started_at": services.clock.now(),
    }
    return update, [f"policy: {name} stays as the server has it; a client may only be stricter" for name in kept]


async def _gathered(run: RunContext, sources: Sequence[str]) -> list[str]:
    """Keep the pages among the sources; what could not be had of them, a line each.

    Raises:
        SourcesInvalid: of one there is nothing.
    """
    missing: list[str] = []
    for url in filter(is_address, sources):
        try:
            missing += await run.outside.gather(run.folder, url)
        except ToolRefused as error:
            raise SourcesInvalid(f"the source {url[:200]!r} cannot be used: {error}") from None
    return missing


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


def _note(state: SupervisorState) -> Update:
    """Keep what was said, if anything was, for agents that start from now on."""
    text = (state.get("query") or last_human(state.get("messages") or [])).strip()
    notes = state.get("notes", [])
    if not text or (not state.get("query") and text in (state.get("goal"), *notes)):
        return {"query": ""}
    added = [*notes, text] if text != state.get("goal") else notes
    answer = AIMessage("Work on this thread is still in flight; this was passed on as a note. Nothing was restarted.")
    return {"query": "", "notes": added, "messages": [answer]}
