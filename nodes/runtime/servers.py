"""Servers of models, as this process sees them: which asks to be left alone, until when, how many calls it bears.

All agents of a server wait together: whoever is told to wait holds up every call to that address, of whatever model.
After that calls go out one by one at first, and more at a time with every one that is answered (the slow start of TCP,
RFC 5681), so that fifty that have waited do not come back at once.
"""

import math
from dataclasses import dataclass, field
from threading import Lock

LOOK_EVERY_S = 1.0
"""Seconds between two looks at what other processes were told, of each server."""


@dataclass
class Server:
    """One of them."""

    free_at: float = 0.0
    """When it may be asked again, seconds since the epoch."""
    room: int | None = None
    """Calls that may be under way at a time; None as long as it has refused none."""
    under_way: int = 0
    asked_at: float = -math.inf
    """When it asked for the last pause that this process knows of."""
    looked_at: float = -math.inf
    """When this process has last read what others were told."""
    told: set[str] = field(default_factory=set)
    """Threads whose people know of this pause."""


class Servers:
    """Those that this process asks. Used from several event loops: nothing in it waits for another one."""

    def __init__(self) -> None:
        self._known: dict[str, Server] = {}
        self._lock = Lock()

    def pause(self, address: str, seconds: float, now: float) -> None:
        """Take note that a server asks to be left alone."""
        with self._lock:
            server = self._known.setdefault(address, Server())
            if server.free_at <= now:
                server.told.clear()
            server.free_at, server.room, server.asked_at = max(server.free_at, now + seconds), 1, now

    def recall(self, address: str, at: float, seconds: float, now: float) -> None:
        """The same of a pause that another process was told `at` a moment, or this one before it died.

        It is no longer than it was asked for, whatever two machines' clocks say.
        """
        left = min(seconds, at + seconds - now)
        if left > 0 and self._known[address].asked_at != at:
            self.pause(address, left, now)
            self._known[address].asked_at = at

    def is_to_look(self, address: str, now: float) -> bool:
        """Whether it is time to read what other processes were told; it counts as done."""
        with self._lock:
            server = self._known.setdefault(address, Server())
            if now - server.looked_at < LOOK_EVERY_S:
                return False
            server.looked_at = now
            return True

    def left(self, address: str, now: float) -> float:
        """Seconds until it may be asked."""
        server = self._known.get(address)
        return max(0.0, server.free_at - now) if server else 0.0

    def enter(self, address: str, now: float) -> bool:
        """Take room for a call, if there is some now; `leave` gives it back."""
        with self._lock:
            server = self._known.setdefault(address, Server())
            if server.free_at > now or (server.room is not None and server.under_way >= server.room):
                return False
            server.under_way += 1
            return True

    def leave(self, address: str, *, is_answered: bool) -> None:
        """The call has ended."""
        with self._lock:
            server = self._known[address]
            server.under_way -= 1
            if is_answered and server.room is not None:
                server.room += 1

    def is_news(self, address: str, thread_id: str) -> bool:
        """Whether the people of that thread have not been told of this pause; they are, from now on."""
        with self._lock:
            told = self._known[address].told
            is_news = thread_id not in told
            told.add(thread_id)
            return is_news


PROCESS = Servers()
"""Those of everything in this process that goes by the machine's clock."""
