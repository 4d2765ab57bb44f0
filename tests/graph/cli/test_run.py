import json
from pathlib import Path

import pytest
import yaml

from state.event import Event
from state.run import Run
from tests.graph.cli.conftest import Baton
from tests.servers.openai_stub import OpenAIStub

ASK = "How much caffeine is in tea?"


def test_a_run_prints_where_its_report_is_and_nothing_else_on_stdout(baton: Baton, tea: str, tmp_path: Path) -> None:
    said = baton("run", ASK, "--sources", tea, "--thread", "first")

    assert said.code == 0
    assert said.out == f"{tmp_path / 'artifacts' / 'first' / 'report.md'}\n"
    assert "30 mg of caffeine" in Path(said.out.strip()).read_text()


def test_progress_is_a_line_for_each_event_on_stderr_when_that_is_no_terminal(baton: Baton, tea: str) -> None:
    lines = baton("run", ASK, "--sources", tea, "--thread", "first").err.splitlines()

    assert lines[0] == "thread first"
    assert [line.split()[1] for line in lines[1:-1]] == [
        *["phase_entered"] * 3,
        *["task_started", "task_finished"],
        *["phase_entered"] * 2,
        "run_finished",
    ]
    assert lines[-1].startswith("complete: thread first, 1 of 1 tasks done")


def test_json_is_an_event_a_line_and_the_run_at_the_end(baton: Baton, tea: str) -> None:
    said = baton("run", ASK, "--sources", tea, "--json")

    *events, last = said.lines
    assert [Event.model_validate(event).seq for event in events] == list(range(1, len(events) + 1))
    assert last.pop("type") == "baton.run"
    assert Run.model_validate(last).status == "complete"


def test_the_report_goes_where_out_says_also_after_a_human_was_asked(
    baton: Baton, tea: str, publishing: str, tmp_path: Path
) -> None:
    waiting = baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t", "--out", "mine.md")
    [question] = baton("inbox", "--json").lines[0]
    answered = baton("answer", "t", question["id"], "approve")

    assert (waiting.code, answered.code) == (3, 0)
    assert answered.out == f"{tmp_path / 'mine.md'}\n"
    assert (tmp_path / "mine.md").read_text().startswith(f"# {ASK}")


def test_a_report_that_cannot_be_written_fails_and_says_who_still_has_it(
    baton: Baton, tea: str, tmp_path: Path
) -> None:
    (tmp_path / "artifacts").write_text("a file where the folder should be")

    said = baton("run", ASK, "--sources", tea, "--thread", "t")

    assert said.code == 1
    assert said.out == ""
    assert "cannot be written" in said.err.splitlines()[-1]
    assert "`baton status t --report` still has it" in said.err.splitlines()[-1]
    assert baton("status", "t", "--report").out.startswith(f"# {ASK}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full disk to try")
def test_a_full_disk_is_said_in_one_line(baton: Baton, tea: str) -> None:
    said = baton("run", ASK, "--sources", tea, "--thread", "t", "--out", "/dev/full")

    assert said.code == 1
    assert "written to /dev/full: No space left on device; `baton status t --report`" in said.err.splitlines()[-1]


def test_a_wrong_key_fails_in_one_line_with_the_way_back(
    baton: Baton, tea: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIStub("Hello.", key="right") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "wrong")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("BATON_MODEL", "m")
        said = baton("run", ASK, "--sources", tea, "--thread", "t")
    monkeypatch.undo()

    assert said.code == 1
    assert said.out == ""
    last = said.err.splitlines()[-1]
    assert last.startswith("baton: ")
    ways = "go on with: baton resume t, or with another model: baton resume t --model NAME"
    assert last.endswith(f"what was finished is kept; {ways}")


def test_skipped_sources_are_lines_on_stderr(baton: Baton, tea: str) -> None:
    (Path(tea) / "broken.pdf").write_bytes(b"%PDF-1.4 and then nothing")

    said = baton("run", ASK, "--sources", tea)

    assert said.code == 0
    assert any(line.startswith("warning: broken.pdf") for line in said.err.splitlines())


def test_yes_approves_whatever_is_asked(baton: Baton, tea: str, publishing: str) -> None:
    said = baton("run", ASK, "--sources", tea, "--plan", publishing, "--oversight", "in_command", "--yes", "--json")

    assert said.code == 0
    answered = [event for event in said.lines if event.get("kind") == "approval_answered"]
    assert len(answered) >= 2  # the plan, then the publishing
    assert {event["data"]["decision"] for event in answered} == {"approve"}


