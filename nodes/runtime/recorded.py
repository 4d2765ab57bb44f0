"""What is done once: recorded by LangGraph, so that after a crash it is not done again.

This is the one place where the supervisor's own model calls are retried; agents' calls are retried task by task
(`nodes.agents.attempts`), and the model clients themselves do not retry at all.
"""

from collections.abc import Awaitable, Callable

from langgraph.func import task

from nodes.policy.failures import retry_delay
from nodes.runtime.context import RunContext
from nodes.runtime.journal import Json
from nodes.runtime.meter import Meter
from state.errors import ModelUnavailable
from state.usage import Usage

Thunk = Callable[[], Awaitable[Json]]


def recorder(run: RunContext, prefix: str, meter: Meter, size: int) -> Callable[[str, Thunk], Awaitable[Json]]:
    """A function that makes a call under a unique name, or returns what it returned before a crash.

    `size`: characters of the prompt. The call's reply carries what it has used under `usage`.

    Raises:
        BudgetUsedUp: by the function, when a limit of the run leaves no room.
    """

    async def call(name: str, thunk: Thunk) -> Json:
        async def within_budget() -> Json:
            async with meter.supervising(size) as room:
                made = await _patiently(run, thunk)
                room.used = Usage.model_validate(made["usage"])
                return made

        reply = await once(f"{prefix}:{name}", within_budget)
        meter.add_own(Usage.model_validate(reply["usage"]))
        return reply

    return call


async def once(name: str, thunk: Thunk) -> Json:
    """What `thunk` returns, kept by LangGraph under `name`: after a crash it is not called again.

    Names are unique within whatever calls this, and come in a fixed order: LangGraph tells results apart by both.
    """

    async def made() -> Json:
        return await thunk()

    kept: Json = await task(name=name)(made)()  # type: ignore[arg-type] # its type fits no closure
    return kept


async def _patiently(run: RunContext, thunk: Thunk) -> Json:
    """The call, tried again while the model is merely unavailable, as often as the policy grants."""
    number = 1
    while True:
        try:
            return await thunk()
        except ModelUnavailable:
            if number >= run.policy.max_attempts:
                raise
        await run.services.clock.sleep(retry_delay(number, run.services.clock.jitter()))
        number += 1
