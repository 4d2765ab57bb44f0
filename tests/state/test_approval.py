"""Questions: what they say by fields now, rows of versions before said by their action and their id."""

from typing import Any

import pytest

from state.approval import Approval


def as_written_before(**fields: Any) -> dict[str, Any]:
    """A row of a version that had neither `takes_anything` nor the subject `escalation`."""
    asked = Approval(id="a.0.q1", task_id="a", agent="ada", action="launch", reason="it asks")
    return {**asked.model_dump(mode="json", exclude={"takes_anything"}), **fields}


@pytest.mark.parametrize(
    ("fields", "subject", "takes_anything"),
    [
        ({}, "action", False),
        ({"action": "answer"}, "action", True),
        ({"action": "answer", "args_schema": {"type": "object"}}, "action", False),
        ({"id": "a.0.escalate1", "action": "escalate"}, "escalation", False),
        ({"id": "a.0.unit/b.0.escalate1", "action": "escalate"}, "action", False),
        ({"id": "a.0.q1", "action": "escalate"}, "action", False),
        ({"id": "plan.0", "task_id": "", "action": "plan", "subject": "plan"}, "plan", False),
    ],
)
def test_a_row_of_the_version_before_is_read_by_its_action_and_id(
    fields: dict[str, Any], subject: str, takes_anything: bool
) -> None:
    read = Approval.model_validate(as_written_before(**fields))
    assert (read.subject, read.takes_anything) == (subject, takes_anything)
    assert Approval.model_validate(read.model_dump(mode="json")) == read


@pytest.mark.parametrize("action", ["answer", "escalate", "plan"])
def test_an_agent_may_ask_about_an_action_of_any_name(action: str) -> None:
    asked = Approval(id="a.0.q1", task_id="a", agent="ada", action=action, reason="it asks")
    assert (asked.subject, asked.takes_anything) == ("action", False)
