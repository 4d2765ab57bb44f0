"""Progress as a tree of tasks, for a terminal."""

from rich.text import Text
from rich.tree import Tree

from graph.cli.progress import OVER, Progress
from graph.cli.screen import one_line, seconds
from state.run import TaskView

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
    over = sum(counts[status] for status in OVER)
    title = Text(no_wrap=True, overflow="ellipsis")
    title.append(f"{one_line(progress.thread_id)}  ").append(progress.phase, style="bold")
    if progress.tasks:
        title.append(f"  {over}/{len(progress.tasks)} tasks")
    if progress.started_at:
        title.append(f"  {seconds(now - progress.started_at)}")
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
    if task.tokens:
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
