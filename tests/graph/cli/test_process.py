"""The command as a process: signals, pipes, a terminal."""

import os
import pty
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from graph.cli import main
from tests.graph.cli.conftest import Baton
from tests.graph.cli.test_command import age
from tests.servers import forks
from tests.servers.openai_stub import Hang, OpenAIStub

BATON = [sys.executable, "-c", "import sys; from graph.cli import main; sys.exit(main())"]
ASK = "How much caffeine is in tea?"


class Terminal:
    """A command at a terminal of its own, of so many columns: what it shows, and what is typed.

    `out`: where its results go instead, as a shell's `>` sends them.
    """

    def __init__(self, *words: str, columns: int = 80, out: int | None = None, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (25, columns))
        self.shown = ""
        variables = {"TERM": "dumb", **environment}
        streams = (theirs, theirs if out is None else out, theirs)
        self.process = forks.spawn(main, words, streams=streams, environment=variables)
        os.close(theirs)

    def until(self, text: str) -> None:
        """Read until it shows `text`, or ends."""
        while text not in self.shown and (more := self._read()):
            self.shown += more

    def type(self, line: str, end: str = "\n") -> None:
        """Type a line, or a part of one."""
        os.write(self._ours, f"{line}{end}".encode())

    def end(self) -> int:
        """Its exit code, once all it shows was read."""
        while more := self._read():
            self.shown += more
        os.close(self._ours)
        return self.process.wait()

    def _read(self) -> str:
        try:
            return os.read(self._ours, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            return ""


def interrupted_while_thinking(*words: str) -> tuple[int, str]:
    """A run whose model never answers, interrupted as soon as its first task has started: exit code, what it said."""
    with OpenAIStub(Hang()) as server:
        variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url, "BATON_MODEL": "m"}
        heard, said = os.pipe()
        process = forks.spawn(main, words, streams=(said, said, said), environment=variables)
        os.close(said)
        with open(heard, encoding="utf-8") as lines:  # noqa: PTH123 - a pipe has no path
            told = []
            for line in lines:
                told.append(line)
                if "task_started" in line:
                    break
            process.send_signal(signal.SIGINT)
            return process.wait(), "".join([*told, *lines])


def test_ctrl_c_says_how_to_go_on_and_going_on_works(tea: str, publishing: str) -> None:
    words = ["run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t", "--oversight", "on_the_loop"]
    code, said = interrupted_while_thinking(*words)

    assert code == 130
    assert said.splitlines()[-1] == "baton: interrupted; nothing is lost: baton resume t"
    assert "Traceback" not in said
    resumed = forks.run(main, ["resume", "t", "--json"])
    assert resumed.returncode in (0, 3), resumed.stderr
    assert '"task_id": "find"' in resumed.stdout


def test_ctrl_c_ends_a_watch_over_several_runs_with_one_line(baton: Baton, tea: str, publishing: str) -> None:
    for thread in ("early", "late", "later"):
        baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", thread)
    age("early", 1)
    terminal = Terminal("watch", "--every", "0.05")
    terminal.until("partial: thread early")
    terminal.process.send_signal(signal.SIGINT)

    assert terminal.end() == 130
    assert terminal.shown.split("\r\n") == ["taking up early", "partial: thread early", "baton: interrupted", ""]
    assert {run["status"] for run in baton("runs", "--json").lines[0]} == {"partial", "waiting"}


def test_ctrl_c_ends_a_watch_while_a_run_that_it_took_up_is_at_work(baton: Baton, tea: str, publishing: str) -> None:
    words = ["run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t", "--oversight", "on_the_loop"]
    interrupted_while_thinking(*words)
    with OpenAIStub(Hang()) as server:
        terminal = Terminal("watch", OPENAI_API_KEY="k", OPENAI_BASE_URL=server.url, BATON_MODEL="m")
        terminal.until("taking up t")
        assert server.arrived.wait(60)
        terminal.process.send_signal(signal.SIGINT)

        assert terminal.end() == 130
    assert terminal.shown.split("\r\n") == ["taking up t", "baton: interrupted", ""]
    assert baton("status", "t", "--json").lines[0]["status"] == "paused"


