"""Side effects: what agents do to the outside world, by a tool or by a function of their own (`desk.once`), each once.

A human is asked first where triggers and oversight mode say so. What has an end on the ledger
(`nodes.runtime.ledger`) is not done again; what was begun and has no end may have happened: only a human may have it
done again. An edit of the arguments has to fit a JSON Schema: the tool's, or one made from the annotations of the
function's parameters; where they say nothing, from the values it was called with.
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
from nodes.policy.orders import objection
from nodes.policy.oversight import ask_about, fired, is_sensitive, response
from nodes.runtime.calling import HandOver, Parked, call
from nodes.runtime.execution import ExecutionContext
from nodes.runtime.nesting import Ledger
from nodes.runtime.trust_store import mode_of
from state.agent import Brief
from state.approval import Answer, Approval, Decision, Risk, TriggerInput
from state.errors import AgentFailed, ToolRefused
from state.plan import Task
from state.policy import Policy
from state.side_effect import Effect, EffectStatus
from state.text import Json, to_json


def idempotency_key(name: str, args: Mapping[str, object]) -> str:
    """Tells what is done with these arguments from anything else that is done for the same task."""
    to_json = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:64]
    said = json.dumps(args if to_json == name else [name, args], sort_keys=True, ensure_ascii=True, default=str)
    return f"{to_json}.{sha256(said.encode()).hexdigest()[:16]}"


def signs_of(
    name: str, policy: Policy, *, risk: Risk | None = None, is_marked: bool = False, cost: float = 0.0
) -> TriggerInput:
    """What triggers look at. Where nothing else is said, what is sensitive or costs too much is a high risk.

    What says itself that it is a high risk is as sensitive as what says that.
    """
    is_marked = is_marked or risk == "high"
    is_high = is_marked or is_sensitive(name, policy) or cost > policy.cost_limit
    return TriggerInput(action=name, is_marked=is_marked, risk=risk or ("high" if is_high else "low"), cost=cost)


def is_grave(signs: TriggerInput) -> bool:
    """Whether something is sensitive or a high risk."""
    return signs.risk in ("high", "critical")


@dataclass(frozen=True)
class SideEffect:
    """Something that an agent is about to do."""

    id: str
    """The same after a crash and in another try of the task: that of its question, and of its effect."""
    task: Task
    agent: str
    name: str
    args: Json
    signs: TriggerInput | None
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
class Clearance:
    """A side effect, with what is known of it and what a human was asked and has said."""

    side_effect: SideEffect
    before: Effect | None
    """What is on the ledger."""
    is_final: bool
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
        return self.before.args if self.before else self.side_effect.args

    @property
    def may_have_happened(self) -> bool:
        """Whether it was begun and may have happened."""
        return self.before is not None and self.before.status == "intended"

    @property
    def is_rejected(self) -> bool:
        """Whether a human said no."""
        return self.decision is not None and self.decision.type == "reject"

    def denial(self, policy: Policy) -> str:
        """Why the task ends with what a human said, or an empty string. A no to doing it again ends nothing."""
        if self.decision is None or self.may_have_happened:
            return ""
        return denial(self.decision, self.side_effect.name, policy)

    async def rejected(self, effects: Ledger) -> Effect:
        """What is to be gone on with after a no: not done, or presumed to be done."""
        by, said = (self.decision.who, self.decision.message) if self.decision else ("", "")
        why = f": {said}" if said else ""
        if self.before and self.may_have_happened:
            told = f"{by} says this is not to be done again, it may have been done already{why}; go on"
            return await effects.settle(self.before, "presumed", reply=told)
        told = f"{by} did not allow this{why}"
        return self.side_effect.effect(self.args).model_copy(update={"status": "refused", "reply": told})


async def clearance_for(
    side_effect: SideEffect, execution: ExecutionContext, *, repeatable: Collection[EffectStatus] = ()
) -> Clearance:
    """What stands between the agent and its side effect. `repeatable`: ends after which it may be done once more."""
    before = await execution.effects.find(side_effect.id)
    is_final, question = False, None
    if before is None or before.status in repeatable:
        question = await _first(side_effect, execution)
    elif before.status == "intended":
        question = _doubt(side_effect, before)
    else:
        is_final = True
    return Clearance(
        side_effect, before, is_final, question, execution.signals.decisions.get(question.id) if question else None
    )


def _doubt(side_effect: SideEffect, before: Effect) -> Approval:
    """The question about what was begun and has no recorded end: never a low risk, which a deadline might approve."""
    is_critical = side_effect.signs is not None and side_effect.signs.risk == "critical"
    return Approval(
        id=f"{before.id}.again{before.tries}",
        task_id=before.task_id,
        agent=side_effect.agent,
        path=list(side_effect.path),
        action=before.tool,
        args=before.args,
        risk="critical" if is_critical else "high",
        reason="it may have happened: the work broke off while it was done",
        description=f"{before.tool} was begun before, and nothing says how it ended. Look whether it happened."
        " Approve: do it (again). Reject: it did happen, or is not to be done.",
        args_schema=side_effect.args_schema,
        choices=list(side_effect.choices),
    )


async def _first(side_effect: SideEffect, execution: ExecutionContext) -> Approval | None:
    """What a human has to answer before it is done at all, if anything.

    What the mode only wants to know of is put on record here.
    """
    if side_effect.signs is None:
        return None
    mode = await mode_of(execution.run, side_effect.agent)
    what, found = response(fired(side_effect.signs, execution.run.policy), mode)
    if what == "pass" and not side_effect.must_ask:
        return None
    question = Approval(
        id=side_effect.id,
        task_id=side_effect.task.id,
        agent=side_effect.agent,
        path=list(side_effect.path),
        action=side_effect.name,
        args=side_effect.args,
        args_schema=side_effect.args_schema,
        choices=list(side_effect.choices),
        risk=side_effect.signs.risk,
        reason=side_effect.must_ask,
        needs_human=bool(side_effect.must_ask),
        description=f"{side_effect.agent} does this for: {side_effect.task.description}",
    )
    question = ask_about(question, found, mode)
    if what == "note" and not side_effect.must_ask:
        await execution.approvals.record_only(question)
        return None
    return question


LONGEST_REPLY = 50_000
"""Characters of each text in what a function returned that are kept."""

_ARGS: TypeAdapter[Json] = TypeAdapter(Json)


class Once:
    """The side effects of one function in one try of its task."""

    def __init__(self, execution: ExecutionContext, agent: str, brief: Brief) -> None:
        self._execution = execution
        self._agent = agent
        self._task = brief.task
        self._requests = brief.requests
        self._counted: dict[str, set[int]] = {}
        """By mark, the numbers of those that were done or are under way; what failed gives its number back."""

    async def do(self, action: str, do: Callable[..., Any], args: Json, *, risk: Risk | None, undo: str) -> Effect:
        """See `Desk.once`."""
        given = _checked(action, args, risk)
        mark = idempotency_key(action, given)
        counted = self._counted.setdefault(mark, set())
        number = next(n for n in count(1) if n not in counted)
        counted.add(number)
        signs = signs_of(action, self._execution.run.policy, risk=risk)
        side_effect = SideEffect(
            id=f"{self._task.id}.{mark}" + (f".{number}" if number > 1 else ""),
            task=self._task,
            agent=self._agent,
            name=action,
            args=given,
            signs=signs,
            args_schema=form_of(do, given),
            undo=undo,
            must_ask=objection(action, self._requests, is_grave=is_grave(signs)),
        )
        try:
            return await self._done(side_effect, do)
        except Exception:
            counted.discard(number)
            raise

    async def _done(self, side_effect: SideEffect, do: Callable[..., Any]) -> Effect:
        execution = self._execution
        clearance = await clearance_for(side_effect, execution, repeatable=("failed", "refused"))
        if clearance.before and clearance.is_final:
            return clearance.before
        if execution.signals.is_stopping:
            raise Parked
        if clearance.question and clearance.is_waiting:
            raise Parked(clearance.question)
        if why := clearance.denial(execution.run.policy):
            raise AgentFailed(why, "denied")
        if clearance.is_rejected:
            return await clearance.rejected(execution.effects)
        return await self._performed(side_effect, clearance.args, do)

    async def _performed(self, side_effect: SideEffect, args: Json, do: Callable[..., Any]) -> Effect:
        """Intent before, outcome after. What is cut off in between has no outcome: it may have happened."""
        effects = self._execution.effects
        begun = await effects.begin(side_effect.effect(args))
        try:
            made = await call(do, **args)
        except (Parked, HandOver, ToolRefused) as left:  # before it did anything
            await effects.settle(begun, "refused", reply=str(left))
            raise
        except Exception as error:
            await effects.settle(begun, "failed", reply=f"{type(error).__name__}: {error}")
            raise
        return await effects.settle(begun, "done", reply=to_json(made, longest=LONGEST_REPLY, most=sys.maxsize))


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
