"""The questions before a task, about its result and on escalation, and what each answer makes of the outcome.

A substitute passes the gate at the start as well, for what was not asked there of the agent before it: what the one
asks about when it acts the other may do unasked, or have no tool for.

Escalation is what happens to a task whose agent failed or reached a limit, where it says who takes over. To another
agent: that one does the task, knowing what there is and why. To a human: the task parks with a question. Approve takes
what there is as it is (or has the agent try again, where there is nothing), edit gives the result (`{"result": …}`),
reject lets the task fail.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Literal

from nodes.policy.oversight import TRIGGERS, Closeness, Response, ask_about, response
from nodes.policy.routing import marks_of, risk_of, tools_for
from state.agent import AgentSpec, Brief
from state.approval import POLICY, Approval, Decision, FiredTrigger
from state.plan import Task
from state.policy import Policy
from state.record import Failure, Outcome, TaskRecord

ESCALATE = "escalate"
LONGEST_SHOWN = 4_000
"""Characters of a partial result in the question."""

Decisions = Mapping[str, Decision]


def question_id(kind: Literal["start", "result", "escalate"], task_id: str, iteration: int, number: int | None) -> str:
    """The id of a question at a gate of a task: the same after a crash. `number` tells those of one round apart."""
    return f"{task_id}.{iteration}.{kind}{'' if number is None else number}"


def why(outcome: Outcome) -> str:
    """What went wrong, in words."""
    return outcome.limited or (outcome.failure.message if outcome.failure else "it did not deliver")


def substitution_reason(outcome: Outcome) -> str:
    """Why somebody else does the task now."""
    return f"{outcome.agent} handed this over" if outcome.handed_to else f"{outcome.agent} stopped: {why(outcome)}"


def brief_for_substitute(brief: Brief, outcome: Outcome) -> Brief:
    """The brief of whoever takes over: what there is so far, and why it is theirs now."""
    return brief.model_copy(
        update={"previous": outcome.result, "feedback": f"{substitution_reason(outcome)}; finish it in its place"}
    )


def escalated(outcome: Outcome, brief: Brief, decisions: Decisions) -> Outcome:
    """The outcome, parked with the question what shall become of it."""
    ids = (question_id("escalate", brief.task.id, brief.iteration, number) for number in count(1))
    question = Approval(
        id=next(key for key in ids if key not in decisions),
        task_id=brief.task.id,
        agent=outcome.agent,
        subject="escalation",
        action=ESCALATE,
        args={"result": outcome.text[:LONGEST_SHOWN]},
        risk="high",
        reason=why(outcome),
        description=(
            f"{outcome.agent} could not finish this: {brief.task.description}\n\n"
            'Approve takes what there is (or tries again), edit gives the result: {"result": …}, reject fails the task.'
        ),
    )
    return outcome.model_copy(update={"status": "parked", "approvals": [question], "conversation": []})


def is_escalated(record: TaskRecord) -> bool:
    """Whether a task waits for a human to say what becomes of it."""
    asked = record.outcome.approvals if record.outcome and record.status == "parked" else []
    return any(approval.subject == "escalation" for approval in asked)


def outcome_by_human(record: TaskRecord, decisions: Decisions) -> Outcome | None:
    """What a human made of a task that was escalated; None where none was asked, or the agent shall try again."""
    start = record.outcome
    if start is None or not is_escalated(record):
        return None
    question = next((one for one in start.approvals if one.id in decisions), None)
    if question is None:
        return None
    said = decisions[question.id]
    if said.type == "reject":
        failure = Failure(kind="denied", message=f"{said.who} gave it up: {said.message or question.reason}")
        return start.model_copy(update={"status": "failed", "failure": failure, "approvals": [], "decided_by": said.by})
    if said.type == "edit" and said.args and "result" in said.args:
        changes = {"result": said.args["result"], "claims": [], "doubts": [], "limited": "", "confidence": None}
        ended: dict[str, object] = {"status": "done", "approvals": [], "failure": None, "decided_by": said.by}
        return start.model_copy(update={**ended, **changes})
    if start.text:
        changes = {"failure": None, "confidence": None, "decided_by": said.by}
        return start.model_copy(update={"status": "done", "approvals": [], **changes})
    return None


def entry_question(
    key: str, record: TaskRecord, agent: AgentSpec | None, policy: Policy, mode: Closeness
) -> tuple[Response, Approval | None]:
    """Whether a human is asked before the task begins, and the question, if anybody is to see it.

    A sensitive task is asked about when it acts, with its real arguments, where its agent has a tool for it.
    """
    marks = marks_of(record.task, record.route, agent, policy)
    asks_later = agent is not None and agent.run is None and tools_for(record.task.action or "", agent)
    if mode != "in_command" and asks_later:
        marks = [mark for mark in marks if mark.trigger != "sensitive"]
    what, found = response(marks, mode)
    if what == "pass":
        return what, None
    question = Approval(
        id=key,
        task_id=record.id,
        agent=record.agent or "",
        subject="task",
        action=record.task.action or "begin task",
        args={"description": record.task.description},
        args_schema={
            "type": "object",
            "properties": {"description": {"type": "string", "minLength": 1}},
            "required": ["description"],
        },
        risk=risk_of(record.task, policy),
        reason="",
        description=f"{record.agent or ''} is to begin this: {record.task.description}",
    )
    return what, ask_about(question, found, mode)


def covers(before: Approval | None, what: Response, question: Approval) -> bool:
    """Whether what was asked (or, where it is only noted, noted) at a task's start says all of a `question` like it."""
    if before is None or (what == "ask" and before.expires_at is None):
        return False
    return {one.trigger for one in question.triggers} <= {one.trigger for one in before.triggers}


