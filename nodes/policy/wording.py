"""What is said in a thread about a run, in plain words: the plan, how far it is, what is asked, what was decided."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from pydantic import JsonValue

from state.approval import Approval, Decision
from state.record import FINAL, TaskRecord
from state.text import counted

LONGEST_TITLE = 90
"""Characters of a title or of a task in a line."""
MOST_LISTED = 40
"""Tasks of a plan that are listed."""
OBJECTS = ("name", "path", "file", "filename", "title", "to", "recipient", "subject", "url", "query")
"""Arguments that say best what an action is done to, the first that there is."""
HOW_TO_ANSWER = "Answer with “yes”, or with “no, because …”."
HOW_TO_ANSWER_EACH = "Answer them where your page shows them, or by `baton answer`."
_END = "?!. "
"""What a title does not have before its question mark."""
_DECIDED = {"approve": "Approved", "reject": "Rejected", "edit": "Approved with changes"}


def title_of(question: Approval) -> str:
    """What is asked, as somebody would ask it: `Publish launch.md?`."""
    match question.subject:
        case "plan":
            tasks = question.args.get("tasks")
            return f"Carry out this plan of {counted(len(tasks) if isinstance(tasks, list) else 0, 'task')}?"
        case "task":
            what = shortened(str(question.args.get("description", question.task_id)))
            return f"Let {question.agent} begin: {what.rstrip(_END)}?"
        case "result":
            return f"Does what {question.agent} delivered count?"
        case "escalation":
            return f"{question.agent} could not finish: what shall become of it?"
        case "action":
            return f"{_spoken(question.action)}{_object(question.args).rstrip(_END)}?"


def asked(question: Approval, unread: str = "") -> str:
    """What is asked, why, how risky that is, until when it can be answered, and what it would do, as plain text.

    `unread`: why the last answer did not count, if one did not.
    """
    until = f" Until {at(question.expires_at)}." if question.expires_at else ""
    why = f"Why: {question.reason.rstrip('.')}. Risk: {question.risk}.{until}"
    again = f"The last answer could not be used: {unread.replace(f'{question.id}: ', '')}" if unread else ""
    return "\n\n".join(filter(None, [title_of(question), again, why, question.description]))


def questions_text(questions: Sequence[Approval], unread: str = "") -> str:
    """The first of the open questions, what waits behind it, and how to answer."""
    first, *others = questions
    behind = [f"Then {counted(len(others), 'question')} more:"] if others else []
    listed = "\n".join(f"- {title_of(one)}" for one in others[:MOST_LISTED])
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
    ended = [record.id for record in records if record.status in FINAL]
    waits = f" · waits for you: {counted(len(waits_for), 'open question')}" if waits_for else ""
    return progress_line({record.id: record for record in records}, ended, ()) + waits


def progress_line(records: Mapping[str, TaskRecord], ended: Collection[str], at_work: Collection[str]) -> str:
    """How many tasks of how many have ended, and who is at what."""
    doing = [f"{records[one].agent}: {shortened(records[one].task.description)}" for one in at_work if one in records]
    return " · ".join([f"{len(ended)} of {len(records)} done", *doing[:2]])


_MARKED = re.compile(r"\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*|`([^`\n]+)`")


def unmarked(text: str) -> str:
    """Markdown for a place that draws none: without the marks of what is bold or code, and nothing else changed."""
    return _MARKED.sub(lambda found: found[1] or found[2], text)


def shortened(text: str) -> str:
    """The text as one line, its beginning where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"


def at(moment: float) -> str:
    """A time in seconds since the epoch, as people write it."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"


def _spoken(action: str) -> str:
    words = " ".join(action.replace("_", " ").replace("-", " ").split())
    return words[:1].upper() + words[1:]


def _object(args: Mapping[str, JsonValue]) -> str:
    named = [args[key] for key in OBJECTS if key in args]
    short = [
        one for one in (*named, *args.values()) if isinstance(one, str | int | float) and not isinstance(one, bool)
    ]
    lines = [str(one) for one in short if str(one).strip() and "\n" not in str(one) and len(str(one)) <= LONGEST_TITLE]
    return f" {lines[0]}" if lines else ""