def test_the_plan_of_a_run_can_be_given_to_another(baton: Baton, tea: str, tmp_path: Path) -> None:
    baton("run", "Compare coffee and tea, then recommend one", "--sources", tea, "--thread", "one")
    printed = baton("status", "one", "--plan").out
    (tmp_path / "plan.yaml").write_text(printed)

    repeated = baton("run", ASK, "--sources", tea, "--thread", "two", "--plan", "plan.yaml", "--yes")

    assert repeated.code == 0
    assert baton("status", "two", "--plan").out == printed
    assert yaml.safe_load(printed)["tasks"]


def test_a_plan_as_json_is_read_as_well(baton: Baton, tea: str, tmp_path: Path) -> None:
    baton("run", ASK, "--sources", tea, "--thread", "one")
    printed = baton("status", "one", "--plan", "--json")
    (tmp_path / "plan.json").write_text(printed.out)

    assert baton("run", ASK, "--sources", tea, "--thread", "two", "--plan", "plan.json").code == 0
    assert baton("status", "two", "--plan", "--json").lines == printed.lines


def test_a_run_goes_on_with_the_team_it_was_started_with(
    baton: Baton, tea: str, publishing: str, tmp_path: Path
) -> None:
    (tmp_path / "team.yaml").write_text(
        "agents:\n- {name: solo, role: generalist, tools: [search, read, publish], skills: {kinds: {general: 0.9}}}\n"
    )
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t", "--team", "team.yaml")
    [question] = baton("inbox", "t", "--json").lines[0]

    assert question["agent"] == "solo"
    assert baton("answer", "t", question["id"], "approve").code == 0
    assert {task["agent"] for task in baton("status", "t", "--json").lines[0]["tasks"]} == {"solo"}


@pytest.mark.parametrize("thread", ["a/b", "../up", "käse ☕", "v1.2", "x" * 200])
def test_any_thread_name_has_a_folder_of_its_own_below_the_artifacts(
    baton: Baton, tea: str, tmp_path: Path, thread: str
) -> None:
    said = baton("run", ASK, "--sources", tea, "--thread", thread)

    assert said.code == 0
    assert Path(said.out.strip()).parent.parent == tmp_path / "artifacts"


def test_a_refused_start_says_one_line_and_leaves_the_run_in_flight_alone(
    baton: Baton, tea: str, publishing: str, tmp_path: Path
) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t", "--out", "first.md")

    refused = baton("run", "Something else", "--sources", tea, "--thread", "t", "--out", "second.md")
    [question] = baton("inbox", "t", "--json").lines[0]

    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "in flight" in refused.err
    assert baton("answer", "t", question["id"], "reject").out == f"{tmp_path / 'first.md'}\n"


def test_events_are_json_that_any_terminal_can_carry(baton: Baton, tea: str) -> None:
    said = baton("run", "Wie viel Koffein hat grüner Tee \U0001f375?", "--sources", tea, "--json", "--yes")

    assert said.code == 0
    assert json.loads(said.out.splitlines()[-1])["query"].endswith("\U0001f375?")


def test_a_request_goes_to_the_agent_that_is_named(baton: Baton, tea: str) -> None:
    run = baton("run", ASK, "--sources", tea, "--thread", "first", "--to", "analyst")
    stranger = baton("run", ASK, "--to", "zoe")

    assert run.code == 0
    assert [task["agent"] for task in baton("status", "first", "--json").lines[0]["tasks"]] == ["analyst"]
    assert stranger.code == 2
    assert "there is no agent 'zoe' in the team; there are: researcher, analyst" in stranger.err


def test_a_follow_up_keeps_the_sources_and_the_team_of_its_thread(baton: Baton, tea: str) -> None:
    Path("team.yaml").write_text("agents: [{name: bo, role: generalist, tools: [search, read]}]")
    baton("run", ASK, "--sources", tea, "--team", "team.yaml", "--thread", "first")
    run = baton("run", "and coffee?", "--thread", "first")
    [task] = baton("status", "first", "--json").lines[0]["tasks"]

    assert (run.code, task["agent"], task["description"]) == (0, "bo", "How much caffeine is in coffee?")
    assert "95 mg" in task["result"]
