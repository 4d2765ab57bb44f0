"""Live progress on the command line: JSON lines, a plain line for each event, or a tree of tasks."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass

from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from graph.cli.console import draws, err
from graph.cli.screen import OFFLINE, line_of, one_line, print_err, put_json, seconds
from graph.steering import OnEvent
from graph.supervisor import Supervisor
from nodes.runtime.background import stop
from state.errors import BatonError
from state.event import Event
from state.record import FINAL
from state.run import Run, TaskView
from state.text import Json

REFRESH_S = 0.25


@dataclass(frozen=True)
class Watch:
    """What shows the progress of a run."""

    hear: OnEvent
    """To be called with each event."""
    aside: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Nothing is drawn inside: the terminal is somebody else's."""


@asynccontextmanager
async def watching(sup: Supervisor, thread_id: str, *, as_json: bool) -> AsyncIterator[Watch]:
    """Progress as JSON lines, as a tree at a terminal, or as plain lines."""
    if as_json:
        yield Watch(put_json)
    elif draws(sys.stderr):
        async with _live_tree(sup, thread_id) as watch:
            yield watch
    else:
        lines = _Lines(thread_id, is_offline=sup.services.models.name == OFFLINE)
        yield Watch(lines.hear, lines.aside)


class _Lines:
    """The thread's name once it has begun, then a line for each event."""

    def __init__(self, thread_id: str, *, is_offline: bool) -> None:
        self._waiting = [f"thread {thread_id}"]
        self._is_offline = is_offline
        self._is_held = False

    def hear(self, event: Json) -> None:
        """Say it, or keep it until there is room."""
        self._waiting.append(line_of(Event.model_validate(event), is_offline=self._is_offline))
        if not self._is_held:
            self._say()

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Say nothing inside; what came meanwhile comes after it, unless that is cut off."""
        self._is_held = True
        yield
        self._is_held = False
        self._say()

    def _say(self) -> None:
        for line in self._waiting:
            print_err(line)
        self._waiting.clear()


@asynccontextmanager
async def _live_tree(sup: Supervisor, thread_id: str) -> AsyncIterator[Watch]:
    """A tree that is drawn anew four times a second; new plans and routes are looked up when a phase is entered."""
    tree = _LiveTree(sup, Progress(thread_id))
    drawing = asyncio.create_task(tree.draw_on())
    try:
        yield Watch(tree.hear, tree.aside)
    finally:
        await stop(drawing)
        await tree.end()


class _LiveTree:
    """Draws what is known, once there is something: what is refused at the start leaves no empty tree behind."""

    def __init__(self, sup: Supervisor, progress: "Progress") -> None:
        self._sup = sup
        self._progress = progress
        self._is_stale = True
        self._terminal = asyncio.Lock()
        self._live = _live()
        self._is_left = False

    def hear(self, event: Json) -> None:
        """Take over an event."""
        heard = Event.model_validate(event)
        self._progress.hear(heard)
        is_new = heard.kind == "phase_entered" or (heard.task_id and heard.task_id not in self._progress.tasks)
        self._is_stale = self._is_stale or bool(is_new and not heard.is_nested)

    async def draw_on(self) -> None:
        """Draw until cancelled."""
        while True:
            async with self._terminal:
                await self._draw()
            await asyncio.sleep(REFRESH_S)

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Leave the tree as it is now, and go on with a new one below what is written meanwhile.

        Where that is cut off nothing more is drawn: what stands there may be a question that somebody answers now.
        """
        async with self._terminal:
            await self.end()
            self._is_left = True
            yield
            self._is_left = False
            self._live = _live()

    async def end(self) -> None:
        """Draw how it stands, and leave it there."""
        self._is_stale = True
        await self._draw()
        self._live.stop()

    async def _draw(self) -> None:
        if self._progress.started_at is None or self._is_left:
            return
        if self._is_stale:
            self._is_stale = False
            with suppress(BatonError):  # not there yet; the next phase is another occasion
                self._progress.look(await self._sup.view(self._progress.thread_id))
        self._live.start()
        now = self._sup.services.clock.now()
        self._live.update(draw(self._progress, now, self._live.console.height), refresh=True)


def _live() -> Live:
    return Live(console=err(), auto_refresh=False, redirect_stdout=False, redirect_stderr=False)


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
        self.is_offline = False
        """Whether it works without a language model."""

    def look(self, run: Run) -> None:
        """Take over what a view of the run says; what events said since about tasks in flight stays."""
        self.query, self.used = run.query, run.usage.total_tokens
        self.is_offline = run.model == OFFLINE
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
        return [key for key in task.depends_on if key in self.tasks and self.tasks[key].status not in FINAL]


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


MARKS = {
    "pending": ("·", "dim"),
    "running": ("▶", "cyan"),
    "parked": ("?", "yellow"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "skipped": ("–", "yellow"),
    "cancelled": ("–", "dim"),
}


def draw(progress: Progress, now: float, height: int) -> Tree:
    """The tree, in at most `height` lines: of a long plan what runs, went wrong, ended last, and comes next."""
    tree = Tree(_title(progress, now), guide_style="dim")
    tasks = list(progress.tasks.values())
    chosen = _most_telling(tasks, max(3, height - 2))
    for task in chosen:
        tree.add(_line(task, progress, now))
    if len(chosen) < len(tasks):
        tree.add(Text(f"… {len(tasks) - len(chosen)} more tasks", style="dim"))
    return tree


def _title(progress: Progress, now: float) -> Text:
    counts = progress.counts()
    over = sum(counts[status] for status in FINAL)
    title = Text(no_wrap=True, overflow="ellipsis")
    title.append(f"{one_line(progress.thread_id)}  ").append(progress.phase, style="bold")
    if progress.tasks:
        title.append(f"  {over}/{len(progress.tasks)} tasks")
    if progress.started_at:
        title.append(f"  {seconds(now - progress.started_at)}")
    if progress.tokens and not progress.is_offline:
        title.append(f"  {progress.tokens:,} tokens")
    return title.append(f"  {one_line(progress.query, 200)}", style="dim")


def _line(task: TaskView, progress: Progress, now: float) -> Text:
    mark, style = MARKS.get(task.status, ("·", ""))
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{mark} ", style=style).append(one_line(task.id), style="bold")
    line.append(f"  {task.status}", style=style)
    if task.agent:
        line.append(f"  {one_line(task.agent)}", style="magenta")
    if task.started_at:
        line.append(f"  {seconds((task.finished_at or now) - task.started_at)}")
    if task.tokens and not progress.is_offline:
        line.append(f"  {task.tokens:,} tokens")
    return line.append(f"  {_about(task, progress)}", style="dim")


def _about(task: TaskView, progress: Progress) -> str:
    if task.error and task.status != "done":
        return one_line(task.error, 200)
    missing = progress.missing_inputs(task)
    if task.status == "pending" and missing:
        return one_line(f"after {', '.join(missing)}: {task.description}", 200)
    return one_line(task.description, 200)


def _most_telling(tasks: list[TaskView], most: int) -> list[TaskView]:
    if len(tasks) <= most:
        return tasks
    urgency = {"running": 0, "parked": 0, "failed": 1, "pending": 3}
    ranked = sorted(tasks, key=lambda task: (urgency.get(task.status, 2), -(task.finished_at or 0)))
    telling = {task.id for task in ranked[: most - 1]}
    return [task for task in tasks if task.id in telling]
