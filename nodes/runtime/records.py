"""The tasks of a superstep as they are now, counted as they change: what can start, and what is at work.

Asked after every task's end, of a run with any number of tasks; so nothing here looks at all of them.
"""

from collections import UserDict, defaultdict
from collections.abc import Container, Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import chain

from state.record import FINAL, TaskRecord


class Records(UserDict[str, TaskRecord]):
    """Records by id, in the order in which they came: the plan's, then recruits."""

    def __init__(self, records: Iterable[TaskRecord] = ()) -> None:
        self._dependents: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._recruits: defaultdict[str, list[str]] = defaultdict(list)
        self._needs: defaultdict[str, list[str]] = defaultdict(list)
        """Recruits that a person wants a task to wait for."""
        self._awaited: dict[str, int] = {}
        """How many of those that a task waits for have not ended."""
        self._running: set[str] = set()
        self._startable: set[str] = set()
        self.artifacts = 0
        """Files that the tasks have delivered."""
        self.has_changed = False
        """Whether they differ from what the state of the graph has; to be set by whoever knows."""
        super().__init__({record.id: record for record in records})

    def __setitem__(self, task_id: str, record: TaskRecord) -> None:
        before = self.data.get(task_id)
        self.data[task_id] = record
        self.has_changed = True
        if before is None:
            self._add(task_id, record)
        elif (before.status in FINAL) != (record.status in FINAL):
            self._count(self.dependents_of(task_id), -1 if record.status in FINAL else 1)
        self.artifacts += _artifacts(record) - _artifacts(before)
        (self._running.add if record.status == "running" else self._running.discard)(task_id)
        self._place(task_id)

    def is_ready(self, task_id: str) -> bool:
        """Whether everything that a task builds on has ended, and everything that was recruited for that."""
        return not self._awaited[task_id]

    def dependents_of(self, task_id: str) -> AbstractSet[str]:
        """Ids of the tasks that wait for this one; who waits for a task waits for those that it recruited, too."""
        found: AbstractSet[str] = self._dependents[task_id].keys()
        recruiter = self.data[task_id].recruiter
        while recruiter in self.data:
            found, recruiter = found | self._dependents[recruiter].keys(), self.data[recruiter].recruiter
        return found

    def is_busy(self, waiting: Container[str] = ()) -> bool:
        """Whether anything is at work, or could start (`nodes.policy.readiness.is_busy`).

        `waiting`: ids of tasks that do nothing but wait for another, or for the next superstep.
        """
        return any(task_id not in waiting for task_id in chain(self._startable, self._running))

    def _add(self, task_id: str, record: TaskRecord) -> None:
        waits_already = set(self._dependents[task_id])
        for other in record.needed_by:
            self._dependents[task_id][other] = None
            self._needs[other].append(task_id)
        if record.recruiter in self.data:
            self._recruits[record.recruiter].append(task_id)
        if record.status in FINAL:
            self._count(waits_already, -1)
        else:
            self._count(self.dependents_of(task_id) - waits_already, 1)
        needs = [*record.task.depends_on, *self._needs[task_id]]
        awaited = {one for other in needs for one in self._with_recruits(other)}
        self._awaited[task_id] = sum(one not in self.data or self.data[one].status not in FINAL for one in awaited)
        for other in record.task.depends_on:
            self._dependents[other][task_id] = None

    def _with_recruits(self, task_id: str) -> Iterator[str]:
        yield task_id
        for other in self._recruits[task_id]:
            yield from self._with_recruits(other)

    def _count(self, task_ids: AbstractSet[str], change: int) -> None:
        for task_id in task_ids & self._awaited.keys():
            self._awaited[task_id] += change
            self._place(task_id)

    def _place(self, task_id: str) -> None:
        can_start = self.data[task_id].status == "pending" and not self._awaited[task_id]
        (self._startable.add if can_start else self._startable.discard)(task_id)


def _artifacts(record: TaskRecord | None) -> int:
    return len(record.outcome.artifacts) if record and record.outcome else 0