def waiting_substitute(outcome: Outcome, question: Approval) -> Outcome:
    """What there is of a task, parked until a human says whether another agent may take it over."""
    waiting = {"status": "parked", "agent": question.agent, "approvals": [question], "conversation": []}
    return outcome.model_copy(update=waiting)


def substitute_decision(outcome: Outcome | None, decisions: Decisions) -> Decision | None:
    """What a human has said to the agent that was to take over; None where none was asked about."""
    asked = outcome.approvals if outcome and outcome.tried and outcome.agent not in outcome.tried else []
    return next((decisions[one.id] for one in asked if one.subject == "task" and one.id in decisions), None)


def result_question(
    key: str, record: TaskRecord, outcome: Outcome, fired: Sequence[FiredTrigger], mode: Closeness
) -> tuple[Response, Approval]:
    """Whether a human is asked about a result, for which these triggers `fired`, before it counts, and the question."""
    what, found = response(fired, mode)
    why = f"It failed: {outcome.failure.message}" if outcome.failure else outcome.text[:2000]
    question = Approval(
        id=key,
        task_id=record.id,
        agent=outcome.agent,
        subject="result",
        action="accept failure" if outcome.failure else "accept result",
        args={"result": outcome.result},
        args_schema={"type": "object", "properties": {"result": {}}, "required": ["result"]},
        risk=TRIGGERS[found[0].trigger].risk,
        reason="",
        description=f"{outcome.agent} has done this: {record.task.description}\n\n{why}\n\n"
        "Approve: it stands. Edit: your result counts. Reject: it is done again with your message.",
    )
    return what, ask_about(question, found, mode)


UNCOUNTED = frozenset({"denied", "limit", "rejected"})
"""Failures about which there is nothing to ask: a human has spoken, or the run's own limits and model have."""


def parked(outcome: Outcome, question: Approval, iteration: int) -> Outcome:
    """The outcome, waiting for an answer about it."""
    return outcome.model_copy(update={"status": "parked", "approvals": [question], "iteration": iteration})


def is_about_result(outcome: Outcome) -> bool:
    """Whether a parked task waits for an answer about its result: then the work is done."""
    return any(approval.subject == "result" for approval in outcome.approvals)


def has_ended(outcome: Outcome) -> bool:
    """Whether there is a result, or a failure, about which a human may be asked."""
    kind = outcome.failure.kind if outcome.failure else ""
    return outcome.status in ("done", "failed") and kind not in UNCOUNTED


def with_returns(made: Outcome, returned: int, brief: Brief) -> Outcome:
    """The outcome with how often it was sent back; while it waits at an action, with the version before."""
    changes: dict[str, object] = {"returned": returned}
    if made.returned == returned == 0:
        return made
    if made.status == "parked" and returned:
        changes["result"] = brief.previous
    return made.model_copy(update=changes)


def edited(task: Task, decision: Decision | None) -> Task:
    """The task as a human has changed it before it began."""
    if decision is None or decision.type != "edit" or not decision.args:
        return task
    return task.model_copy(update={"description": str(decision.args.get("description", task.description))})


def denied_outcome(record: TaskRecord, decision: Decision, what: str, iteration: int) -> Outcome:
    """The end of a task that a human did not allow."""
    said = f": {decision.message}" if decision.message else ""
    failure = Failure(kind="denied", message=f"{decision.who} did not allow {what}{said}")
    return Outcome(task_id=record.id, agent=record.agent or "", status="failed", failure=failure, iteration=iteration)


def accepted(outcome: Outcome, decision: Decision) -> Outcome:
    """The result as it counts after a yes or an edit."""
    ended = outcome.model_copy(update={"approvals": [], "decided_by": decision.by})
    if decision.type == "edit" and decision.args is not None:
        result = decision.args.get("result", "")
        changes = {"result": result, "claims": [], "doubts": [], "limited": "", "failure": None}
        return ended.model_copy(update={"status": "done", **changes})
    return ended.model_copy(update={"status": "failed" if outcome.failure else "done"})


def is_sent_back(outcome: Outcome, decision: Decision, most: int) -> bool:
    """Whether a rejected result is done again: a human said no, and has not done so `most` times."""
    return decision.by != POLICY and outcome.returned + 1 < most
