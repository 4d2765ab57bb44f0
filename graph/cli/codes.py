"""Exit codes (design section 6)."""

from state.run import RunStatus

COMPLETE = 0
FAILED = 1
USAGE = 2
WAITING = 3
CANCELLED = 4
HANDED_OVER = 5
INTERRUPTED = 130
"""128 + SIGINT, as a shell says it."""
BROKEN_PIPE = 141
"""128 + SIGPIPE: whoever read our output has left (`| head`)."""

OF_RUN: dict[RunStatus, int] = {
    # `running`: another process runs it, and what was asked of it was passed on
    "complete": COMPLETE,
    "failed": FAILED,
    "waiting": WAITING,
    "paused": WAITING,
    "running": COMPLETE,
    "cancelled": CANCELLED,
    "handed_over": HANDED_OVER,
}
