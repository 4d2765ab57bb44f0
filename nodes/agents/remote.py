"""A graph on another LangGraph server as an agent.

Its run there has a thread of its own, named by ours, so that after a crash it is found again and not started twice. It
is cancelled when ours is. Interrupts inside a remote graph never resume from here: one that asks has failed, with the
question as the reason; ask before the task is given to it. What it used is counted where it says so under `usage`.
"""

import asyncio
from contextlib import suppress
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient
from pydantic import ValidationError

from nodes.agents.invocation import Invocation
from nodes.agents.prompts import agent_input, as_data
from nodes.agents.results import outcome_of, result_as_json, result_of
from state.errors import AgentFailed
from state.record import Outcome, Usage
from state.run import Phase
from state.text import to_json

WORKING = ("pending", "running")
CANCEL_WITHIN_S = 5


async def run_remote(invocation: Invocation) -> Outcome:
    """One try.

    Raises:
        AgentFailed: the server cannot be reached, the remote run failed, timed out or was interrupted there.
    """
    remote: RemoteGraph = invocation.spec.run
    client = remote.client
    if client is None:
        raise AgentFailed(f"RemoteGraph {remote.assistant_id} has no client; make it with `url=`", "permanent")
    name = f"{invocation.execution.run.thread_id}/{invocation.execution.run.scope}/{invocation.label}"
    thread_id = str(uuid5(NAMESPACE_URL, name))
    run_id = await _started(client, remote.assistant_id, thread_id, invocation)
    try:
        values = await client.runs.join(thread_id, run_id)
    except asyncio.CancelledError:
        await _cancel(client, thread_id, run_id)
        raise
    await _checked(client, thread_id, run_id, values)
    used = _used(values)
    await invocation.execution.budget.settle(invocation.charged_task, invocation.spec.name, used)
    if phase := _gave_up(values):
        raise AgentFailed(f"the remote supervisor ended as {phase}; its report says why", "permanent")
    outcome = outcome_of(result_as_json(result_of(values)), invocation.spec.name, invocation.brief)
    await invocation.execution.budget.settle(invocation.charged_task, invocation.spec.name, outcome.usage)
    return outcome.model_copy(update={"usage": outcome.usage + used})


def _used(values: Any) -> Usage:
    """What the remote run says it has used, as a supervisor of Baton's does; nothing, where it says nothing."""
    try:
        return Usage.model_validate(values.get("usage") if isinstance(values, dict) else None)
    except ValidationError:
        return Usage()


def _gave_up(values: Any) -> str:
    """The phase in which a remote supervisor of Baton's has ended without delivering; empty otherwise."""
    phase = values.get("phase") if isinstance(values, dict) and "report" in values else None
    return str(phase) if phase in (Phase.failed, Phase.cancelled, Phase.handed_over) else ""


async def _started(client: LangGraphClient, assistant: str, thread_id: str, invocation: Invocation) -> str:
    """The id of the remote run: the one that a crash cut us off from, or a new one."""
    await client.threads.create(thread_id=thread_id, if_exists="do_nothing")
    known = await client.runs.list(thread_id, limit=1)
    if known and known[0]["status"] in (*WORKING, "success"):
        return str(known[0]["run_id"])
    made = await client.runs.create(thread_id, assistant, input=as_data(agent_input(invocation)))
    return str(made["run_id"])


async def _cancel(client: LangGraphClient, thread_id: str, run_id: str) -> None:
    """End the remote run, as far as the server still answers."""
    with suppress(Exception):
        async with asyncio.timeout(CANCEL_WITHIN_S):
            await client.runs.cancel(thread_id, run_id)


async def _checked(client: LangGraphClient, thread_id: str, run_id: str, values: Any) -> None:
    status = str((await client.runs.get(thread_id, run_id))["status"])
    if status == "success":
        state = await client.threads.get_state(thread_id)
        if not state["next"]:
            return
        status = "interrupted"
    if status == "interrupted":
        asked = await _asked(client, thread_id)
        raise AgentFailed(
            f"the remote graph asks {asked}; it cannot be answered from here: ask before it is started, or let it "
            "decide by itself",
            "permanent",
        )
    said = values.get("__error__") if isinstance(values, dict) else None
    why = f": {said.get('message') or said.get('error')}" if isinstance(said, dict) else ""
    raise AgentFailed(f"the remote run ended with status {status}{why}", "transient")


async def _asked(client: LangGraphClient, thread_id: str) -> str:
    waiting = cast(dict[str, list[dict[str, Any]]], (await client.threads.get(thread_id)).get("interrupts") or {})
    values = [to_json(one.get("value")) for items in waiting.values() for one in items]
    return "; ".join(str(value)[:300] for value in values) or "something"
