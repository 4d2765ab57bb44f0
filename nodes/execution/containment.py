"""Containment: whatever an agent does, its attempt ends in an outcome.

Normal end, exception (its stack goes to the log `baton.agents`), time-out, a question, a hand-over, even `sys.exit` or
the panic of an extension: only cancellation and what LangGraph itself needs pass through.

The event loop, its executor and its task factory are those of the program around Baton, and stay as they are. So one
thing is not contained: asyncio lets SystemExit out of every task and through the loop, whoever waits for that task.
`sys.exit` in an agent's own coroutine or thread, in a node of its graph or in a tool made of a function is an outcome
(`nodes.runtime.calling.contained`); in a task that the agent, or LangChain for it, starts (`asyncio.create_task`,
`gather`, an async RunnableLambda, a tool class with `_arun`) it ends what it would end there: the process.
`baton resume` goes on after that.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from langgraph.errors import GraphBubbleUp, GraphRecursionError

from nodes.agents.invocation import Invocation, kind_of
from nodes.policy.failures import failure_of
from nodes.runtime.calling import CANCELLED, ENDED, HandOver, Parked, first_of_group, is_an_end
from state.errors import AgentFailed, FailureClass, ModelFailed, ToolRefused
from state.record import Failure, Outcome
from state.text import as_unicode, in_words

LOG = logging.getLogger("baton.agents")
LOG.addHandler(logging.NullHandler())  # silent unless somebody listens: stacks are for logs, not for terminals

DEFECTS = (NotImplementedError, NameError, TypeError, AttributeError, ImportError, SyntaxError)
"""Exceptions that another try of the same code will raise again."""
RESUMED: frozenset[FailureClass] = frozenset({"transient", "timeout"})
"""After these a graph goes on at the step that failed; after others it begins anew."""


async def run_contained(invocation: Invocation, work: Callable[[Invocation], Awaitable[Outcome]]) -> Outcome:
    """The outcome of one try, with its times."""
    clock = invocation.execution.run.services.clock
    started = clock.now()
    outcome = await _contained(invocation, work)
    return outcome.model_copy(update={"started_at": started, "finished_at": clock.now()})


async def _contained(invocation: Invocation, work: Callable[[Invocation], Awaitable[Outcome]]) -> Outcome:
    limit = asyncio.timeout(invocation.spec.limits.timeout_s)
    try:
        async with limit:
            return await first_of_group(work(invocation))
    except Parked as parked:
        asked = [one.model_copy(update={"path": one.path or invocation.path}) for one in parked.approvals]
        changes = {"status": "parked", "approvals": asked, "conversation": list(parked.conversation)}
        return blank(invocation).model_copy(update=changes)
    except HandOver as handed:
        said = {"handed_to": handed.to, "result": handed.note}
        return failed(invocation, "declared", f"handed over to {handed.to}").model_copy(update=said)
    except GraphBubbleUp:
        raise
    except BaseException as error:
        if is_an_end(error):
            raise
        if isinstance(error, TimeoutError) and limit.expired():
            return failed(invocation, "timeout", f"no result within {invocation.spec.limits.timeout_s:g} seconds")
        return _defeated(invocation, error)


def _defeated(invocation: Invocation, error: BaseException) -> Outcome:
    """The outcome of a try that raised `error`: a defect of one agent is no defect of the run."""
    match error:
        case AgentFailed():
            return failed(invocation, error.failure, str(error), error.__cause__)
        case ModelFailed():
            return failed(invocation, failure_of(error), str(error), error.__cause__)
        case ToolRefused():
            return failed(invocation, "permanent", str(error))
        case GraphRecursionError():
            return failed(invocation, "limit", f"its graph went on without end: {error}", error)
        case SystemExit():
            return failed(invocation, "permanent", ENDED, error)
        case asyncio.CancelledError():
            return failed(invocation, "transient", CANCELLED, error)
    return failed(invocation, "permanent" if isinstance(error, DEFECTS) else "transient", in_words(error), error)


def failed(invocation: Invocation, kind: FailureClass, message: str, cause: BaseException | None = None) -> Outcome:
    """The outcome of a try that did not deliver; the stack of `cause` goes to the log."""
    if cause is not None:
        where = f"task {invocation.brief.task.id} of thread {invocation.execution.run.thread_id}"
        LOG.error("%s failed in %s: %s", " > ".join(invocation.path), where, message, exc_info=cause)
    resumes = kind in RESUMED and kind_of(invocation.spec.run) in ("graph", "supervisor", "remote")
    changes = {
        "status": "failed",
        "failure": Failure(kind=kind, message=as_unicode(message)[:2000]),
        "conversation": invocation.place if resumes else [],
    }
    return blank(invocation).model_copy(update=changes)


def blank(invocation: Invocation) -> Outcome:
    """An outcome with nothing in it yet."""
    return Outcome(
        task_id=invocation.brief.task.id,
        agent=invocation.spec.name,
        status="done",
        iteration=invocation.brief.iteration,
    )
