"""What people do to runs over HTTP: each verb with its body, and the call of the facade that it is.

A verb drives the run in this process until it ends or needs a human. The request is answered as soon as the run has
taken it up (its first event) or has refused it; the rest goes on behind it.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from graph.queue import MOST_PRIORITY
from graph.runs import SERVER
from graph.steering import OnEvent
from graph.supervisor import Supervisor
from nodes.runtime.services import Choice
from state.errors import BadInput
from state.record import HUMAN
from state.run import Run
from state.signal import Cancel, Held, Pause, Recruit, Retire, SendMail, Signal, Takeover

_log = logging.getLogger("baton")


class Said(BaseModel):
    """Who says so; it is kept as it is given."""

    model_config = ConfigDict(extra="forbid")

    by: str = Field(default=HUMAN, min_length=1, max_length=200)


class StartBody(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=1_000_000)
    sources: list[str] = []
    """Files and folders of the server, below its source roots."""
    plan: dict[str, JsonValue] | None = None
    policy: dict[str, JsonValue] | None = None
    """Fields of the policy; they hold where they are stricter than the server's."""
    answer: dict[str, JsonValue] | None = Field(default=None, alias="schema")
    """A JSON Schema: the answer comes as `data` that fits it, too."""
    to: str = ""
    """The agent that does all of it, by name, instead of a plan."""
    team: str = ""
    """One of the server's teams (`BATON_TEAMS`), by name; empty: its own."""
    model: str = ""
    """One of the server's models (`BATON_MODELS`); empty: its own. Of a queued run, any that its worker can make."""
    queue: bool = False
    """Whether it waits for a worker; the database has to have a queue."""
    priority: int = Field(default=0, ge=-MOST_PRIORITY, le=MOST_PRIORITY)
    """Of those that wait, the highest is taken first."""
    at: float | None = Field(default=None, ge=0, le=1e11)
    """Of a queued run: not before (seconds since the epoch)."""
    thread_id: str | None = Field(default=None, min_length=1, max_length=200)
    """A thread to go on with, whose run has ended; None: a new one."""


class AnswerBody(Said):
    """Answers by the id of the question: `{"type": "approve" | "edit" | "reject", "args": …, "message": …}`."""

    answers: dict[str, JsonValue] = Field(min_length=1)


class ReasonBody(Said):
    """Why; it is kept in the log."""

    reason: str = Field(default="", max_length=20_000)


class ResumeBody(Said):
    """How the run stood for whoever says so: what somebody has taken over since stays in their hands."""

    of: Held | None = None


class CancelBody(ReasonBody):
    """Why, and whether what was done to the outside world is undone."""

    rollback: bool = False


class HandBackBody(Said):
    """What was done while the run was in a human's hands: results by task id, and a changed plan."""

    results: dict[str, JsonValue] = {}
    plan: dict[str, JsonValue] | None = None


class MailBody(Said):
    """A message to an agent, a role, a task's agent, or `all`."""

    to: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1, max_length=50_000)


class RecruitBody(Said):
    """A task to add, and the role of who does it."""

    role: str = Field(min_length=1, max_length=64)
    task: str = Field(min_length=1, max_length=20_000)
    needed_by: list[str] = []


class RetireBody(Said):
    """An agent that gets no further tasks."""

    agent: str = Field(min_length=1, max_length=200)


Call = Callable[[Supervisor, str, Any, OnEvent], Coroutine[Any, Any, Run]]


@dataclass(frozen=True)
class Verb:
    """What can be done to a run that is there."""

    about: str
    body: type[BaseModel]
    call: Call


def _sends(kind: Callable[..., Signal]) -> Call:
    async def call(sup: Supervisor, thread_id: str, body: Said, on_event: OnEvent) -> Run:
        return await sup.signal(thread_id, kind(**body.model_dump(), door=SERVER), on_event=on_event)

    return call


async def _answer(sup: Supervisor, thread_id: str, body: AnswerBody, on_event: OnEvent) -> Run:
    return await sup.answer(thread_id, body.answers, body.by, door=SERVER, on_event=on_event)


async def _resume(sup: Supervisor, thread_id: str, body: ResumeBody, on_event: OnEvent) -> Run:
    return await sup.resume(thread_id, body.by, of=body.of, door=SERVER, on_event=on_event)


async def _hand_back(sup: Supervisor, thread_id: str, body: HandBackBody, on_event: OnEvent) -> Run:
    return await sup.hand_back(thread_id, body.results, body.plan, body.by, door=SERVER, on_event=on_event)


VERBS: Mapping[str, Verb] = {
    "answer": Verb("Answer open questions, all or some", AnswerBody, _answer),
    "resume": Verb("Go on after a pause, a crash or a failure", ResumeBody, _resume),
    "pause": Verb("Let nothing new start, and stop what runs at its next safe point", ReasonBody, _sends(Pause)),
    "takeover": Verb("Stop the run and put it into a human's hands", ReasonBody, _sends(Takeover)),
    "hand-back": Verb("Give it back, with results and a changed plan", HandBackBody, _hand_back),
    "cancel": Verb("End the run; what was finished is reported", CancelBody, _sends(Cancel)),
    "mail": Verb("Write to an agent", MailBody, _sends(SendMail)),
    "recruit": Verb("Add a task, and somebody to do it", RecruitBody, _sends(Recruit)),
    "retire": Verb("Take an agent out of further assignment", RetireBody, _sends(Retire)),
}
"""By the last part of the path."""


class Driving:
    """The runs that this process drives for requests that have been answered."""

    def __init__(self, sup: Supervisor) -> None:
        self._sup = sup
        self._tasks: set[asyncio.Task[Run]] = set()

    async def start(self, body: StartBody) -> str:
        """Start a run; its thread, once it has begun."""
        # LangGraph's server names threads so: one that dies with this process is gone on with by the next.
        thread_id = body.thread_id or str(uuid4())

        given = body.model_dump(include={"plan", "policy", "answer", "to"})

        async def call(on_event: OnEvent) -> Run:
            chosen = Choice(body.model, body.team)
            return await self._sup.start(body.query, body.sources, thread_id, chosen=chosen, on_event=on_event, **given)

        if not body.queue:
            await self._taken_up(thread_id, call)
        elif body.team:
            raise BadInput("a queued run is done by the team of its worker; leave `team` out")
        else:
            await self._sup.enqueue(
                body.query,
                body.sources,
                thread_id,
                model=body.model or None,
                priority=body.priority,
                at=body.at,
                **given,
            )
        return thread_id

    async def do(self, verb: Verb, thread_id: str, body: BaseModel) -> None:
        """Carry a verb out, until the run has taken it up.

        Raises:
            BatonError: it was refused.
        """
        await self._taken_up(thread_id, lambda on_event: verb.call(self._sup, thread_id, body, on_event))

    async def _taken_up(self, thread_id: str, call: Callable[[OnEvent], Coroutine[Any, Any, Run]]) -> None:
        begun = asyncio.Event()
        driving = asyncio.create_task(call(lambda _: begun.set()))
        self._tasks.add(driving)
        first = asyncio.create_task(begun.wait())
        try:
            await asyncio.wait({driving, first}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            first.cancel()
            driving.add_done_callback(lambda _: self._tasks.discard(driving))
        if driving.done():
            driving.result()
        else:
            driving.add_done_callback(lambda done: _tell(thread_id, done))

    async def close(self) -> None:
        """Stop driving; the runs can go on from where they are."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _tell(thread_id: str, done: "asyncio.Task[Run]") -> None:
    if not done.cancelled() and (error := done.exception()):
        _log.warning("%s: %s", thread_id, " ".join(str(error).split()))
