"""Keeps the head of the audit logs outside the database as they grow: in a file, or by a webhook (`BATON_AUDIT_HEAD`).

Who can write the database can write its logs anew, and their heads with them. What stands elsewhere stays, and
`baton log --approvals --verify` compares the two where the other place is a file.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Collection
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from graph.settings import Settings
from nodes.runtime.audit import NoWitness, Seals, Witness
from state.text import Json

POST_TIMEOUT_S = 5.0
"""Seconds a webhook may take; the run waits for it, so that no process ends before it was told."""
_log = logging.getLogger("baton.audit")


def seals_of(settings: Settings) -> Seals:
    """How the settings say that audit logs are sealed, and where their heads are kept."""
    key = settings.audit_key.get_secret_value().encode() if settings.audit_key else b""
    return Seals(key, _witness(settings.audit_head.get_secret_value()))


def _witness(place: str) -> Witness:
    if not place:
        return NoWitness()
    return WebhookWitness(place) if place.startswith(("http://", "https://")) else FileWitness(Path(place))


class FileWitness:
    """Appends a line of JSON for each record: `{"thread", "number", "seal", "at"}`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def note(self, thread_id: str, number: int, seal: str, at: float) -> None:
        """Keep one."""
        line = json.dumps(_head(thread_id, number, seal, at)) + "\n"
        await _carefully(lambda: self._append(line), str(self._path))

    def noted(self, thread_id: str) -> Collection[tuple[int, str]]:
        """What the file has of a thread; a line that is none is passed over."""
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ()
        heads = [(row.get("thread"), row.get("number"), row.get("seal")) for row in map(_read, lines)]
        return {(n, s) for thread, n, s in heads if thread == thread_id and isinstance(n, int) and isinstance(s, str)}

    def _append(self, line: str) -> None:
        with self._path.open("ab") as file:  # one write: lines of several processes do not mix
            file.write(line.encode())


class WebhookWitness:
    """Posts each as JSON: `{"thread", "number", "seal", "at"}`. What it keeps is not read again from here."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def note(self, thread_id: str, number: int, seal: str, at: float) -> None:
        """Tell of one."""
        body = json.dumps(_head(thread_id, number, seal, at)).encode()
        await _carefully(lambda: self._post(body), "the webhook")

    def noted(self, thread_id: str) -> Collection[tuple[int, str]]:  # noqa: ARG002 - the protocol's
        """Nothing: only whoever was told knows."""
        return ()

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json"}
        request = Request(self._url, data=body, headers=headers)  # noqa: S310 - http or https, see `_witness`
        with urlopen(request, timeout=POST_TIMEOUT_S):  # noqa: S310
            pass


def _head(thread_id: str, number: int, seal: str, at: float) -> Json:
    return {"thread": thread_id, "number": number, "seal": seal, "at": at}


def _read(line: str) -> Json:
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}


async def _carefully(keep: Callable[[], None], where: str) -> None:
    """Keep it; a run does not fail because a head could not be kept, but somebody is told."""
    try:
        await asyncio.to_thread(keep)
    except (OSError, URLError) as error:
        _log.warning("the head of the audit log could not be kept (BATON_AUDIT_HEAD, %s): %s", where, error)
