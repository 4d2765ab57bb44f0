"""Tools that are called elsewhere than in a ToolNode of the agent: in a node's own code, in graphs that tools run.

Heard by a callback, which can stop a call and change nothing about it. So a human can approve or reject, and not edit;
and what was done for one approval is asked about again before it is done again, for instance in a node that runs again.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import cast
from uuid import UUID

from langchain_core.messages import ToolCall, ToolMessage
from langgraph.errors import GraphBubbleUp
from pydantic import JsonValue

from nodes.agents.hearing import Call, Hearing, ToolCalled
from nodes.agents.internals import CHECKPOINT_NS, NotAllowed
from nodes.agents.toolgate import ToolGate
from nodes.agents.worker.overseeing import is_overseen, marked_deed
from nodes.agents.worker.perform import changes_the_world, charged
from nodes.runtime.deeds import Deed, mark_of
from nodes.runtime.subthread import plain
from state.approval import Answer, Approval
from state.effect import Effect
from state.errors import AgentFailed
from state.outcome import as_text

CHOICES: tuple[Answer, ...] = ("approve", "reject")


class ToolUse(Hearing):
    """For one try of one agent. `goes_on`: it goes on where it stood after an answer, and does not begin anew.

    Calls made directly in one of the LangChain runs `own` are those of a function's own code: it asks by its desk.
    """

    def __init__(self, gate: ToolGate, *, goes_on: bool, own: Collection[UUID | None] = ()) -> None:
        super().__init__()
        self._gate, self._goes_on, self._own = gate, goes_on, own
        self._times: Counter[str] = Counter()
        self._under_way: dict[UUID, Effect] = {}

    async def begins(self, call: Call) -> None:
        """Let the call pass, or stop it.

        Raises:
            GraphInterrupt: a human has to be asked first.
            NotAllowed: a human said no.
            AgentFailed: the run's budget has no room for what it costs.
        """
        if not isinstance(call, ToolCalled) or self._is_free(call):
            return
        gate, deed = self._gate, self._deed(call)
        case = await gate.look_into(deed)
        if case.before and case.stands:
            question = self._again(deed, case.before)
            case = replace(case, question=question, decision=gate.decision(question))
        if case.question and case.is_waiting:
            gate.wait([case.question])
        if case.is_rejected:
            raise NotAllowed(as_text((await case.rejected(gate.floor.effects)).reply))
        made = ToolCall(name=call.name, args=call.args, id=str(call.id), type="tool_call")
        if refusal := await charged(call.marks, made, gate):
            raise AgentFailed(refusal.text, "limit")
        if changes_the_world(call.name, call.marks, gate.floor.run.policy):
            self._under_way[call.id] = await gate.floor.effects.intend(deed.effect(deed.args))

    def begins_at_once(self, call: Call) -> None:
        """Let pass what nobody has to know of; AgentFailed for the rest: nobody can be asked in the middle of it."""
        if not isinstance(call, ToolCalled) or self._is_free(call):
            return
        if is_overseen(self._deed(call), self._gate.floor.run.policy):
            raise AgentFailed(
                f"{call.name} has to be asked about, which cannot be waited for where it is called without await in an"
                " async function: call `await tool.ainvoke(…)`",
                "permanent",
            )

    async def ended(self, call_id: UUID, made: object) -> None:
        """Put on the ledger what came of it."""
        if effect := self._under_way.pop(call_id, None):
            effects = self._gate.floor.effects
            if isinstance(made, GraphBubbleUp):
                await effects.settle(effect, "refused", reply="")
            elif isinstance(made, BaseException):
                await effects.settle(effect, "failed", reply=f"{type(made).__name__}: {made}")
            else:
                is_error = isinstance(made, ToolMessage) and made.status == "error"
                said = made.text if isinstance(made, ToolMessage) else str(made)
                await effects.settle(effect, "failed" if is_error else "done", reply=said)

    def _is_free(self, call: ToolCalled) -> bool:
        return call.within in self._own or self._gate.has_passed(call.name, call.args)

    def _deed(self, call: ToolCalled) -> Deed:
        """The call as what it does; told apart, also when the agent goes on after an answer, by its place and count."""
        place = str(call.marks.get(CHECKPOINT_NS, "")) if self._goes_on else ""
        mark = mark_of(call.name, {"args": call.args, "place": place})
        self._times[mark] += 1
        args = cast(dict[str, JsonValue], plain(call.args))
        deed = marked_deed(call.name, args, call.marks, f"{mark}.{self._times[mark]}", self._gate)
        return replace(deed, choices=CHOICES)

    def _again(self, deed: Deed, before: Effect) -> Approval:
        """The question about an action that was done before, for one approval."""
        return Approval(
            id=f"{before.id}.again{before.tries}",
            task_id=before.task_id,
            agent=deed.agent,
            path=list(deed.path),
            action=deed.name,
            args=deed.args,
            choices=list(deed.choices),
            risk="critical" if deed.signs and deed.signs.risk == "critical" else "high",
            reason="it was called before with the same arguments: the work around it began anew",
            description=f"`{deed.name}` was called for task `{before.task_id}`, and this came of it: {before.status}."
            " Approve: call it again. Reject: it is not called again, and the agent is told so.",
        )
