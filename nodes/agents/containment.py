"""Control always comes back: whatever an agent does, its try ends in an outcome.

Normal end, exception (its stack goes to the log `baton.agents`), time-out, a question, a hand-over, even `sys.exit` or
the panic of an extension: only cancellation and what LangGraph itself needs pass through.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from langgraph.errors import GraphBubbleUp, GraphRecursionError

from nodes.agents.confines import CANCELLED, ENDED, confined, is_an_end
from nodes.agents.job import Job
from nodes.agents.kinds import kind_of
from nodes.runtime.leaving import HandedOver, Parked, ungrouped
from state.errors import AgentFailed, FailureClass, ToolRefused
from state.outcome import Failure, Outcome
from state.text import as_unicode, in_words

LOG = logging.getLogger("baton.agents")
LOG.addHandler(logging.NullHandler())  # silent unless somebody listens: stacks are for logs, not for terminals

DEFECTS = (NotImplementedError, NameError, TypeError, AttributeError, ImportError, SyntaxError)
"""Exceptions that another try of the same code will raise again."""
RESUMED: frozenset[FailureClass] = frozenset({"transient", "timeout"})
"""After these a graph goes on at the step that failed; after others it begins anew."""


async def contained(job: Job, work: Callable[[Job], Awaitable[Outcome]]) -> Outcome:
    """The outcome of one try, with its times."""
    clock = job.floor.run.services.clock
    started = clock.now()
    outcome = await _contained(job, work)
    return outcome.model_copy(update={"started_at": started, "finished_at": clock.now()})


async def _contained(job: Job, work: Callable[[Job], Awaitable[Outcome]]) -> Outcome:
    limit = asyncio.timeout(job.spec.limits.timeout_s)
    try:
        with confined():
            async with limit:
                return await ungrouped(work(job))
    except Parked as parked:
        asked = [one.model_copy(update={"path": one.path or job.path}) for one in parked.approvals]
        changes = {"status": "parked", "approvals": asked, "conversation": list(parked.conversation)}
        return blank(job).model_copy(update=changes)
    except HandedOver as handed:
        said = {"handed_to": handed.to, "result": handed.note}
        return failed(job, "declared", f"handed over to {handed.to}").model_copy(update=said)
    except GraphBubbleUp:
        raise
    except BaseException as error:
        if is_an_end(error):
            raise
        if isinstance(error, TimeoutError) and limit.expired():
            return failed(job, "timeout", f"no result within {job.spec.limits.timeout_s:g} seconds")
        return _defeated(job, error)


def _defeated(job: Job, error: BaseException) -> Outcome:
    """The outcome of a try that raised `error`: a defect of one agent is no defect of the run."""
    match error:
        case AgentFailed():
            return failed(job, error.failure, str(error), error.__cause__)
        case ToolRefused():
            return failed(job, "permanent", str(error))
        case GraphRecursionError():
            return failed(job, "limit", f"its graph went on without end: {error}", error)
        case SystemExit():
            return failed(job, "permanent", ENDED, error)
        case asyncio.CancelledError():
            return failed(job, "transient", CANCELLED, error)
    return failed(job, "permanent" if isinstance(error, DEFECTS) else "transient", in_words(error), error)


def failed(job: Job, kind: FailureClass, message: str, cause: BaseException | None = None) -> Outcome:
    """The outcome of a try that did not deliver; the stack of `cause` goes to the log."""
    if cause is not None:
        where = f"task {job.brief.task.id} of thread {job.floor.run.thread_id}"
        LOG.error("%s failed in %s: %s", " > ".join(job.path), where, message, exc_info=cause)
    resumes = kind in RESUMED and kind_of(job.spec.run) in ("graph", "supervisor", "remote")
    changes = {
        "status": "failed",
        "failure": Failure(kind=kind, message=as_unicode(message)[:2000]),
        "conversation": job.place if resumes else [],
    }
    return blank(job).model_copy(update=changes)


def blank(job: Job) -> Outcome:
    """An outcome with nothing in it yet."""
    return Outcome(task_id=job.brief.task.id, agent=job.spec.name, status="done", iteration=job.brief.iteration)
