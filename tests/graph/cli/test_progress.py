from rich.console import Console

from graph.cli.live import Progress, draw
from graph.cli.screen import line_of
from state.event import Event, EventKind
from state.run import Run, TaskView


def event(kind: EventKind, task_id: str | None = None, ts: float = 100.0, **data: object) -> Event:
    fields = {"seq": 1, "thread_id": "t", "kind": kind, "phase": "executing", "task_id": task_id, "ts": ts}
    return Event.model_validate({**fields, "agent": "ada" if task_id else None, "data": data})


def task(task_id: str, *after: str, status: str = "pending") -> TaskView:
    fields = {"description": f"Do {task_id}", "role": "generalist", "kind": "general", "required": True}
    return TaskView.model_validate({"id": task_id, "depends_on": list(after), "status": status, **fields})


def progress(*tasks: TaskView) -> Progress:
    made = Progress("t")
    made.look(Run(thread_id="t", status="running", phase="executing", query="Why?", tasks=list(tasks), started_at=90))
    return made


def drawn(of: Progress, now: float = 102.0, height: int = 40, width: int = 100) -> list[str]:
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        console.print(draw(of, now, height))
    return capture.get().splitlines()


def test_the_tree_shows_state_agent_time_and_tokens() -> None:
    of = progress(task("a"), task("b"), task("c", "a", "b"))
    of.hear(event("task_started", "a", 100))
    of.hear(event("task_finished", "a", 101.5, status="done", tokens=1234, attempts=1))
    of.hear(event("task_started", "b", 100))

    assert [line.rstrip() for line in drawn(of)] == [
        "t  executing  1/3 tasks  12.0s  1,234 tokens  Why?",
        "├── ✓ a  done  ada  1.5s  1,234 tokens  Do a",
        "├── ▶ b  running  ada  2.0s  Do b",
        "└── · c  pending  after b: Do c",
    ]


def test_a_failed_task_shows_why_instead_of_what() -> None:
    of = progress(task("a"))
    of.hear(event("task_finished", "a", status="failed", reason="the file is gone", tokens=0, attempts=3))

    assert "the file is gone" in drawn(of)[1]
    assert "Do a" not in drawn(of)[1]


def test_a_long_plan_fits_on_the_screen_with_what_matters_in_it() -> None:
    of = progress(*(task(f"t{n}") for n in range(500)))
    of.hear(event("task_started", "t250"))
    of.hear(event("task_finished", "t400", status="failed", reason="broken", tokens=0, attempts=1))

    lines = drawn(of, height=20, width=60)

    assert len(lines) <= 20
    assert any("t250  running" in line for line in lines)
    assert any("t400  failed" in line for line in lines)
    assert "more tasks" in lines[-1]


def test_a_look_at_the_checkpoint_does_not_undo_what_events_told() -> None:
    of = progress(task("a"))
    of.hear(event("task_started", "a"))

    of.look(Run(thread_id="t", status="running", phase="executing", query="Why?", tasks=[task("a"), task("b")]))

    assert [of.tasks[name].status for name in ("a", "b")] == ["running", "pending"]


def test_an_event_is_one_harmless_line() -> None:
    line = line_of(event("task_retried", "a", attempt=2, reason="first\nsecond \x1b[31m", args={"much": "more"}))

    assert line.endswith("task_retried a ada attempt=2 reason=first second \ufffd[31m")
