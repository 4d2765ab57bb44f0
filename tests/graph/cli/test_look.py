import subprocess

import pytest

from tests.graph.cli.conftest import Baton

ASK = "How much caffeine is in tea?"


def test_status_shows_tasks_and_what_can_be_done_next(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")

    said = baton("status", "t")

    assert said.code == 0
    assert said.err == ""
    assert "waiting: thread t, 1 of 2 tasks done" in said.out
    assert "parked" in said.out
    assert "baton answer t " in said.out
    used = next(line for line in said.out.splitlines() if line.startswith("used: "))
    assert "researcher" in used
    assert used.endswith(" tokens, by offline (baton-offline)")


def test_status_as_json_is_the_run(baton: Baton, tea: str) -> None:
    *_, run = baton("run", ASK, "--sources", tea, "--thread", "t", "--json").lines

    assert baton("status", "t", "--json").lines == [run]


def test_all_scores_and_their_parts_are_shown(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")

    rows = [line.split() for line in baton("status", "t", "--routes").out.splitlines()]
    scored = [row for row in rows if row[:1] == ["find"] and row[1] in ("researcher", "writer")]
    tasks = baton("status", "t", "--json").lines[0]["tasks"]

    assert len(tasks[0]["scores"]) == 7
    assert [row[1] for row in scored if "suggested" in row] == ["researcher"]
    for score in tasks[0]["scores"]:
        assert score["total"] == pytest.approx(0.6 * score["self_assessment"] + 0.4 * score["keywords"], abs=0.001)


def test_a_report_in_a_pipe_is_markdown_as_it_was_written(baton: Baton, tea: str) -> None:
    *_, run = baton("run", ASK, "--sources", tea, "--thread", "t", "--json").lines

    assert baton("status", "t", "--report").out == run["report"]


def test_a_run_without_a_report_says_so(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")

    said = baton("status", "t", "--report")

    assert said.code == 2
    assert "has no report (it is waiting)" in said.err


def test_runs_are_listed_newest_first(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--thread", "older")
    baton("run", "Another one", "--sources", tea, "--plan", publishing, "--thread", "newer")

    assert [run["thread_id"] for run in baton("runs", "--json").lines[0]] == ["newer", "older"]
    rows = [line.split() for line in baton("runs").out.splitlines()]
    assert [row[:2] for row in rows] == [["thread", "status"], ["newer", "waiting"], ["older", "complete"]]


def test_an_empty_inbox_says_so_on_stderr(baton: Baton, tea: str) -> None:
    baton("run", ASK, "--sources", tea)

    said = baton("inbox")

    assert (said.code, said.out, said.err) == (0, "", "nothing waits for you\n")


def test_the_team_needs_no_database(baton: Baton) -> None:
    said = baton("team", "--json")

    names = [agent["name"] for agent in said.lines[0]]
    assert names == ["researcher", "analyst", "strategist", "coder", "writer", "publisher", "generalist"]
    assert all(name in baton("team").out for name in names)


def test_the_team_of_a_run_shows_what_each_agent_does(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")

    status = {agent["name"]: (agent["status"], agent["tasks"]) for agent in baton("team", "t", "--json").lines[0]}

    assert status["researcher"] == ("completed", ["find"])
    assert status["coder"] == ("idle", [])
    assert "completed" in baton("team", "t").out


def test_the_graph_is_drawn_without_settings(baton: Baton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_MODEL_TIMEOUT_S", "not a number")

    said = baton("graph")

    assert said.code == 0
    assert "decompose -.-> route;" in said.out
    assert "think" not in said.out
    assert "think" in baton("graph", "--xray").out


@pytest.mark.parametrize("command", ["run", "resume", "status", "runs", "inbox", "answer", "team", "graph"])
def test_every_command_takes_db_and_json(baton: Baton, command: str) -> None:
    said = baton(command, "--help")

    assert said.code == 0
    assert "--db FILE" in said.out
    assert "--json" in said.out


def test_no_words_are_a_question_for_help(baton: Baton) -> None:
    assert "Commands:" in baton().out


@pytest.mark.of_files
def test_looking_makes_no_database(baton: Baton) -> None:
    assert baton("runs", "--db", "typo.db").code == 2
    assert subprocess.run(["ls"], capture_output=True, text=True, check=True).stdout == ""
