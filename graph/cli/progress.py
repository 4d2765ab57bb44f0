"""How far a run is, as far as its events and the last look at it tell."""

from collections import Counter

from nodes.runtime.journal import Json
from state.event import Event
from state.run import Run, TaskView

OVER = frozenset({"done", "failed", "skipped", "cancelled"})


class Progress:
    """Tasks by id, in the order of the plan, kept up to date by events."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.query = ""
        self.phase = "starting"
        self.started_at: float | None = None
        self.tasks: dict[str, TaskView] = {}
        self.used = 0
        """Tokens, as of the last look."""

    def look(self, run: Run) -> None:
        """Take over what a view of the run says; what events said since about tasks in flight stays."""
        self.query, self.used = run.query, run.usage.total_tokens
        self.started_at = run.started_at or self.started_at
        self.phase = run.phase if self.phase == "starting" else self.phase
        seen = {task.id: task for task in run.tasks}
        kept = {key: task for key, task in self.tasks.items() if key in seen and seen[key].status == "pending"}
        self.tasks = {
            key: task.model_copy(update=_moving(kept[key])) if key in kept else task for key, task in seen.items()
        }

    def hear(self, event: Event) -> None:
        """Take over an event."""
        self.phase = self.phase if event.is_nested else event.phase
        self.started_at = self.started_at or event.ts
        task = self.tasks.get(event.task_id or "")
        if task is None:
            return
        change = _change(event)
        if event.agent and change:
            change["agent"] = event.agent
        self.tasks[task.id] = task.model_copy(update=change)

    @property
    def tokens(self) -> int:
        """Tokens used so far: at least what finished tasks have told."""
        return max(self.used, sum(task.tokens for task in self.tasks.values()))

    def counts(self) -> Counter[str]:
        """How many tasks are in each status."""
        return Counter(task.status for task in self.tasks.values())

    def missing_inputs(self, task: TaskView) -> list[str]:
        """What a task waits for."""
        return [key for key in task.depends_on if key in self.tasks and self.tasks[key].status not in OVER]


def _moving(task: TaskView) -> Json:
    fields = {"status", "agent", "started_at", "finished_at", "tokens", "attempts", "error"}
    return task.model_dump(mode="json", include=fields)


def _change(event: Event) -> Json:
    data = event.data
    match event.kind:
        case "task_started":
            return {"status": "running", "started_at": event.ts, "finished_at": None, "error": None}
        case "task_retried":
            return {"attempts": data.get("attempt", 0), "error": data.get("reason")}
        case "task_parked":
            return {"status": "parked", "finished_at": event.ts}
        case "task_finished":
            told: Json = {"tokens": data.get("tokens", 0), "attempts": data.get("attempts", 0)}
            return {**told, "status": data.get("status"), "error": data.get("reason"), "finished_at": event.ts}
    return {}
