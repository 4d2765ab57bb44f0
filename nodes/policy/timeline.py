"""What a run's events say of each task over time: when it waited for what, worked, was parked, tried again.

`fold` reads the events of the last run on a thread; everything that the control room and its export draw is a function
of what it returns and of a time. `web/src/timeline.ts` does the same for the page while events come in: the same events
give the same timeline there (`tests/journeys/test_control_room.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from state.event import Event

SegmentKind = Literal["wait", "slot", "work", "back", "park", "hold"]
"""`wait`: for inputs. `slot`: for its turn. `work`. `back`: until it is tried again. `park`: for a human. `hold`: the
run is paused or in a human's hands."""


class Segment(BaseModel):
    """A stretch of a task's time."""

    model_config = ConfigDict(extra="forbid")

    kind: SegmentKind
    start: float
    """Seconds since the epoch."""
    end: float | None = None
    """None: it goes on."""
    failed: bool = False
    """Whether the attempt that it was ended in a failure."""
    round: int = 0
    """The review round, from 0."""


class TaskLine(BaseModel):
    """One task over time."""

    model_config = ConfigDict(extra="forbid")

    segments: list[Segment] = []
    status: str = ""
    """How it ended; empty while it has not."""
    tries: int = 0
    tokens: int = 0
    errors: list[str] = []
    """Why attempts failed, oldest first."""
    recruited: bool = False


class Timeline(BaseModel):
    """A run over time."""

    model_config = ConfigDict(extra="forbid")

    seq: int = 0
    """The last event that is in it."""
    start: float | None = None
    end: float | None = None
    phases: list[tuple[str, float]] = []
    """Each phase with the second in which the run entered it."""
    tasks: dict[str, TaskLine] = {}


@dataclass
class _Task:
    line: TaskLine = field(default_factory=TaskLine)
    known_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    round: int = 0
    asked: set[str] = field(default_factory=set)
    is_stopped: bool = False
    """Whether its agent has stopped since the run is held."""

    def close(self, at: float, *, failed: bool = False) -> SegmentKind | None:
        """End what is open; its kind."""
        last = self.line.segments[-1] if self.line.segments else None
        if last is None or last.end is not None:
            return None
        last.end, last.failed = max(at, last.start), failed
        return last.kind

    def begin(self, kind: SegmentKind, at: float) -> None:
        """End what is open, and go on as `kind`."""
        if self.close(at) is None or self.line.segments[-1].kind != kind:
            self.line.segments.append(Segment(kind=kind, start=at, round=self.round))
        else:
            self.line.segments[-1].end = None


class _Fold:
    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.made = Timeline()
        self.tasks: dict[str, _Task] = {}
        self.executing_at: float | None = None
        self.held: set[str] = set()

    def take(self, event: Event) -> None:
        """Fold one event in."""
        if self.made.end is not None and event.kind == "phase_entered":
            self._begin()  # a follow-up on the same thread is a run of its own
        self.made.seq = event.seq
        self.made.start = event.ts if self.made.start is None else self.made.start
        at, data = event.ts, event.data
        if event.kind == "phase_entered" and not event.is_nested:
            self.made.phases.append((event.phase, at))
            if event.phase == "executing" and self.executing_at is None:
                self.executing_at = at
        elif event.kind == "control_changed":
            self._drive(str(data.get("driving", "")), at)
        elif event.kind == "run_finished" and not event.is_nested:
            self.made.end = at
            for task in self.tasks.values():
                task.close(at)
        elif event.task_id and (not event.is_nested or event.kind.startswith("approval_")):
            self._of_task(event, self.tasks.setdefault(event.task_id, _Task()))

    def _of_task(self, event: Event, task: _Task) -> None:
        at, data, line = event.ts, event.data, task.line
        task.known_at = at if task.known_at is None else task.known_at
        match event.kind:
            case "agent_recruited":
                line.recruited = line.recruited or bool(data.get("granted"))
            case "task_started":
                iteration = data.get("iteration")
                task.round = iteration if isinstance(iteration, int) else 0
                task.started_at = at if task.started_at is None else task.started_at
                line.tries, line.status = line.tries + 1, ""
                task.begin("work", at)
            case "task_retried":
                task.close(at, failed=True)
                line.tries += 1
                line.errors.append(str(data.get("reason", "")))
                delay = data.get("delay_s")
                again = at + (delay if isinstance(delay, int | float) else 0)
                line.segments.append(Segment(kind="back", start=at, end=again, round=task.round))
                line.segments.append(Segment(kind="work", start=again, round=task.round))
            case "task_parked":
                if task.asked or event.task_id not in self.held:
                    task.begin("park", at)
                else:  # because the run is held: what goes on then begins anew
                    task.is_stopped = True
            case "approval_requested":
                task.asked.add(str(data.get("id", "")))
                task.begin("park", at)
            case "approval_answered":
                task.asked.discard(str(data.get("id", "")))
                if not task.asked and task.close(at) == "park":
                    line.segments.append(
                        Segment(kind="work" if task.started_at else "slot", start=at, round=task.round)
                    )
            case "task_finished":
                line.status = str(data.get("status", ""))
                tokens = data.get("tokens")
                line.tokens = tokens if isinstance(tokens, int) else 0
                if data.get("reason"):
                    line.errors.append(str(data["reason"]))
                task.close(at, failed=line.status == "failed")
                task.finished_at = at
            case _:
                pass

    def _drive(self, driving: str, at: float) -> None:
        """What works stands still while somebody holds the run, and goes on after it."""
        for task_id, task in self.tasks.items():
            if driving in ("paused", "handed_over") and task.line.segments and task.line.segments[-1].kind == "work":
                if task.line.segments[-1].end is None:
                    task.begin("hold", at)
                    self.held.add(task_id)
            elif driving == "running" and task_id in self.held:
                self.held.discard(task_id)
                if task.line.segments[-1].kind == "hold" and task.line.segments[-1].end is None:
                    task.close(at) if task.is_stopped else task.begin("work", at)
                task.is_stopped = False

    def timeline(self, depends_on: Mapping[str, Sequence[str]]) -> Timeline:
        """The timeline, with what each task waited for before it began."""
        for task_id, before in depends_on.items():
            task = self.tasks.setdefault(task_id, _Task())
            known = self.executing_at if task.known_at is None or not task.line.recruited else task.known_at
            if known is None:
                continue
            first = task.line.segments[0].start if task.line.segments else task.finished_at or self.made.end
            ends = [self.tasks[other].finished_at if other in self.tasks else None for other in before]
            ready = None if None in ends else max([known, *(end for end in ends if end is not None)])
            task.line.segments[:0] = _waited(known, ready, first)
        self.made.tasks = {task_id: self.tasks[task_id].line for task_id in sorted(self.tasks)}
        return self.made


def _waited(known: float, ready: float | None, first: float | None) -> list[Segment]:
    """From when a task was known to when it began (`first`; None: not yet), for inputs until `ready`, then its turn."""
    if first is not None and first <= known:
        return []
    if ready is None or (first is not None and ready >= first):
        return [Segment(kind="wait", start=known, end=first)]
    inputs = [Segment(kind="wait", start=known, end=ready)] if ready > known else []
    return [*inputs, Segment(kind="slot", start=ready, end=first)]


def fold(events: Iterable[Event], depends_on: Mapping[str, Sequence[str]]) -> Timeline:
    """The timeline of the last run among the events; `depends_on`: the ids of what each task waits for, by task id."""
    folding = _Fold()
    for event in events:
        folding.take(event)
    return folding.timeline(depends_on)
