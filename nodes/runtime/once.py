"""`desk.once`: what a function agent does to the outside world by itself, done once in the run."""

import sys
from collections.abc import Callable
from itertools import count
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from nodes.runtime.aside import called
from nodes.runtime.deeds import Deed, Json, look_into, mark_of, signs_of
from nodes.runtime.floor import Floor
from nodes.runtime.forms import form_of
from nodes.runtime.leaving import HandedOver, Parked
from nodes.runtime.subthread import plain
from state.effect import Effect
from state.errors import AgentFailed, ToolRefused
from state.plan import Task
from state.trigger import Risk

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
