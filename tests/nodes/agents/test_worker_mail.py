"""Which mail a worker has read stands in its conversation: none is missed, none read twice."""

from langchain_core.messages import AnyMessage, HumanMessage

from nodes.agents.invocation import Invocation
from nodes.agents.mail import READ, in_brief, new_mail
from state.agent import Mail
from tests.builders import make_agent, make_brief
from tests.nodes.runtime.executions import make_floor


def mail(number: int) -> Mail:
    return Mail(id=f"m{number}", sender="bob", to="ada", text=f"message {number}")


def invocation(shown: list[int], there: int) -> Invocation:
    """A worker whose brief shows some messages, and whose mailbox holds that many."""
    execution = make_floor()
    execution.signals.deliver("ada", [mail(number) for number in range(there)])
    brief = make_brief("t1", mail=[mail(number) for number in shown])
    return Invocation(execution, make_agent("ada"), brief, "t1.0")


def test_mail_that_comes_between_the_brief_and_the_first_call_is_new() -> None:
    at = invocation(shown=[1, 2], there=4)
    opening: list[AnyMessage] = [HumanMessage("task", additional_kwargs={READ: in_brief(at)})]
    (said,) = new_mail(opening, at)
    assert "message 3" in said.text
    assert "message 2" not in said.text


def test_older_mail_that_the_brief_leaves_out_is_not_new() -> None:
    assert in_brief(invocation(shown=[1, 2], there=3)) == ["m0", "m1", "m2"]
    assert in_brief(invocation(shown=[], there=3)) == []


def test_what_was_read_is_not_read_again() -> None:
    at = invocation(shown=[], there=2)
    conversation: list[AnyMessage] = [*new_mail([], at)]
    assert len(conversation) == 1
    assert new_mail(conversation, at) == []
