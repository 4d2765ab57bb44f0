"""Intake: what is asked, with what, under which policy. Text that arrives while work is in flight becomes a note."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.store.base import PutOp

from nodes.approve import take_answers
from nodes.policy.answers import typed_answer
from nodes.policy.approvals import open_questions
from nodes.policy.conversation import turns_before
from nodes.policy.routing import given_plan
from nodes.policy.schemas import checked_schema
from nodes.policy.strictness import stricter
from nodes.policy.wording import decided
from nodes.runtime.context import Node, RunContext, open_context, run_folder, thread_of
from nodes.runtime.execution import catch_up, resumed_execution
from nodes.runtime.listener import TOO_LATE, refuse_waiting
from nodes.runtime.nesting import OuterRun
from nodes.runtime.rows import clearing, listing
from nodes.runtime.services import Choice, Services
from nodes.runtime.story import NAME, is_story
from nodes.runtime.trust_store import begun_rows
from nodes.tools.collect import confined
from nodes.tools.pages import GivenSources
from nodes.tools.readers.table import is_readable
from nodes.tools.storage import Location, lies_in, location
from nodes.tools.uploads import kept_uploads
from state.approval import Answer
from state.channels import KeptTerms, Terms, is_over, terms_of
from state.conversation import Turn
from state.errors import BadInput, PolicyInvalid, SourcesInvalid, ToolRefused
from state.policy import merged_policy
from state.preferences import checked_preferences
from state.run import Phase
from state.supervisor import SupervisorState, Update

LONGEST_QUERY = 100_000
"""Characters; what is longer belongs into a source."""


def make_intake(base: Services) -> Node:
    """The node."""

    async def intake(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Start a run, or take a note for the one in flight, which goes on by its phase.

        On a server the thread says so where a request is turned away; then whoever sent it gets the error.
        """
        if _is_told(state):
            raise BadInput(state["turned_away"])
        if state.get("phase") and not is_over(state):
            return await _said_meanwhile(base.chosen(_choice_of(state)), state, runtime)
        try:
            return await begun(state, runtime)
        except BadInput as error:
            if not base.door or isinstance(cast(object, runtime.context), OuterRun):
                raise
            return _turned_away(state, str(error))

    async def begun(state: SupervisorState, runtime: Runtime[None]) -> Update:
        _check_kinds(state)
        folder = run_folder(base.artifacts, thread_of(get_config()))
        given = cast(object, runtime.context)
        wanted = checked_preferences(given if isinstance(given, Mapping) else {})
        choice = Choice(wanted.model, wanted.team)
        services = base.chosen(choice)
        asked: SupervisorState = {
            **state,
            "policy": {**wanted.policy, **(state.get("policy") or {})},
            "sources": state.get("sources") or wanted.sources,
        }
        update, left_out = await asyncio.to_thread(opened, asked, services, folder)
        chosen = {"chosen_model": choice.model, "chosen_team": choice.team}
        update["terms"] = KeptTerms(update["terms"].terms.model_copy(update=chosen))
        run = open_context(services, {**state, **update}, runtime, Phase.decomposing)  # type: ignore[typeddict-item]
        update["started_at"], update["story"] = run.services.clock.now(), f"{NAME}-{run.scope}"
        audited, gone, listed, _ = await asyncio.gather(
            run.audit.count(),
            clearing(run.store, run.thread_id),
            _listing(run, update["goal"], update["started_at"]),
            run.journal.load(),
        )
        update["terms"] = KeptTerms(update["terms"].terms.model_copy(update={"audited": {run.thread_id: audited}}))
        left_out += await _gathered(run, asked["sources"])
        sources = await run.sources()
        skipped = [f"{item.file}: {item.reason}" for item in sources.skipped] if sources else []
        await refuse_waiting(run, f"{TOO_LATE}: the run before had ended")
        await run.enter([*gone, *listed, *begun_rows(run, update["started_at"])])
        return {**update, "warnings": [*left_out, *skipped]}

    return intake


async def _listing(run: RunContext, goal: str, started_at: float) -> list[PutOp]:
    """What lists the run, unless it is part of another."""
    if run.outer or run.by_hand:
        return []
    return await listing(run.store, run.thread_id, goal, started_at, run.services.door)


