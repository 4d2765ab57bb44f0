"""Deeds: what agents do to the outside world, by a tool or by a function of their own.

A human is asked first where triggers and oversight mode say so. What has an end on the ledger (`nodes.runtime.ledger`)
is not done again; what was begun and has no end may have happened: only a human may have it done again.

`desk.once`: what a function agent does to the outside world by itself, done once in the run.

What a function can be called with, as JSON Schema: what an edit of its arguments has to fit.

What a parameter is comes from its annotation; where that says nothing, or not what it is called with, from the value.
"""

import inspect
import json
import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Any, get_args

from jsonschema import Draft202012Validator
from pydantic import JsonValue, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation

from nodes.policy.approvals import denial
from nodes.policy.oversight import fired, highest, is_sensitive, response, risk_asked
from nodes.runtime.calling import HandedOver, Parked, called
from nodes.runtime.execution import Floor
from nodes.runtime.nesting import SideEffects
from nodes.runtime.trust_store import mode_of
from state.approval import Answer, Approval, Decision, Risk, Signs
from state.errors import AgentFailed, ToolRefused
from state.plan import Task
from state.policy import Policy
from state.side_effect import Effect, EffectStatus
from state.text import Json, plain


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


LONGEST_REPLY = 50_000
"""Characters of each text in what a function returned that are kept."""

_ARGS: TypeAdapter[Json] = TypeAdapter(Json)


class Once:
    """The deeds of one function in one try of its task."""

    def __init__(self, floor: Floor, agent: str, task: Task) -> None:
        self._floor = floor
        self._agent = agent
        self._task = task
        self._counted: dict[str, set[int]] = {}
        """By mark, the numbers of those that were done or are under way; what failed gives its number back."""

    async def do(self, action: str, do: Callable[..., Any], args: Json, *, risk: Risk | None, undo: str) -> Effect:
        """See `Desk.once`."""
        given = _checked(action, args, risk)
        mark = mark_of(action, given)
        counted = self._counted.setdefault(mark, set())
        number = next(n for n in count(1) if n not in counted)
        counted.add(number)
        deed = Deed(
            id=f"{self._task.id}.{mark}" + (f".{number}" if number > 1 else ""),
            task=self._task,
            agent=self._agent,
            name=action,
            args=given,
            signs=signs_of(action, self._floor.run.policy, risk=risk),
            args_schema=form_of(do, given),
            undo=undo,
        )
        try:
            return await self._done(deed, do)
        except Exception:
            counted.discard(number)
            raise

    async def _done(self, deed: Deed, do: Callable[..., Any]) -> Effect:
        floor = self._floor
        case = await look_into(deed, floor, done_anew=("failed", "refused"))
        if case.before and case.stands:
            return case.before
        if floor.steering.is_stopping:
            raise Parked
        if case.question and case.is_waiting:
            raise Parked(case.question)
        if why := case.denial(floor.run.policy):
            raise AgentFailed(why, "denied")
        if case.is_rejected:
            return await case.rejected(floor.effects)
        return await self._performed(deed, case.args, do)

    async def _performed(self, deed: Deed, args: Json, do: Callable[..., Any]) -> Effect:
        """Intent before, outcome after. What is cut off in between has no outcome: it may have happened."""
        effects = self._floor.effects
        begun = await effects.intend(deed.effect(args))
        try:
            made = await called(do, **args)
        except (Parked, HandedOver, ToolRefused) as left:  # before it did anything
            await effects.settle(begun, "refused", reply=str(left))
            raise
        except Exception as error:
            await effects.settle(begun, "failed", reply=f"{type(error).__name__}: {error}")
            raise
        return await effects.settle(begun, "done", reply=plain(made, longest=LONGEST_REPLY, most=sys.maxsize))


def _checked(action: str, args: Json, risk: str | None) -> Json:
    """The arguments, as they can be kept; AgentFailed for a call that is a mistake in the function."""
    if risk is not None and risk not in get_args(Risk):
        raise AgentFailed(f"{action}: there is no risk {risk!r}; give one of {', '.join(get_args(Risk))}", "permanent")
    try:
        return _ARGS.validate_python(args)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'][:1]))}: {e['msg']}" for e in error.errors()[:3])
        raise AgentFailed(f"{action}: the arguments are not plain JSON: {wrong}", "permanent") from error


_KINDS: dict[type, str] = {
    bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"
}  # fmt: skip


def form_of(do: Callable[..., Any], args: Json) -> Json | None:
    """JSON Schema of what `do` can be called with; None where it does not say.

    Raises:
        TypeError: it cannot be called with `args` either.
    """
    signature = _signature(do)
    if signature is None:
        return None
    signature.bind(**args)
    named = [one for one in signature.parameters.values() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    names = dict.fromkeys([*(one.name for one in named), *args])
    said = {one.name: made for one in named if (made := _adapter(one, args)) is not None}
    schemas, shared = TypeAdapter.json_schemas([(name, "validation", made) for name, made in said.items()])
    properties: Json = {name: schemas[name, "validation"] if name in said else _kind(args.get(name)) for name in names}
    required: list[JsonValue] = [one.name for one in named if one.default is one.empty]
    takes_more = len(named) < len(signature.parameters)
    closed: Json = {"properties": properties, "required": required, "additionalProperties": takes_more}
    return {"type": "object", **closed, **shared}


def _signature(do: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(do, eval_str=True)
    except ValueError:  # made in C, and does not say
        return None
    except Exception:  # noqa: BLE001 - an annotation is any expression, and one that cannot be evaluated says nothing
        return inspect.signature(do)


def _adapter(parameter: inspect.Parameter, args: Json) -> TypeAdapter[Any] | None:
    """What its annotation takes; None where it says nothing that can be told in JSON, or not what it is called with."""
    wanted = parameter.annotation
    if wanted is parameter.empty or isinstance(wanted, str):
        return None
    try:
        made: TypeAdapter[Any] = TypeAdapter(wanted)
        schema = made.json_schema()
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError):
        return None
    is_fitting = parameter.name not in args or Draft202012Validator(schema).is_valid(args[parameter.name])
    return made if schema and is_fitting else None


def _kind(value: JsonValue) -> Json:
    return {"type": _KINDS[type(value)]} if type(value) in _KINDS else {}
