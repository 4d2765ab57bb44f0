"""Mail in a worker's conversation. Which messages it has read stands in the conversation itself.

So a try made again, or work that goes on after a pause or a question, misses none and reads none twice.
"""

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage

from nodes.agents.worker.bench import Bench
from nodes.llm.sections import Section, render

READ = "mail"
"""Key, in a message's `additional_kwargs`, of the ids of the mail it shows."""


def in_brief(bench: Bench) -> list[str]:
    """Ids of the mail that the brief shows, and of older mail that it leaves out."""
    shown = {mail.id for mail in bench.brief.mail}
    ids = [mail.id for mail in bench.floor.steering.mail(bench.spec.name).messages]
    last = max((number for number, mail_id in enumerate(ids) if mail_id in shown), default=-1)
    return ids[: last + 1]


def new_mail(messages: Sequence[AnyMessage], bench: Bench) -> list[HumanMessage]:
    """The mail that is not in the conversation yet, as a message; nothing if there is none."""
    known = {mail_id for message in messages for mail_id in message.additional_kwargs.get(READ, ())}
    found = [mail for mail in bench.floor.steering.mail(bench.spec.name).messages if mail.id not in known]
    if not found:
        return []
    text = render([Section("mail", mail.text, {"from": mail.sender}) for mail in found])
    return [HumanMessage(text, additional_kwargs={READ: [mail.id for mail in found]})]
