"""Steering a run from outside: signals, answers, hand-backs and deadlines, whether the run executes or not.

A run that executes takes a signal up at once, in whichever process; one that waits or lies still is driven from
here. Decisions about runs that nobody executes are kept, audited and notified like any other, without starting any
work, since whoever decides (or only looks, which applies deadlines) may not have the run's team: `resume` goes on
from there. What a human has paused or holds stays where it is; the decision counts when it is let go on.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from langgraph.types import Command
from pydantic import JsonValue

from graph.lease import PATIENCE_S
from graph.runs import PYTHON, Runs
from graph.views import questions_of
from nodes.policy.answers import LOOK_AT_SIGNALS, already_answered, read_answers
from nodes.policy.approvals import open_questions
from nodes.policy.mail import addressees, nobody
from nodes.policy.recruiting import nobody as no_agent
from nodes.policy.routing import given_plan
from nodes.policy.takeover import hand_back_faults
from nodes.runtime.approvals import Approvals
from nodes.runtime.journal import read_board
from nodes.runtime.signals import SignalState, read_recruits
from state.agent import Team
from state.approval import Approval, Decision
from state.errors import AgentsMissing, BadInput, ThreadBusy
from state.plan import Plan
from state.record import TaskRecord
from state.run import Phase, Run
from state.signal import Cancel, Decide, HandBack, Retire, SendMail, Signal, SignalOutcome, refused
from state.text import Json, counted

OnEvent = Callable[[Json], None]
Answers = Mapping[str, JsonValue]

TAKEN_UP_S = 5.0
"""Seconds to wait for another process to say what it made of an answer; it listens only while tasks are at work."""
LOOK_EVERY_S = 0.02


async def last(items: AsyncGenerator[Json | Run, None], on_event: OnEvent | None) -> Run:
    """The run at the end of `items`; events on the way go to `on_event`."""
    found: Run | None = None
    async with aclosing(items):  # where `on_event` raises, the lease is given back now
        async for item in items:
            if isinstance(item, Run):
                found = item
            elif on_event:
                on_event(item)
    if found is None:
        raise RuntimeError("a run ended without its result")
    return found


async def signal(runs: Runs, thread_id: str, sent: Signal, on_event: OnEvent | None = None) -> Run:
    """Send a signal, and see that somebody takes it up.

    Raises:
        ThreadUnknown: no such thread.
        BadInput: the run has ended, or it refused; or nobody runs it and it needs agents that are not in the team.
    """
    run = await runs.view(thread_id)
    if run.status == "queued":
        return await _withdraw(runs, run, sent)
    if run.has_ended:
        raise BadInput(f"thread {thread_id} has ended ({run.status}); nothing can be changed any more")
    await _refuse_strangers(runs, thread_id)
    if problem := await _misaddressed(runs, thread_id, sent):
        raise BadInput(problem)
    return await _send_and_wait(runs, thread_id, [sent], on_event)


async def _withdraw(runs: Runs, run: Run, sent: Signal) -> Run:
    """Take back a run that no worker has begun."""
    if not isinstance(sent, Cancel):
        raise BadInput(f"thread {run.thread_id} waits for a worker, nothing of it has begun; it can be cancelled")
    if not await runs.withdraw(run.thread_id):
        raise BadInput(f"a worker has just begun with thread {run.thread_id}; cancel it again")
    return run.model_copy(update={"status": "cancelled", "waits_for": "", "phase": Phase.cancelled.value})


async def _misaddressed(runs: Runs, thread_id: str, sent: Signal) -> str:
    """Why nobody is meant by the signal, or an empty string; the run itself tells who has not its whole team."""
    team = runs.services.team
    if not isinstance(sent, SendMail | Retire) or await runs.missing(thread_id):
        return ""
    if isinstance(sent, Retire):
        return "" if sent.agent in team else no_agent(sent.agent, team)
    tasks = (await runs.position(thread_id)).state.get("tasks") or []
    recruits = await read_recruits(runs.database.store, thread_id)
    records = {record.id: record for record in [*map(TaskRecord.model_validate, tasks), *recruits]}
    return "" if addressees(sent.to, sent.by, team, records) else nobody(sent.to, team)


async def answer(
    runs: Runs,
    thread_id: str,
    answers: Answers | JsonValue,
    by: str,
    on_event: OnEvent | None = None,
    *,
    door: str = PYTHON,
) -> Run:
    """Answer open questions, all or some, and go on; where the run's agents are not in the team, only answer.

    Raises:
        BadInput: nothing is open, somebody was faster, or an answer cannot be read; the questions stay as they are.
    """
    run = await runs.view(thread_id)
    plain: JsonValue = dict(answers) if isinstance(answers, Mapping) else answers
    await _refuse_answered(runs, thread_id, plain if isinstance(plain, dict) else {})
    if not run.approvals:
        raise BadInput(f"thread {thread_id} has no open question (it is {run.status})")
    decisions, problems = read_answers(plain, run.approvals, by, door)
    if problems:
        raise BadInput("; ".join(problems))
    if not decisions:
        still = counted(len(run.approvals), "open question")
        raise BadInput(f"there was no answer to {still}, see `baton inbox {thread_id}`")
    with suppress(ThreadBusy):  # somebody took it up in the meantime; what is still open there can be answered there
        is_for_workers = await runs.is_for_workers(thread_id)
        if not await runs.is_held(thread_id) and (is_for_workers or await runs.missing(thread_id)):
            await decide_at_rest(runs, thread_id, decisions)
            await runs.call_worker(thread_id)
            run = await view(runs, thread_id)
            is_called = is_for_workers and run.waits_for == "resume"
            return run.model_copy(update={"waits_for": "worker"}) if is_called else run
        if run.status == "waiting":
            return await resume_with(runs, thread_id, decisions, on_event)
    decided = [Decide(approval=key, decision=said, by=by, door=door) for key, said in decisions.items()]
    return await _send_and_wait(runs, thread_id, decided, on_event)


async def hand_back(
    runs: Runs,
    thread_id: str,
    results: Mapping[str, JsonValue],
    plan: Plan | Json | None,
    by: str,
    on_event: OnEvent | None = None,
    *,
    door: str = PYTHON,
) -> Run:
    """Give a run back that is in a human's hands, with results and a changed plan, and go on.

    Raises:
        BadInput: it is not in a human's hands, or what is given does not fit; nothing has changed then.
    """
    run = await runs.view(thread_id)
    if run.status != "handed_over":
        raise BadInput(f"thread {thread_id} is not in a human's hands (it is {run.status}); `baton takeover` first")
    await _refuse_strangers(runs, thread_id)
    state = (await runs.position(thread_id)).state
    records = [TaskRecord.model_validate(task) for task in state["tasks"]]
    team, most = runs.services.team, runs.context(thread_id, state).policy.max_team_size
    made = given_plan(plan, team.specs, most) if plan is not None else None
    if faults := hand_back_faults(records, results, made):
        raise BadInput("; ".join(faults))
    handed = HandBack(results=dict(results), plan=made, by=by, door=door)
    return await _send_and_wait(runs, thread_id, [handed], on_event)


async def resume_with(runs: Runs, thread_id: str, decisions: Mapping[str, Decision], on_event: OnEvent | None) -> Run:
    """Resume a waiting run with decisions, if they are still wanted once its lease is held."""

    async def still_open() -> None:
        state = (await runs.position(thread_id)).state
        wanted = {question.id for question in open_questions(state)}
        if gone := [key for key in decisions if key not in wanted]:
            await _refuse_answered(runs, thread_id, gone)
            raise no_longer_open(thread_id, gone[0])

    resume = {key: decision.model_dump(mode="json") for key, decision in decisions.items()}
    return await last(runs.drive(thread_id, Command(resume=resume), still_open), on_event)


async def _refuse_strangers(runs: Runs, thread_id: str) -> None:
    """Refuse what would have to be taken up from here, without the agents for it."""
    if not await runs.is_held(thread_id) and not await runs.is_for_workers(thread_id):
        await runs.check_team(thread_id)


async def _refuse_answered(runs: Runs, thread_id: str, keys: Sequence[str] | Mapping[str, Any]) -> None:
    """Tell who comes second that the first answer stands."""
    decided = await runs.decisions(thread_id)
    if late := [key for key in keys if key in decided]:
        raise BadInput(already_answered(late[0], decided[late[0]]))


async def _send_and_wait(runs: Runs, thread_id: str, signals: Sequence[Signal], on_event: OnEvent | None) -> Run:
    """Send signals, and say what came of them."""
    sent = {await runs.signal(thread_id, one): one for one in signals}
    run = await _drive_if_idle(runs, thread_id, on_event)
    clock = asyncio.get_running_loop()
    until = clock.time() + TAKEN_UP_S
    while len(outcomes := await _outcomes(runs, thread_id, sent)) < len(sent) and clock.time() < until:
        await asyncio.sleep(LOOK_EVERY_S)  # whoever handles them may be another process, with no event of ours to set
        if await _is_still(runs, thread_id):  # it was about to be: look now
            run = await _drive_if_idle(runs, thread_id, on_event)
    if reasons := [outcome.reason for outcome in outcomes.values() if outcome.status == "refused"]:
        raise BadInput("; ".join(reasons))
    return run if run.has_ended else await runs.view(thread_id)


async def _is_still(runs: Runs, thread_id: str) -> bool:
    """Whether nobody runs it, and it waits or has ended: whoever sent it something has to see to it."""
    if await runs.is_held(thread_id):
        return False
    position = await runs.position(thread_id)
    return bool(position.asked) or position.has_ended


async def _outcomes(runs: Runs, thread_id: str, sent: Mapping[str, Signal]) -> dict[str, SignalOutcome]:
    """What came of each signal so far; an answer that nobody has looked at came second if its question is decided."""
    decided = await runs.decisions(thread_id)  # before the log: a decision and the end of its signal are one write
    outcomes = await runs.handled(thread_id, sent)
    for key, one in sent.items():
        if key not in outcomes and isinstance(one, Decide) and one.approval in decided:
            outcomes[key] = refused(already_answered(one.approval, decided[one.approval]))
    return outcomes


async def _drive_if_idle(runs: Runs, thread_id: str, on_event: OnEvent | None) -> Run:
    """See that the signals in the log are looked at: by whoever runs the thread, or else from here."""
    if await runs.is_held(thread_id):
        return await runs.view(thread_id)
    if await runs.is_for_workers(thread_id):
        await runs.call_worker(thread_id)
        return await runs.view(thread_id)
    try:
        return await take_up(runs, thread_id, on_event)
    except (ThreadBusy, AgentsMissing):  # whoever took it up in the meantime, or does next, looks at the signal
        return await runs.view(thread_id)


async def take_up(runs: Runs, thread_id: str, on_event: OnEvent | None) -> Run:
    """Go on with a run where it stands; what waits in the log of signals is looked at.

    Raises:
        ThreadBusy: another process runs it.
        AgentsMissing: it needs agents that are not in the team.
    """
    is_waiting = (await runs.position(thread_id)).asked
    return await last(runs.drive(thread_id, Command(resume=LOOK_AT_SIGNALS) if is_waiting else None), on_event)


@dataclass(frozen=True)
class _AtRest:
    """What is asked on a run, and what was decided."""

    asked: Approvals
    signals: SignalState
    open: Mapping[str, Approval]


async def expire(runs: Runs, thread_id: str) -> None:
    """Let the policy decide what is late.

    Raises:
        ThreadBusy: somebody runs the thread by now; he does it himself.
    """
    async with _at_rest(runs, thread_id, patience_s=0) as at_rest:
        await at_rest.asked.expire(list(at_rest.open.values()), at_rest.signals.decide)
        await at_rest.asked.wait_notified()


async def decide_at_rest(runs: Runs, thread_id: str, decisions: Mapping[str, Decision]) -> None:
    """Keep what humans decided, all of it or nothing.

    Raises:
        BadInput: somebody was faster, or something is not asked any more.
        ThreadBusy: somebody runs the thread by now.
    """
    async with _at_rest(runs, thread_id) as at_rest:
        for key in decisions:
            if first := at_rest.signals.decisions.get(key):
                raise BadInput(already_answered(key, first))
            if key not in at_rest.open:
                raise no_longer_open(thread_id, key)
        for key, decision in decisions.items():
            await at_rest.asked.answer(at_rest.open[key], decision, at_rest.signals.decide)
        await at_rest.asked.wait_notified()


def no_longer_open(thread_id: str, key: str) -> BadInput:
    """The refusal of an answer to what is not asked any more."""
    return BadInput(f"no open question is called {key!r} any more; see `baton inbox {thread_id}`")


@asynccontextmanager
async def _at_rest(runs: Runs, thread_id: str, patience_s: float = PATIENCE_S) -> AsyncIterator[_AtRest]:
    """What is open on a run, while nobody else can change it."""
    async with runs.leases.hold(thread_id, patience_s=patience_s):
        position = await runs.position(thread_id)
        state = position.state
        signals = SignalState(runs.database.store, thread_id)
        run = runs.context(thread_id, state)
        await signals.load()
        signals.know(await run.decided(state))
        asked = Approvals(run)
        await asked.load()
        board = await read_board(runs.database.store, thread_id)
        questions = questions_of(position, board)
        still = [] if position.has_ended else [q for q in questions if q.id not in signals.decisions]
        yield _AtRest(asked, signals, {question.id: question for question in still})


async def view(runs: Runs, thread_id: str, team: Team | None = None) -> Run:
    """What is true of a run now for whoever has `team`, by default that of `runs`; deadlines included.

    Raises:
        ThreadUnknown: no such thread.
    """
    names = [agent.name for agent in team] if team else None
    run = await runs.view(thread_id, names)
    if runs.is_late(run):
        with suppress(ThreadBusy):  # whoever runs it by now does it himself
            await expire(runs, thread_id)
        run = await runs.view(thread_id, names)
    return run
