"""The gates of a task: a human may be asked before it begins, and about what came of it (chapter 15.12.2, 15.12.3).

Actions in between are asked about where tools are called (`nodes.agents.worker.overseeing`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from nodes.policy.failures import failures_in_a_row
from nodes.policy.limits import time_for_try
from nodes.policy.oversight import response, risk_asked
from nodes.policy.scope import marks_of, risk_of, tools_for
from nodes.policy.triggers import fired, highest
from nodes.runtime.floor import Floor
from nodes.runtime.trust import mode_of
from state.agent import AgentSpec
from state.approval import POLICY, Approval, Decision
from state.outcome import Failure, Outcome
from state.plan import Task
from state.record import TaskRecord
from state.trigger import Fired, Risk, Signs

_DESCRIPTION: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"description": {"type": "string", "minLength": 1}},
    "required": ["description"],
}
_RESULT: dict[str, JsonValue] = {"type": "object", "properties": {"result": {}}, "required": ["result"]}

_RISK_OF: dict[str, Risk] = {"confidence": "low", "cost": "high"}
"""Of a question about a result, by its first trigger; medium otherwise. A low one may pass when nobody answers."""


@dataclass(frozen=True)
class Gates:
    """The gates of all tasks of one superstep."""

    floor: Floor

    async def entry(self, record: TaskRecord, iteration: int) -> Approval | None:
        """What has to be answered before the task begins, if anything: then it waits, or was decided."""
        key, policy, name = f"{record.id}.{iteration}.start", self.floor.run.policy, record.agent or ""
        if known := self.floor.questions.known(key):
            return known if known.expires_at is not None else None
        spec = self._spec(name)
        marks = marks_of(record.task, record.route, spec, policy)
        mode = await mode_of(self.floor.run, name)
        if mode != "in_command" and spec and _asks_later(record.task, spec):
            marks = [mark for mark in marks if mark.trigger != "sensitive"]
        what, found = response(marks, mode)
        if what == "pass":
            return None
        question = Approval(
            id=key,
            task_id=record.id,
            agent=name,
            subject="task",
            action=record.task.action or "begin task",
            args={"description": record.task.description},
            args_schema=_DESCRIPTION,
            risk=risk_asked(risk_of(record.task, policy), mode),
            priority=highest(found),
            triggers=found,
            reason=reasons(found),
            description=f"**{name}** is to begin task `{record.id}`: {record.task.description}",
        )
        if what == "note":
            await self.floor.questions.note(question)
            return None
        return question

    async def result(self, record: TaskRecord, outcome: Outcome) -> Approval | None:
        """What has to be answered about a result before it counts, if anything."""
        key = f"{record.id}.{outcome.iteration}.result{outcome.returned}"
        if known := self.floor.questions.known(key):
            return known if known.expires_at is not None else None
        found = fired(self._signs(record, outcome), self.floor.run.policy)
        if not found:
            return None
        mode = await mode_of(self.floor.run, outcome.agent)
        what, found = response(found, mode)
        why = f"It failed: {outcome.failure.message}" if outcome.failure else outcome.text[:2000]
        question = Approval(
            id=key,
            task_id=record.id,
            agent=outcome.agent,
            subject="result",
            action="accept failure" if outcome.failure else "accept result",
            args={"result": outcome.result},
            args_schema=_RESULT,
            risk=risk_asked(_RISK_OF.get(found[0].trigger, "medium"), mode),
            priority=highest(found),
            triggers=found,
            reason=reasons(found),
            description=f"**{outcome.agent}** has ended task `{record.id}`: {record.task.description}\n\n{why}\n\n"
            "Approve: it stands. Edit: your result counts. Reject: it is done again with your message.",
        )
        if what == "note":
            await self.floor.questions.note(question)
            return None
        return question

    def _signs(self, record: TaskRecord, outcome: Outcome) -> Signs:
        failure, spec = outcome.failure, self._spec(outcome.agent)
        others = [other for key, other in self.floor.records.items() if key != record.id]
        now = record.model_copy(update={"outcome": outcome})
        is_late = failure is not None and failure.kind == "timeout"
        allowed = time_for_try(spec.limits.timeout_s, self.floor.run.policy) if spec and is_late else None
        return Signs(
            cost=outcome.usage.cost if spec and spec.run is not None else 0.0,
            confidence=outcome.confidence if failure is None else None,
            failures_in_a_row=failures_in_a_row([*others, now], outcome.agent) if failure else 0,
            overdue_s=allowed if allowed == self.floor.run.policy.decision_timeout_s else None,
        )

    def _spec(self, name: str) -> AgentSpec | None:
        team = self.floor.run.services.team
        return team.agent(name) if name in team else None


def reasons(found: Sequence[Fired]) -> str:
    """Every reason, highest priority first, in one line."""
    return "; ".join(one.reason for one in found)


def edited(task: Task, decision: Decision | None) -> Task:
    """The task as a human has changed it before it began."""
    if decision is None or decision.type != "edit" or not decision.args:
        return task
    return task.model_copy(update={"description": str(decision.args.get("description", task.description))})


def denied(record: TaskRecord, decision: Decision, what: str, iteration: int) -> Outcome:
    """The end of a task that a human did not allow."""
    said = f": {decision.message}" if decision.message else ""
    failure = Failure(kind="denied", message=f"{decision.by} did not allow {what}{said}")
    return Outcome(task_id=record.id, agent=record.agent or "", status="failed", failure=failure, iteration=iteration)


def settled(outcome: Outcome, decision: Decision) -> Outcome:
    """The result as it counts after a yes or an edit."""
    ended = outcome.model_copy(update={"approvals": [], "decided_by": decision.by})
    if decision.type == "edit" and decision.args is not None:
        result = decision.args.get("result", "")
        return ended.model_copy(update={"status": "done", "result": result, "claims": [], "failure": None})
    return ended.model_copy(update={"status": "failed" if outcome.failure else "done"})


def is_sent_back(outcome: Outcome, decision: Decision, most: int) -> bool:
    """Whether a rejected result is done again: a human said no, and has not done so `most` times."""
    return decision.by != POLICY and outcome.returned + 1 < most


def _asks_later(task: Task, spec: AgentSpec) -> bool:
    """Whether a sensitive task is asked about when it acts, with its real arguments: not where a function acts."""
    return spec.run is None and bool(tools_for(task.action or "", spec))
