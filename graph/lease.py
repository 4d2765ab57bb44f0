"""What a lease is, whatever database keeps it: who holds a thread, for how long, and who is known to be dead."""

import os
import socket
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from graph.fence import Fence
from state.errors import ThreadBusy

LEASE_S = 15.0
"""Seconds a lease holds without a heartbeat."""
HEARTBEAT_S = 5.0
LATEST_S = 600.0
"""Seconds that a living process on this machine may be late with a heartbeat before its lease is another's to take."""
PATIENCE_S = 1.0
"""Seconds to wait for a lease: whoever only applies a deadline has it for a moment."""
RETRY_S = 0.05
STEP_S = 5.0
"""Seconds a lease holds between two steps of a run, or counts as just given back after the last one."""
ENDED = ("Z", "X")
"""States of a process that has ended and that nobody has asked about yet (proc(5))."""
FREE = ""
"""The owner of a lease that was given back, by a process that has yet to write down where the run stands."""


class Holder(BaseModel):
    """Who holds a lease."""

    model_config = ConfigDict(extra="ignore")

    owner: str
    host: str
    pid: int
    born: str
    """When the process started, as far as the system tells: process numbers are used again."""

    @property
    def is_running(self) -> bool:
        """Whether the thread is held; where it is not, it was given back a moment ago."""
        return self.owner != FREE

    @property
    def is_here(self) -> bool:
        """Whether it is a process of this machine."""
        return self.host == socket.gethostname()


class Leases(Protocol):
    """The leases of one database."""

    def hold(self, thread_id: str, patience_s: float = PATIENCE_S) -> AbstractAsyncContextManager[Fence]:
        """Hold the lease of a thread while inside. Not reentrant: a second run of it is refused here as well.

        Raises:
            ThreadBusy: somebody else holds it.
            LeaseLost: it was taken away meanwhile; the task that is inside is cancelled then.
        """

    def step(self, thread_id: str, owner: str, *, is_last: bool = False) -> AbstractAsyncContextManager[None]:
        """Hold the lease of a thread for one step of a run whose steps are taken one by one, all by `owner`.

        After the step it is kept for `STEP_S`, so that nobody comes between it and the next one. After the last one,
        and after one that waits or failed, anybody may take it at once; for as long, it only says that this process is
        about to write down where the run stands. Nothing follows a step that was cut off.

        Raises:
            ThreadBusy: somebody else holds it.
            LeaseLost: it was taken away meanwhile; the task that is inside is cancelled then.
        """

    def as_left(self, thread_id: str, owner: str) -> Fence:
        """The lease as the last step of `owner` left it: for what is written down of that step after it."""

    async def check(self, thread_id: str, owner: str) -> None:
        """Refuse to change a thread that is not the owner's to change.

        Raises:
            ThreadBusy: somebody else holds its lease.
        """

    async def holder(self, thread_id: str) -> Holder | None:
        """Who runs the thread now, or did a moment ago (`FREE`); None if nobody does."""


def busy(thread_id: str, holder: Holder | None) -> ThreadBusy:
    """The refusal of a thread that somebody holds."""
    who = f"process {holder.pid} on {holder.host}" if holder else "another process"
    return ThreadBusy(f"thread {thread_id} is being run by {who}; wait for it, or steer it from here by signals")


def is_gone(holder: Holder) -> bool:
    """Whether the process is known to be dead: it was on this machine, and is not there, or is another one by now."""
    if not holder.is_here:
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return born(holder.pid) != holder.born


def born(pid: int) -> str:
    """When a process started, in the kernel's own unit; empty where it has ended, or the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return fields[19] if len(fields) > 19 and fields[0] not in ENDED else ""