@pytest.mark.parametrize("words", [["team"], ["graph"], ["run", ASK, "--json", "--model", "offline"]])
def test_a_reader_that_leaves_is_no_error(words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)

    with Path("stderr").open("w+b") as stderr:
        code = forks.spawn(main, words, streams=(write, write, stderr.fileno())).wait()
    os.close(write)

    assert code == 141
    assert Path("stderr").read_text() == ""


def test_at_a_terminal_it_asks_and_shows_the_report(tea: str, publishing: str, tmp_path: Path) -> None:
    terminal = Terminal("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")
    terminal.until("approve, reject or edit?")
    assert "Publish report-caffeine-tea.md?" in terminal.shown
    assert "**publisher**" not in terminal.shown
    terminal.type("approve go ahead")

    assert terminal.end() == 0
    assert "30 mg of caffeine" in terminal.shown
    assert str(tmp_path / "artifacts" / "t" / "report.md") in terminal.shown.replace("\r\n", "")


def test_a_narrow_terminal_that_cannot_draw_shows_lines_and_what_is_asked_in_plain_words(
    tea: str, publishing: str
) -> None:
    words = ["run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t", "--oversight", "in_command"]
    with Path("report").open("wb") as report:  # what it asks is shown where it is typed
        terminal = Terminal(*words, columns=50, out=report.fileno())
    terminal.until("approve, reject or edit?")
    before, _, asked = terminal.shown.rpartition("Carry out this plan of 2 tasks?")
    question = asked.partition("approve, reject or edit?")[0].splitlines()
    terminal.type("")

    assert terminal.end() == 3
    assert "phase_entered decomposing" in before
    assert max(map(len, question)) <= 50
    assert "1. Find how much caffeine tea has (researcher)" in question
    assert not [mark for mark in ("\x1b", "depends_on", "tokens=") if mark in terminal.shown]


def test_at_a_terminal_an_empty_answer_leaves_the_question_open(tea: str, publishing: str) -> None:
    terminal = Terminal("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")
    terminal.until("approve, reject or edit?")
    terminal.type("")

    assert terminal.end() == 3
    assert "baton answer t " in terminal.shown


AT_WORK = """
import asyncio
from pathlib import Path

async def until(name):
    while not Path(name).exists():
        await asyncio.sleep(0.01)

async def asks(brief, desk):
    await until("ready")
    said = await desk.ask("launch", risk="medium")
    Path("answered").touch()
    return f"the answer was {said.type}: {said.message}"

async def works(brief, desk):
    await until("answered")
    return "worked until the answer came"
"""


@pytest.fixture
def at_work(tmp_path: Path) -> list[str]:
    """The command of a run in which one task asks, and another works until the answer is there."""
    (tmp_path / "at_work.py").write_text(AT_WORK)
    agents = "".join(f"  - {{name: {name}, role: {name}, run: 'at_work:{name}'}}\n" for name in ("asks", "works"))
    (tmp_path / "team.yaml").write_text(f"agents:\n{agents}")
    tasks = "".join(f"- {{id: {name}, description: Do it., role: {name}}}\n" for name in ("asks", "works"))
    (tmp_path / "plan.yaml").write_text(f"tasks:\n{tasks}")
    return ["run", "Do it.", "--team", "team.yaml", "--plan", "plan.yaml", "--thread", "t"]


def test_who_sits_at_the_terminal_is_asked_while_the_rest_goes_on_and_nothing_typed_before_is_an_answer(
    baton: Baton, at_work: list[str], tmp_path: Path
) -> None:
    terminal = Terminal(*at_work)
    terminal.type("approve typed before there was a question")
    (tmp_path / "ready").touch()
    terminal.until("approve, reject or edit?")  # the other task waits for what comes of the answer
    terminal.type("reject not today")

    assert terminal.end() == 0, terminal.shown
    results = {task["id"]: task["result"] for task in baton("status", "t", "--json").lines[0]["tasks"]}
    assert results == {"asks": "the answer was reject: not today", "works": "worked until the answer came"}
    assert terminal.shown.count("approve, reject or edit?") == 1


