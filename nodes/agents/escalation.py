"""Escalation: what happens to a task whose agent failed or reached a limit, where it says who takes over.

To another agent: that one does the task, knowing what there is and why. To a human: the task parks with a question.
Approve takes what there is as it is (or has the agent try again, where there is nothing), edit gives the result
(`{"result": …}`), reject lets the task fail.
"""

from collections.abc import Mapping

from state.approval import Approval, Decision
from state.brief import Brief
from state.outcome import Failure, Outcome
from state.record import TaskRecord

ESCALATE = "escalate"
LONGEST_SHOWN = 4_000
"""Characters of a partial result in the question."""

Decisions = Mapping[str, Decision]


def is_cut_short(outcome: Outcome) -> bool:
    """Whether a limit ended the work: what was delivered is not a plain success."""
    return bool(outcome.limited)


def why(outcome: Outcome) -> str:
    """What went wrong, in words."""
    return outcome.limited or (outcome.failure.message if outcome.failure else "it did not deliver")


def relief(outcome: Outcome) -> str:
    """Why somebody else does the task now."""
    return f"{outcome.agent} handed this over" if outcome.handed_to else f"{outcome.agent} stopped: {why(outcome)}"


def briefed(brief: Brief, outcome: Outcome) -> Brief:
    """The brief of whoever takes over: what there is so far, and why it is theirs now."""
    return brief.model_copy(
        update={"previous": outcome.result, "feedback": f"{relief(outcome)}; finish it in its place"}
    )


def asked_human(outcome: Outcome, brief: Brief, decisions: Decisions) -> Outcome:
    """The outcome, parked with the question what shall become of it."""
    stem = f"{brief.task.id}.{brief.iteration}.{ESCALATE}"
    number = sum(known.startswith(stem) for known in decisions) + 1
    question = Approval(
        id=f"{stem}{number}",
        task_id=brief.task.id,
        agent=outcome.agent,
        action=ESCALATE,
        args={"result": outcome.text[:LONGEST_SHOWN]},
        risk="high",
        reason=why(outcome),
        description=(
            f"**{outcome.agent}** could not finish task `{brief.task.id}`: {brief.task.description}\n\n"
            'Approve takes what there is (or tries again), edit gives the result: {"result": …}, reject fails the task.'
        ),
    )
    return outcome.model_copy(update={"status": "parked", "approvals": [question], "conversation": []})


def is_escalated(record: TaskRecord) -> bool:
    """Whether a task waits for a human to say what becomes of it."""
    asked = record.outcome.approvals if record.outcome and record.status == "parked" else []
    return any(approval.action == ESCALATE for approval in asked)


def by_human(record: TaskRecord, decisions: Decisions) -> Outcome | None:
    """What a human made of a task that was escalated; None where none was asked, or the agent shall try again."""
    start = record.outcome
    if start is None or not is_escalated(record):
        return None
    question = next((one for one in start.approvals if one.id in decisions), None)
    if question is None:
        return None
    said = decisions[question.id]
    if said.type == "reject":
        failure = Failure(kind="declared", message=f"{said.by} gave it up: {said.message or question.reason}")
        return start.model_copy(update={"status": "failed", "failure": failure, "approvals": []})
    if said.type == "edit" and said.args and "result" in said.args:
        changes = {"result": said.args["result"], "claims": [], "failure": None, "limited": "", "confidence": None}
        return start.model_copy(update={"status": "done", "approvals": [], **changes})
    if start.text:
        return start.model_copy(update={"status": "done", "approvals": [], "failure": None, "confidence": None})
    return None
