"""A plan: what is to be done, by which role, in which order. It never runs itself."""

import re
from collections import Counter, deque
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from state.drawn import Box, Drawn, Sight

MAX_TASKS = 1000
"""More tasks than this are refused: a plan that long is a mistake, and the state of a run has to stay small."""

ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.'-]{0,63}")

TaskId = Annotated[str, StringConstraints(pattern=rf"^{ID_PATTERN.pattern}$")]
Kind = Literal[
    "research", "analysis", "strategy", "implementation", "writing", "review", "action", "critical", "general"
]
"""What sort of work a task is: it steers routing, the failure threshold and what a reviewer expects."""


class Task(BaseModel):
    """One piece of work for one agent."""

    model_config = ConfigDict(extra="forbid")

    id: TaskId
    """Unique in the plan: letters, digits and `_ . ' -`, at most 64."""
    description: str = Field(min_length=1, max_length=20_000)
    """What is to be done, in words an agent understands."""
    role: str = Field(default="generalist", min_length=1, max_length=64)
    """Who should do it: a role or an agent's name. A suggestion; routing has the last word."""
    to: str = Field(default="", max_length=64)
    """The agent that does it, by name, whatever the scores are; empty: whoever fits best."""
    kind: str = Field(default="general", min_length=1, max_length=64)
    """See `Kind`; a plan may use kinds of its own, which then share the default failure threshold."""
    depends_on: list[TaskId] = []
    """Ids of the tasks whose results this one needs."""
    required: bool = True
    """A task that is not required is skipped when it fails, and does not count as a failure."""
    action: str | None = Field(default=None, max_length=200)
    """What it does to the outside world (`publish`, `send` …), where it does: sensitive ones ask a human first."""
    tools: bool = True
    """Whether the task needs tools. A single task that needs none may be answered at once (mode `simple`)."""


class Plan(Drawn, BaseModel):
    """The tasks of a run: a bounded DAG with unique ids and known dependencies.

    Raises:
        PlanInvalid: by `nodes.policy.plans.parse_plan`, which says all that is wrong in one line.
    """

    model_config = ConfigDict(extra="forbid")

    tasks: list[Task] = Field(min_length=1, max_length=MAX_TASKS)
    complexity: float | None = Field(default=None, ge=0, le=1)
    """How hard the request is, 0 to 1, where whoever made the plan knows; it is estimated otherwise."""
    dynamic: bool = False
    """Whether the plan is expected to grow on the way (recruits)."""
    communicates: bool = False
    """Whether agents need to talk to each other while they work."""

    @model_validator(mode="after")
    def _is_a_dag(self) -> "Plan":
        problems = faults(self.tasks)
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _sight(self) -> Sight:
        return Sight(
            title=f"plan of {len(self.tasks)} tasks",
            boxes=[Box(task.id, below=task.role, after=task.depends_on) for task in self.tasks],
            columns=["task", "role", "after", "what"],
            rows=[[one.id, one.role, ", ".join(one.depends_on), one.description] for one in self.tasks],
        )

    def task(self, task_id: str) -> Task:
        """The task of that id; KeyError if there is none."""
        for task in self.tasks:
            if task.id == task_id:
                return task
        raise KeyError(task_id)


def faults(tasks: Iterable[Task]) -> list[str]:
    """All that keeps `tasks` from being a DAG, in words; empty when nothing does."""
    tasks = list(tasks)
    counts = Counter(task.id for task in tasks)
    found = [f"task id {task_id!r} is used {n} times" for task_id, n in counts.items() if n > 1]
    for task in tasks:
        found += [
            f"task {task.id!r} depends on unknown task {other!r}" for other in task.depends_on if other not in counts
        ]
        if task.id in task.depends_on:
            found.append(f"task {task.id!r} depends on itself")
    if not found and (stuck := in_cycles(tasks)):
        found.append("tasks depend on each other in a cycle: " + ", ".join(stuck))
    return found


def in_cycles(tasks: Iterable[Task]) -> list[str]:
    """Ids of the tasks that can never start, because they wait for each other (Kahn's algorithm)."""
    waiting = {task.id: len(set(task.depends_on)) for task in tasks}
    dependents = dependents_of(tasks)
    ready = deque(task_id for task_id, n in waiting.items() if n == 0)
    while ready:
        for other in dependents[ready.popleft()]:
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    return [task_id for task_id, n in waiting.items() if n > 0]


def dependents_of(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """For each task id, the ids of the tasks that need its result."""
    tasks = list(tasks)
    found: dict[str, list[str]] = {task.id: [] for task in tasks}
    for task in tasks:
        for other in dict.fromkeys(task.depends_on):
            if other in found:
                found[other].append(task.id)
    return found
