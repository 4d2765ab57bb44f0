"""What LangGraph and LangChain keep to themselves and Baton cannot do without: named here, and nowhere else.

`tests/nodes/agents/test_internals.py` fails when one of them changes.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

SCRATCHPAD = "__pregel_scratchpad"
"""Where, in a config, LangGraph's `interrupt()` looks for answers."""
SEND = "__pregel_send"
"""What it tells that it has taken one."""


class Answers:
    """Answers to the questions that code asks by `interrupt()`, handed out in the order in which it asks."""

    def __init__(self, answers: Sequence[object]) -> None:
        self._left = deque(answers)
        self._calls = 0
        self._taken: list[object] = []
        self.given = 0
        """How many were handed out."""

    def config(self, config: RunnableConfig) -> RunnableConfig:
        """`config` for code whose questions get these answers."""
        conf: Mapping[str, Any] = config.get("configurable", {})
        pad = replace(
            conf[SCRATCHPAD], resume=self._taken, interrupt_counter=self._asked, get_null_resume=self._asked_below
        )
        return cast(RunnableConfig, {**config, "configurable": {**conf, SCRATCHPAD: pad, SEND: _nowhere}})

    def _asked(self) -> int:
        """The number of the question that is asked now; its answer, if there is one, lies where LangGraph looks."""
        self._calls += 1
        if self._left:
            self._taken.append(self._next())
        return self._calls - 1

    def _asked_below(self, consume: bool = False) -> object:
        """The answer for a graph that the code runs by itself; None if there is none, or if that is what it is."""
        if not self._left or self._left[0] is None:
            return None
        return self._next() if consume else self._left[0]

    def _next(self) -> object:
        self.given += 1
        return self._left.popleft()


@contextmanager
def within(config: RunnableConfig) -> Iterator[None]:
    """While inside, this is the config that LangChain and LangGraph find."""
    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _nowhere(_: object) -> None:
    """Nobody has to know that an answer was taken: it is kept with the decision."""
