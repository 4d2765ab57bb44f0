"""Messages to people by Apprise (the extra `notify`): Slack, e-mail, webhooks and whatever else has a URL there."""

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from state.errors import ExtraMissing, SettingsInvalid


class AppriseNotifier:
    """Sends to every URL of `urls`; to those of `next_person`, where there are any, once a deadline has passed.

    Raises:
        ExtraMissing: Apprise is not installed.
        SettingsInvalid: a URL that Apprise does not know; without the URL itself, which may hold a password.
    """

    def __init__(self, urls: Sequence[str], next_person: Sequence[str] = ()) -> None:
        self._first = _opened(urls, "BATON_NOTIFY")
        self._next = _opened(next_person, "BATON_NOTIFY_NEXT") if next_person else self._first

    async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
        """Send one; false if somebody could not be reached."""
        target = self._next if escalated else self._first
        return await asyncio.to_thread(_send, target, title, body)


def _opened(urls: Sequence[str], variable: str) -> Any:
    try:
        target = import_module("apprise").Apprise()
    except ModuleNotFoundError as error:
        raise ExtraMissing(f"messages to people ({variable})", "notify") from error
    for number, url in enumerate(urls, 1):
        if not target.add(url):
            scheme = url.partition("://")[0][:20]
            raise SettingsInvalid(f"{variable}: URL {number} ({scheme}://…) is none that Apprise can notify")
    return target


def _send(target: Any, title: str, body: str) -> bool:
    if not len(target):
        return True
    return bool(target.notify(title=title, body=body))
