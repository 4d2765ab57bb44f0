"""Long runs by chance: how often does something break that must not. `docs/reliability.md` has the figures."""

import os
import sys
from collections.abc import Sequence


def how_many(name: str, by_default: int) -> int:
    """How many stories are told: the environment variable of that name."""
    return int(os.environ.get(name, by_default))


def check(what: str, count: int, wrong: Sequence[str], **figures: float) -> None:
    """Say what was found (pytest shows it with `-s`), and fail if anything was wrong."""
    more = "".join(f", {key.replace('_', ' ')} {value:g}" for key, value in figures.items())
    sys.stderr.write(f"\n{count} {what}{more}: {len(wrong)} wrong\n")
    assert list(wrong) == []