def _choice_of(state: SupervisorState) -> Choice:
    terms = terms_of(state)
    return Choice(terms.chosen_model, terms.chosen_team)


def _is_told(state: SupervisorState) -> bool:
    """Whether what came last was turned away, and the thread says so; what comes after that is looked at anew."""
    messages = state.get("messages") or []
    return bool(state.get("turned_away") and not state.get("query") and messages and messages[-1].type == "ai")


def _turned_away(state: SupervisorState, why: str) -> Update:
    """What the thread says of a request that cannot be worked on; nothing that came with it counts for the next."""
    messages, query = state.get("messages") or [], str(state.get("query") or "").strip()
    said = [HumanMessage(query)] if query else []
    told = AIMessage(f"This could not be started: {why}", id=f"{NAME}-refused-{len(messages)}", name=NAME)
    before = terms_of(state).sources
    left: Update = {"query": "", "plan": None, "policy": None, "schema": None, "sources": before}
    return {**left, "turned_away": why, "messages": [*said, told]}


def _check_kinds(state: SupervisorState) -> None:
    """Refuse what is no text where text is asked for: LangGraph takes anything.

    Raises:
        BadInput: a request that is none.
        SourcesInvalid: sources that are none.
        PolicyInvalid: a policy that is none.
    """
    query, sources = cast(object, state.get("query") or ""), cast(object, state.get("sources") or [])
    if not isinstance(query, str):
        raise BadInput(f"the request is {query!r:.80}; say as text what is to be done")
    if not isinstance(sources, list) or not all(isinstance(source, str | Path) for source in sources):
        raise SourcesInvalid('the sources are no list of files, folders and pages; give one such as ["notes.md"]')
    if not isinstance(cast(object, state.get("policy") or {}), Mapping):
        raise PolicyInvalid('the policy is no mapping; give one such as {"oversight": "in_command"}')


def opened(state: SupervisorState, services: Services, folder: Location) -> tuple[Update, list[str]]:
    """The state of a run that starts now, and what of what was given does not hold, in words. Blocking.

    `folder`: where the thread's runs have put their files.

    Raises:
        BadInput: no request, or one that is too long.
        PlanInvalid: a plan that cannot be carried out by this team.
        PolicyInvalid: unknown or out-of-range policy fields.
        SourcesInvalid: sources outside the folders that clients may name.
        SchemaInvalid: a schema that no answer can be asked to fit.
    """
    messages = state.get("messages") or []
    goal = checked_goal(state.get("query") or last_human(messages))
    earlier = turns_before(state, _before_last_human(messages, is_query=bool(state.get("query"))))
    if services.door:
        policy, kept = stricter(services.policy, state.get("policy"))
    else:
        policy, kept = merged_policy(services.policy, state.get("policy")), []
    check_reviewer(policy.reviewer, services)
    if state.get("plan"):
        given_plan(state["plan"], services.team.specs, policy.max_team_size)
    said_last = messages[-1].content if messages and not state.get("query") else ""
    uploads = kept_uploads(said_last, folder, services.max_source_bytes)
    given, gone = _sources(state)
    if not (given or uploads or GivenSources.of(state.get("sources") or []).pages):
        given = list(services.sources)
    terms = Terms(
        policy=policy,
        sources=[*dict.fromkeys([*confined(given, services.source_roots), *uploads, *_made_before(earlier, folder)])],
        model=services.models.name,
        answer=checked_schema(state["schema"]) if state.get("schema") else None,
        team=[agent.name for agent in services.team],
    )
    said = [HumanMessage(goal)] if state.get("query") else []
    update: Update = {
        **_blank(),
        **({"data": None, "fields": []} if terms.answer or "data" in state else {}),
        "messages": said,
        "earlier": [turn.model_dump(mode="json") for turn in earlier],
        "goal": goal,
        "terms": KeptTerms(terms),
        "phase": Phase.decomposing.value,
        "started_at": services.clock.now(),
    }
    stays = [f"policy: {name} stays as the server has it; a client may only be stricter" for name in kept]
    return update, [*stays, *(f"the source {path} is not there any more; it was left out" for path in gone)]


