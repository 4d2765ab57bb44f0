"""The post: mail goes to mailboxes at once, is stored a moment later, and told of in the same transaction."""

from collections import Counter
from collections.abc import Mapping, Sequence

from langgraph.store.base import PutOp

from nodes.policy.directory import addressees
from nodes.policy.mailbox import CAPACITY
from nodes.runtime.context import RunContext
from nodes.runtime.steering import Steering
from state.brief import Mail
from state.record import TaskRecord


class Post:
    """Delivers mail within one executing superstep."""

    def __init__(self, run: RunContext, steering: Steering, records: Mapping[str, TaskRecord]) -> None:
        self._run = run
        self._steering = steering
        self._records = records
        self._sent: Counter[tuple[str, str]] = Counter()
        """Mail that no event tells of yet: how many, by sender and address."""

    def deliver(self, mail: Mail) -> str:
        """Put mail into the mailboxes it is for; returns why not, or an empty string. Never waits."""
        names = self._addressees(mail.to, mail.sender)
        if sum(self._steering.deliver(name, [mail]) for name in names):
            self._sent[mail.sender, mail.to] += 1
        self._run.services.bells.ring(self._run.thread_id)
        return "" if names else f"there is nobody called {mail.to!r}"

    async def save(self, also: Sequence[PutOp] = ()) -> None:
        """Store what was delivered, and tell of it and of what the mailboxes have lost, together with `also`."""
        rows, sent = [*self._steering.unsaved(), *also], self._sent
        self._sent = Counter()
        for (sender, to), messages in sent.items():
            lost = {name: self._steering.mail(name).lost for name in self._addressees(to, sender)}
            told = {"sender": sender, "to": list(lost), "messages": messages, "lost": lost, "capacity": CAPACITY}
            await self._run.emit("mail_delivered", also=rows, **told)  # type: ignore[arg-type]
            rows = []
        if rows:
            await self._run.store.abatch(rows)

    def _addressees(self, to: str, sender: str) -> list[str]:
        return addressees(to, sender, self._run.services.team, self._records)