def test_a_question_at_the_terminal_outlasts_the_rest_of_the_run_with_what_was_typed_of_its_answer(
    baton: Baton, at_work: list[str], tmp_path: Path
) -> None:
    terminal = Terminal(*at_work)
    (tmp_path / "ready").touch()
    terminal.until("approve, reject or edit?")
    terminal.type("approve at", end="")
    (tmp_path / "answered").touch()
    while baton("status", "t", "--json").lines[0]["status"] != "waiting":  # another process
        pass
    terminal.type(" last")

    assert terminal.end() == 0, terminal.shown
    results = {task["id"]: task["result"] for task in baton("status", "t", "--json").lines[0]["tasks"]}
    assert results["asks"] == "the answer was approve: at last"
    assert terminal.shown.count("approve, reject or edit?") == 1


def test_ctrl_c_at_a_terminal_pauses_once_and_says_how_to_go_on(
    baton: Baton, at_work: list[str], tmp_path: Path
) -> None:
    terminal = Terminal(*at_work, TERM="xterm", NO_COLOR="1")
    terminal.until("running")
    terminal.process.send_signal(signal.SIGINT)
    terminal.until("Ctrl-C again quits at once")
    (tmp_path / "answered").touch()  # what is at work comes to its end, and the other to a point where it can go on
    (tmp_path / "ready").touch()

    assert terminal.end() == 3, terminal.shown
    assert "baton resume t" in terminal.shown
    assert baton("status", "t", "--json").lines[0]["status"] == "paused"


def test_ctrl_c_twice_at_a_terminal_quits_and_nothing_is_lost(baton: Baton, at_work: list[str]) -> None:
    terminal = Terminal(*at_work, TERM="xterm", NO_COLOR="1")
    terminal.until("running")
    terminal.process.send_signal(signal.SIGINT)
    terminal.until("Ctrl-C again quits at once")
    terminal.process.send_signal(signal.SIGINT)

    assert terminal.end() == 130, terminal.shown
    assert "baton: interrupted; nothing is lost: baton resume t" in terminal.shown
    assert "Traceback" not in terminal.shown
    assert baton("status", "t", "--json").lines[0]["status"] == "paused"


def test_a_narrow_terminal_goes_without_the_columns_that_say_least(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")
    narrow, wide = Terminal("runs", columns=50, NO_COLOR="1"), Terminal("runs", columns=150, NO_COLOR="1")
    assert (narrow.end(), wide.end()) == (0, 0)

    head = narrow.shown.splitlines()[0].split()
    assert {"thread", "status", "request"} <= set(head)
    assert "phase" not in head
    assert "phase" in wide.shown
    assert max(map(len, narrow.shown.splitlines())) <= 50
    assert "\x1b" not in narrow.shown


def test_a_plan_comes_from_stdin(tea: str, publishing: str) -> None:
    words = ["run", ASK, "--sources", tea, "--plan", "-", "--yes", "--thread", "t"]

    said = forks.run(main, words, given=Path(publishing).read_text())

    assert said.returncode == 0, said.stderr
    assert "task_finished tell publisher" in said.stderr


POSTING = """
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

@tool
async def post(to: str) -> str:
    "Post it."
    return "posted"

post.metadata = {"sensitive": True}

async def posts(state: MessagesState):
    return {"messages": [("ai", await post.ainvoke({"to": "bob"}))]}

builder = StateGraph(MessagesState)
builder.add_node("posts", posts)
builder.add_edge(START, "posts")
poster = builder.compile()
"""


def test_what_a_graph_asks_is_no_warning_on_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "posting.py").write_text(POSTING)
    (tmp_path / "team.yaml").write_text("agents:\n  - name: own\n    role: own\n    run: posting:poster\n")
    (tmp_path / "plan.yaml").write_text("tasks:\n  - id: a\n    description: Post it.\n    role: own\n")
    words = ["run", "Post it.", "--team", "team.yaml", "--plan", "plan.yaml", "--json", "--db", "runs.db"]
    paths = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    made = subprocess.run(
        [*BATON, *words], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths}
    )

    assert (made.returncode, "Error in" in made.stderr) == (3, False)
    assert made.stderr.startswith("waiting: ")
    assert "leaked" not in made.stderr  # by an extension module, as the process ends


def test_what_a_command_has_imported_is_not_looked_through_for_garbage_while_it_works() -> None:
    begins = "import gc; from graph.cli.main import load; gc.disable(); load('policy')"
    asked = f"{begins}; print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True True"
