"""What one model call may take: the tokens of its reply, and its time; and what the server told besides the reply.

Whoever has the policy at hand sets it around a call; whoever makes the call reads it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass
class Bounds:
    """Those of one call."""

    cap: int | None = None
    """Tokens that the reply may have; None: as many as the model likes."""
    seconds: float | None = None
    """How long the call may take in all; None: as long as something arrives."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """What the server said in the headers of its reply, where the client tells; set by the call."""
    arrived: int = 0
    """About how many tokens of a reply have come that broke off; set by the call."""


_current: ContextVar[Bounds | None] = ContextVar("call_bounds", default=None)


@contextmanager
def bounded(cap: int | None = None, seconds: float | None = None) -> Iterator[Bounds]:
    """Within this, models are asked within these bounds."""
    bounds = Bounds(cap, seconds)
    token = _current.set(bounds)
    try:
        yield bounds
    finally:
        _current.reset(token)


def current_bounds() -> Bounds:
    """The bounds within which models are asked here."""
    return _current.get() or Bounds()
