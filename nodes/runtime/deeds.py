"""Deeds: what agents do to the outside world, by a tool or by a function of their own.

A human is asked first where triggers and oversight mode say so. What has an end on the ledger (`nodes.runtime.effects`)
is not done again; what was begun and has no end may have happened: only a human may have it done again.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256

from pydantic import JsonValue

from nodes.policy.oversight import is_sensitive, response, risk_asked
from nodes.policy.rejection import denial
from nodes.policy.triggers import fired, highest
from nodes.runtime.floor import Floor
from nodes.runtime.nesting import SideEffects
from nodes.runtime.trust import mode_of
from state.approval import Answer, Approval, Decision
from state.effect import Effect, EffectStatus
from state.plan import Task
from state.policy import Policy
from state.trigger import Risk, Signs

Json = dict[str, JsonValue]


def mark_of(name: str, args: Mapping[str, object]) -> str:
    """Tells what is done with these arguments from anything else that is done for the same task."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:64]
    said = json.dumps(args if plain == name else [name, args], sort_keys=True, ensure_ascii=True, default=str)
    return f"{plain}.{sha256(said.encode()).hexdigest()[:16]}"


def signs_of(
    name: str, policy: Policy, *, risk: Risk | None = None, is_marked: bool = False, cost: float = 0.0
) -> Signs:
    """What triggers look at. Where nothing else is said, what is sensitive or costs too much is a high risk."""
    is_high = is_marked or is_sensitive(name, policy) or cost > policy.cost_limit
    return Signs(action=name, is_marked=is_marked, risk=risk or ("high" if is_high else "low"), cost=cost)


@dataclass(frozen=True)
class Deed:
    """Something that an agent is about to do."""

    id: str
    """The same after a crash and in another try of the task: that of its question, and of its effect."""
    task: Task
    agent: str
    name: str
    args: Json
    signs: Signs | None
    """None where there is nothing to do it with: then nobody is asked."""
    args_schema: Json | None = None
    path: tuple[str, ...] = ()
    choices: tuple[Answer, ...] = ("approve", "edit", "reject")
    """What a human may answer."""
    undo: str = ""
    must_ask: str = ""
    """Why a human is asked whatever the mode is; empty where there is no such reason."""

    def effect(self, args: Json) -> Effect:
        """It, done with these arguments, as it goes on the ledger."""
        return Effect(id=self.id, task_id=self.task.id, agent=self.agent, tool=self.name, args=args, undo=self.undo)


@dataclass(frozen=True)
class Case:
    """A deed, with what is known of it and what a human was asked and has said."""

    deed: Deed
    before: Effect | None
    """What is on the ledger."""
    stands: bool
    """Whether that is its end: then it is not done again."""
    question: Approval | None
    decision: Decision | None

    @property
    def is_waiting(self) -> bool:
        """Whether a human has to decide."""
        return self.question is not None and self.decision is None

    @property
    def edit(self) -> Json | None:
        """The arguments to use instead."""
        return self.decision.args if self.decision and self.decision.type == "edit" else None

    @property
    def args(self) -> Json:
        """The arguments to use: as a human has edited them, as it was begun with, or as they were proposed."""
        if self.edit is not None:
            return self.edit
        return self.before.args if self.before else self.deed.args

    @property
    def is_in_doubt(self) -> bool:
        """Whether it was begun and may have happened."""
        return self.before is not None and self.before.status == "intended"

    @property
    def is_rejected(self) -> bool:
        """Whether a human said no."""
        return self.decision is not None and self.decision.type == "reject"

    def denial(self, policy: Policy) -> str:
        """Why the task ends with what a human said, or an empty string. A no to doing it again ends nothing."""
        if self.decision is None or self.is_in_doubt:
            return ""
        return denial(self.decision, self.deed.name, policy)

    async def rejected(self, effects: SideEffects) -> Effect:
        """What is to be gone on with after a no: not done, or presumed to be done."""
        by, said = (self.decision.by, self.decision.message) if self.decision else ("", "")
        why = f": {said}" if said else ""
        if self.before and self.is_in_doubt:
            told = f"{by} says this is not to be done again, it may have been done already{why}; go on"
            return await effects.settle(self.before, "presumed", reply=told)
        told = f"{by} did not allow this{why}; do not call it again, go on without it"
        return self.deed.effect(self.args).model_copy(update={"status": "refused", "reply": told})


async def look_into(deed: Deed, floor: Floor, *, done_anew: Collection[EffectStatus] = ()) -> Case:
    """What stands between the agent and its deed. `done_anew`: ends after which it may be done once more."""
    before = await floor.effects.find(deed.id)
    stands, question = False, None
    if before is None or before.status in done_anew:
        question = await _first(deed, floor)
    elif before.status == "intended":
        question = _doubt(deed, before)
    else:
        stands = True
    return Case(deed, before, stands, question, floor.steering.decisions.get(question.id) if question else None)


def _doubt(deed: Deed, before: Effect) -> Approval:
    """The question about what was begun and has no recorded end: never a low risk, which a deadline might approve."""
    is_critical = deed.signs is not None and deed.signs.risk == "critical"
    return Approval(
        id=f"{before.id}.again{before.tries}",
        task_id=before.task_id,
        agent=deed.agent,
        path=list(deed.path),
        action=before.tool,
        args=before.args,
        risk="critical" if is_critical else "high",
        reason="it may have happened: the work broke off while it was done",
        description=f"`{before.tool}` was begun for task `{before.task_id}`, and nothing says how it ended. Look"
        " whether it happened. Approve: do it (again). Reject: it did happen, or is not to be done.",
        args_schema=deed.args_schema,
        choices=list(deed.choices),
    )


async def _first(deed: Deed, floor: Floor) -> Approval | None:
    """What a human has to answer before it is done at all, if anything.

    What the mode only wants to know of is put on record here.
    """
    if deed.signs is None:
        return None
    mode = await mode_of(floor.run, deed.agent)
    what, found = response(fired(deed.signs, floor.run.policy), mode)
    if what == "pass" and not deed.must_ask:
        return None
    question = Approval(
        id=deed.id,
        task_id=deed.task.id,
        agent=deed.agent,
        path=list(deed.path),
        action=deed.name,
        args=deed.args,
        args_schema=deed.args_schema,
        choices=list(deed.choices),
        risk=risk_asked(deed.signs.risk, mode),
        priority=highest(found),
        triggers=found,
        reason="; ".join([*([deed.must_ask] if deed.must_ask else []), *(one.reason for one in found)]),
        description=f"**{deed.agent}** wants to do `{deed.name}` for task `{deed.task.id}`: {deed.task.description}",
    )
    if what == "note" and not deed.must_ask:
        await floor.questions.note(question)
        return None
    return question
