"""Telling people that they are asked: through whatever the composition root hands in, and always in the log.

A message that cannot be delivered is tried again and then given up: it never fails a run.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from nodes.policy.failures import retry_delay
from nodes.runtime.clock import Clock
from state.approval import Approval

TRIES = 3
"""How often a message is tried to be delivered."""

LOG = logging.getLogger("baton.approvals")


class Notifier(Protocol):
    """Delivers messages to people."""

    async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
        """Send one; false (or an exception) if somebody could not be reached. `escalated`: to the next person."""


class Nobody:
    """The notifier where none is set: the log is enough."""

    async def tell(self, title: str, body: str, *, escalated: bool) -> bool:  # noqa: ARG002 - it tells nobody
        """Nothing to deliver."""
        return True


async def tell(notifier: Notifier, clock: Clock, title: str, body: str, *, escalated: bool = False) -> bool:
    """Deliver a message, again after a pause where that fails; whether it was delivered."""
    LOG.info("%s: %s", title, body)
    return await _patiently(lambda: notifier.tell(title, body, escalated=escalated), clock, title)


async def _patiently(send: Callable[[], Awaitable[bool]], clock: Clock, title: str) -> bool:
    for number in range(1, TRIES + 1):
        try:
            if await send():
                return True
            why = "somebody could not be reached"
        except Exception as error:  # noqa: BLE001 - the notifier's boundary: no message is worth a run
            why = f"{type(error).__name__}: {error}"
        if number < TRIES:
            await clock.sleep(retry_delay(number, clock.jitter()))
    LOG.warning("nobody was notified of %r after %s tries: %s", title, TRIES, why)
    return False


def title_of(thread_id: str, approval: Approval, opening: str = "") -> str:
    """The first line of a message about a question."""
    return f"{opening or 'Baton asks'}: {approval.action} ({approval.risk} risk, thread {thread_id})"


def body_of(thread_id: str, approval: Approval) -> str:
    """The message about a question: what, why, how to answer."""
    lines = [approval.description, f"Why: {approval.reason}."]
    if approval.args:
        lines.append("With: " + ", ".join(f"{key}={str(value)[:200]!r}" for key, value in approval.args.items()))
    lines.append(f"Answer: baton answer {thread_id} {approval.id} approve|reject|edit")
    return "\n".join(line for line in lines if line)
