"""What has come of the tasks of a superstep, and of attempts at them, as rows of the Store: it is not done again.

Rows are told apart by the superstep's name, which is the same after a crash. It is another one where a superstep begins
anew from the state that it began from: a message came in the middle of it, and LangGraph, told to `interrupt` for that,
has begun a run of its own. What had ended by then counts in that one, too. An attempt that ends its task needs no row
of its own; any other is written with the event that tells what follows from it.
"""

from collections.abc import Sequence

from langgraph.store.base import BaseStore, Item, PutOp

from nodes.runtime.rows import read_each, space
from state.record import Outcome
from state.text import Json

KEPT = ("outcomes", "attempts")
LAST = "superstep"
"""The key of the row, among those of attempts, that says which superstep began last, and from which state."""


class Recorded:
    """The rows of one superstep."""

    def __init__(self, store: BaseStore, thread_id: str, scope: str) -> None:
        self._store = store
        self._scope = f"{scope}:"
        self._scopes = [self._scope]
        """This superstep's, and before it those of what was cut off of it."""
        self._places = [space(kind, thread_id) for kind in KEPT]
        self._outcomes: dict[str, Json] = {}
        self._attempts: dict[str, Json] = {}
        self._unwritten: dict[str, tuple[str, Outcome]] = {}
        """By task: the name of its last attempt, and what came of it."""

    async def load(self, began_with: str) -> PutOp:
        """Read what a process has left that did not come to the end of this superstep; the row that says it has begun.

        `began_with`: tells the state that it begins from, from any other.
        """
        outcomes, attempts = await read_each(self._store, self._places)
        last = next((row.value for row in attempts if row.key == LAST), {})
        if last.get("began_with") == began_with:
            self._scopes = [*dict.fromkeys([*last["scopes"], self._scope])]
        self._outcomes, self._attempts = self._of_these(outcomes), self._of_these(attempts)
        return PutOp(self._places[1], LAST, {"scopes": self._scopes, "began_with": began_with})

    def _of_these(self, rows: Sequence[Item]) -> dict[str, Json]:
        """By what they are about; the last superstep's, where there are several."""
        return {
            row.key.removeprefix(scope): row.value
            for scope in self._scopes
            for row in rows
            if row.key.startswith(scope)
        }

    def outcome(self, task_id: str) -> Outcome | None:
        """How a task ended, if it did."""
        return Outcome.model_validate(row) if (row := self._outcomes.get(task_id)) else None

    def attempt(self, name: str) -> Outcome | None:
        """What came of an attempt, if it is known."""
        return Outcome.model_validate(row) if (row := self._attempts.get(name)) else None

    def add_attempt(self, name: str, outcome: Outcome) -> None:
        """Remember what came of an attempt until it is known what follows."""
        self._unwritten[outcome.task_id] = (name, outcome)

    def ended(self, task_id: str, outcome: Json) -> PutOp:
        """The row that says how a task has ended; its last attempt needs none any more."""
        self._unwritten.pop(task_id, None)
        return PutOp(self._places[0], f"{self._scope}{task_id}", outcome)

    def attempted(self, task_id: str) -> list[PutOp]:
        """The row of the task's last attempt, where it was not written yet: the task goes on after it."""
        if task_id not in self._unwritten:
            return []
        name, outcome = self._unwritten.pop(task_id)
        return [PutOp(self._places[1], f"{self._scope}{name}", outcome.model_dump(mode="json"))]