async def _gathered(run: RunContext, sources: Sequence[str]) -> list[str]:
    """Keep the pages among the sources that no run of the thread has kept; what could not be had, a line each.

    Raises:
        SourcesInvalid: of one there is nothing.
    """
    missing: list[str] = []
    for url in GivenSources.of(sources).pages:
        if await run.outside.has_kept(run.folder, url):
            continue
        try:
            missing += await run.outside.gather(run.folder, url)
        except ToolRefused as error:
            raise SourcesInvalid(f"the source {url[:200]!r} cannot be used: {error}") from None
    return missing


def check_reviewer(name: str, services: Services) -> None:
    """Refuse a reviewer that cannot review.

    Raises:
        PolicyInvalid: there is no such agent, or it has no chat model.
    """
    if name and name not in services.team.names:
        there = ", ".join(services.team.names)
        raise PolicyInvalid(f"the policy's reviewer {name!r} is not in the team; there are: {there}")
    if name and services.team.agent(name).run is not None:
        raise PolicyInvalid(f"the policy's reviewer {name!r} is not led by a chat model; name an agent that is")


def _blank() -> Update:
    """What an earlier run on the thread may have left, as it is before anything has happened."""
    return {
        "query": "",
        "turned_away": "",
        "schema": None,
        "tasks": [],
        "draft": None,
        "advice": None,
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
        "failing": {},
        "gaps": [],
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
    said = [(str(message.type), str(message.text)) for message in messages if not is_story(message)]
    last = max((number for number, (who, _) in enumerate(said) if who == "human"), default=0)
    return said if is_query else said[:last]


def _sources(state: SupervisorState) -> tuple[list[str], list[str]]:
    """What agents may read, and what was taken out of it.

    A source that a run of the thread has had already, and that is not there any more, does not keep the next from
    starting; one that was given just now does.
    """
    given = GivenSources.of(state.get("sources") or []).paths
    before = terms_of(state).sources
    gone = [path for path in given if path in before and not location(path).exists()]
    return [path for path in given if path not in gone], gone


def _made_before(earlier: Sequence[Turn], folder: Location) -> list[str]:
    """The files that tasks of earlier runs of the thread have made, where they can be read, in the run's own folder.

    What a report draws, and the figures behind it, no task has made: they say again what the sources say.
    """
    made = dict.fromkeys(artifact.path for turn in earlier for artifact in turn.artifacts if artifact.task_id)
    found = [location(path).resolve() for path in made]
    home = folder.resolve()
    return [str(one) for one in found if is_readable(one.name) and lies_in(one, home) and one.is_file()]


_ANSWERED: dict[Answer, str] = {"approve": "approved", "reject": "rejected", "edit": "approved with changes"}


async def _said_meanwhile(services: Services, state: SupervisorState, runtime: Runtime[None]) -> Update:
    """Take up what was said, if anything was: the answer to the one open question, or a note.

    A note is for agents that start from now on. What is said last is new as long as nothing was said to it: a run may
    come by here again. A schema comes too late for this run, a plan where there is one, and neither is the next run's.
    """
    messages = state.get("messages") or []
    text = str(state.get("query") or last_human(messages[-1:])).strip()
    late = [name for name in ("plan", "schema") if state.get(name) and (name == "schema" or state.get("draft"))]
    left: Update = {"query": "", **dict.fromkeys(late)}
    if not text or (not state.get("query") and text == state.get("goal")):
        return left
    questions = open_questions(state)
    if len(questions) == 1 and (answer := typed_answer(text)):
        execution = await resumed_execution(open_context(services, state, runtime, Phase(state["phase"])), state)
        problems = await take_answers(execution, questions, answer)
        made = execution.signals.decisions[questions[0].id]
        title = questions[0].title
        taken = f"Taken as your answer to “{title}”: {_ANSWERED[made.type]}."
        reply = f"“{title}” was answered before: {decided(made)}." if problems else taken
        return {
            **await catch_up(execution, state),
            **left,
            "unread": "",
            "messages": [AIMessage(reply, name=NAME)],
        }
    notes = state.get("notes", [])
    added = [*notes, text] if text not in (state.get("goal"), *notes) else notes
    reply = "Work on this thread is still in flight; this was passed on as a note. Nothing was restarted."
    if late:
        reply += f" What came with it was left out, give it with the next request: {' and '.join(late)}."
    return {**left, "notes": added, "messages": [AIMessage(reply, name=NAME)]}
