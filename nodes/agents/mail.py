"""Mail for agents that hold a conversation: which of it a conversation has, and what is to be added to it.

Which mail was read stands in the conversation itself, so an attempt made again, or work that goes on after a pause or a
question, misses none and reads none twice.
"""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from nodes.agents.invocation import Invocation
from nodes.llm.sections import Section, render

READ = "mail"
"""Key, in a message's `additional_kwargs`, of the ids of the mail it shows."""


def in_brief(invocation: Invocation) -> list[str]:
    """Ids of the mail that the brief shows, and of older mail that it leaves out."""
    shown = {mail.id for mail in invocation.brief.mail}
    ids = [mail.id for mail in invocation.execution.signals.mail(invocation.spec.name).messages]
    last = max((number for number, mail_id in enumerate(ids) if mail_id in shown), default=-1)
    return ids[: last + 1]


def new_mail(messages: Sequence[BaseMessage], invocation: Invocation) -> list[HumanMessage]:
    """The mail that is not in the conversation yet, as a message; nothing if there is none."""
    known = {mail_id for message in messages for mail_id in message.additional_kwargs.get(READ, ())}
    mailbox = invocation.execution.signals.read_mail(invocation.spec.name)
    found = [mail for mail in mailbox.messages if mail.id not in known]
    if not found:
        return []
    text, ids = render([Section("mail", mail.text, {"from": mail.sender}) for mail in found]), [m.id for m in found]
    return [HumanMessage(text, additional_kwargs={READ: ids}, id=f"mail:{','.join(ids)}")]  # once, whoever adds it
