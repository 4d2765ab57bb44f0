"""A bounded mailbox (chapter 15.10): on overflow the older half goes, and the loss is counted."""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict

from state.agent import Mail, Team
from state.record import TaskRecord
from state.signal import EVERYBODY

CAPACITY = 100
"""Messages an agent's mailbox holds."""
REMEMBERED = 1000
"""Ids it remembers."""


class Mailbox(BaseModel):
    """An agent's messages, oldest first. Readers keep the number up to which they have read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    messages: tuple[Mail, ...] = ()
    received: int = 0
    """All messages ever put in."""
    lost: int = 0
    """Messages dropped, read or not, to make room."""
    known: tuple[str, ...] = ()
    """Ids of the last messages, so that one sent again after a crash is not there twice."""
    read: int = 0
    """How many of all messages ever put in were given to the agent, or lost."""

    @property
    def unread(self) -> int:
        """Messages that the agent was not given."""
        return self.received - self.read

    def add(self, mails: Iterable[Mail], capacity: int = CAPACITY) -> "Mailbox":
        """The mailbox with more mail in it; when it overflows, the newer half of its capacity stays."""
        messages, received, lost, known = list(self.messages), self.received, self.lost, list(self.known)
        for mail in mails:
            if mail.id and mail.id in known:
                continue
            if mail.id:
                known = [*known, mail.id][-REMEMBERED:]
            messages.append(mail)
            received += 1
            if len(messages) > capacity:
                keep = max(1, capacity // 2)
                lost += len(messages) - keep
                messages = messages[-keep:]
        if received == self.received:
            return self
        more = {"messages": tuple(messages), "received": received, "lost": lost, "known": tuple(known)}
        return self.model_copy(update=more)

    def since(self, read: int) -> list[Mail]:
        """What came after the first `read` messages, as far as it is still there."""
        first = self.received - len(self.messages)
        return [mail.model_copy() for mail in self.messages[max(0, read - first) :]]


def addressees(to: str, sender: str, team: Team, records: Mapping[str, TaskRecord]) -> list[str]:
    """The agents that an address means: all, a name, whoever does a task, or a role."""
    if to == EVERYBODY:
        return [agent.name for agent in team if agent.name != sender]
    if to in team:
        return [to]
    record = records.get(to)
    if record and record.agent:
        return [record.agent]
    return [agent.name for agent in team if agent.role == to]


def nobody(to: str, team: Team) -> str:
    """The refusal of mail to an address that there is not, with the roster."""
    known = ", ".join(f"{agent.name} ({agent.role})" for agent in team)
    return f"there is nobody called {to!r}; give {EVERYBODY}, a task's id, an agent or a role: {known}"
