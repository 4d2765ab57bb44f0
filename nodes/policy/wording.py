"""What is said in a thread about a run, in plain words: the plan, how far it is, what is asked, what was decided."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from state.approval import Approval, Decision
from state.record import FINAL, TaskRecord
from state.text import counted, shortened

MOST_LISTED = 40
"""Tasks of a plan that are listed."""
HOW_TO_ANSWER = "Answer with “yes”, or with “no, because …”."
HOW_TO_ANSWER_EACH = "Answer them where your page shows them, or by `baton answer`."
_DECIDED = {"approve": "Approved", "reject": "Rejected", "edit": "Approved with changes"}


def asked(question: Approval, unread: str = "") -> str:
    """What is asked, why, how risky that is, until when it can be answered, and what it would do, as plain text.

    `unread`: why the last answer did not count, if one did not.
    """
    until = f" Until {at(question.expires_at)}." if question.expires_at else ""
    why = f"Why: {question.reason.rstrip('.')}. Risk: {question.risk}.{until}"
    again = f"The last answer could not be used: {unread.replace(f'{question.id}: ', '')}" if unread else ""
    return "\n\n".join(filter(None, [question.title, again, why, question.description]))


def questions_text(questions: Sequence[Approval], unread: str = "") -> str:
    """The first of the open questions, what waits behind it, and how to answer."""
    first, *others = questions
    behind = [f"Then {counted(len(others), 'question')} more:"] if others else []
    listed = "\n".join(f"- {one.title}" for one in others[:MOST_LISTED])
    how = HOW_TO_ANSWER_EACH if others else HOW_TO_ANSWER
    return "\n\n".join(filter(None, [asked(first, unread), *behind, listed, how]))


def decided(decision: Decision) -> str:
    """Who decided what."""
    said = f": {decision.message}" if decision.message else ""
    return f"{_DECIDED[decision.type]} by {decision.who}{said}"


def plan_list(records: Sequence[TaskRecord]) -> str:
    """The plan as a numbered list, with who does what where that is known."""
    lines = [
        f"{number}. {shortened(record.task.description)}" + (f" ({record.agent})" if record.agent else "")
        for number, record in enumerate(records[:MOST_LISTED], 1)
    ]
    more = [f"… and {len(records) - MOST_LISTED} more"] if len(records) > MOST_LISTED else []
    return "\n".join(["The plan:", "", *lines, *more])


def progress(records: Sequence[TaskRecord], waits_for: Sequence[Approval] = ()) -> str:
    """How far it is, in a line."""
    ended = {record.id: record.status for record in records if record.status in FINAL}
    waits = f" · waits for you: {counted(len(waits_for), 'open question')}" if waits_for else ""
    return progress_line({record.id: record for record in records}, ended, ()) + waits


def progress_line(records: Mapping[str, TaskRecord], ended: Mapping[str, str], at_work: Collection[str]) -> str:
    """How many tasks of how many are done, how many have ended otherwise, and who is at what.

    `ended`: by id, how each ended (`done`, `failed`, …).
    """
    done = sum(status == "done" for status in ended.values())
    undone = [f"{len(ended) - done} not done"] if len(ended) > done else []
    doing = [f"{records[one].agent}: {shortened(records[one].task.description)}" for one in at_work if one in records]
    return " · ".join([f"{done} of {len(records)} done", *undone, *doing[:2]])


def at(moment: float) -> str:
    """A time in seconds since the epoch, as people write it."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"
