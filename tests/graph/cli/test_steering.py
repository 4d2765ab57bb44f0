"""Steering a run from the command line, and reading its log."""

from pathlib import Path

import pytest

from tests.graph.cli.conftest import Baton, Said


@pytest.fixture
def waiting(baton: Baton, tea: str, publishing: str) -> Said:
    """A run on thread `t` that waits for a human before it publishes."""
    said = baton("run", "How much caffeine?", "--sources", tea, "--plan", publishing, "--thread", "t")
    assert said.code == 3
    return said


@pytest.mark.usefixtures("waiting")
def test_a_paused_run_goes_on_when_it_is_resumed(baton: Baton) -> None:
    paused = baton("pause", "t", "--reason", "lunch")
    assert paused.code == 0
    assert "paused" in baton("status", "t").out
    assert baton("resume", "t").code == 3
    assert "waiting" in baton("status", "t").out


@pytest.mark.usefixtures("waiting")
def test_a_run_that_is_taken_over_is_in_a_humans_hands_until_it_is_resumed(baton: Baton) -> None:
    assert baton("takeover", "t").code == 0
    assert baton("status", "t", "--json").lines[-1]["status"] == "handed_over"
    assert baton("resume", "t").code == 3


@pytest.mark.usefixtures("waiting")
def test_a_cancelled_run_keeps_what_was_finished_and_takes_no_more_signals(baton: Baton) -> None:
    assert baton("cancel", "t").code == 0
    status = baton("status", "t", "--json").lines[-1]
    assert status["status"] == "cancelled"
    assert [task["status"] for task in status["tasks"]] == ["done", "cancelled"]
    assert "30 mg" in status["report"]
    again = baton("cancel", "t")
    assert again.code == 2
    assert "has ended (cancelled)" in again.err


@pytest.mark.usefixtures("waiting")
def test_a_recruit_of_a_human_is_done_and_its_result_is_reported(baton: Baton) -> None:
    assert (
        baton("recruit", "t", "--role", "researcher", "--task", "Find the caffeine of coffee", "--by", "ana").code == 3
    )
    tasks = {task["id"]: task for task in baton("status", "t", "--json").lines[-1]["tasks"]}
    assert tasks["ana.r1"]["status"] == "done"
    assert "95 mg" in tasks["ana.r1"]["result"]
    members = {member["name"]: member for member in baton("team", "t", "--json").lines[0]}
    assert members["researcher"]["tasks"] == ["find", "ana.r1"]


def test_a_task_waits_for_the_recruit_that_a_human_asks_for_it(baton: Baton, tea: str, tmp_path: Path) -> None:
    plan = tmp_path / "later.yaml"
    plan.write_text(
        "tasks:\n- {id: find, description: Find the caffeine of green tea, role: researcher, kind: research}\n"
        "- {id: tell, description: Publish it, role: publisher, kind: action, action: publish, depends_on: [find]}\n"
        "- {id: after, description: Put the results together, role: writer, kind: writing, depends_on: [tell]}\n"
    )
    baton("run", "How much caffeine?", "--sources", tea, "--plan", str(plan), "--thread", "t")
    wanted = ("recruit", "t", "--role", "researcher", "--task", "Find the caffeine of coffee", "--by", "ana", "--for")

    assert "there is no task 'nowhere' to wait for it; there are find, tell, after" in baton(*wanted, "nowhere").err
    assert "task tell has begun, and cannot wait for it any more" in baton(*wanted, "tell").err
    assert baton(*wanted, "after").code == 3
    [asked] = baton("inbox", "t", "--json").lines[0]
    baton("answer", "t", asked["id"], "approve")
    results = {task["id"]: task["result"] for task in baton("status", "t", "--json").lines[-1]["tasks"]}
    assert "95 mg" in results["ana.r1"]
    assert "95 mg" in results["after"]


@pytest.mark.usefixtures("waiting")
def test_a_retired_agent_gets_no_more_work(baton: Baton) -> None:
    assert baton("retire", "t", "analyst").code == 3
    members = {member["name"]: member["status"] for member in baton("team", "t", "--json").lines[0]}
    assert members["analyst"] == "retired"


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("mail", "t", "", "--to", "publisher"), "text: String should have at least 1 character"),
        (("recruit", "t", "--role", "", "--task", "x"), "role: String should have at least 1 character"),
        (("pause", "nowhere"), "there is no thread 'nowhere'"),
        (("log", "nowhere"), "there is no thread 'nowhere'"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_one_line(baton: Baton, words: tuple[str, ...], what: str) -> None:
    said = baton(*words)
    assert said.code == 2
    assert what in said.err
    assert said.err.count("\n") == 1


@pytest.mark.usefixtures("waiting")
def test_the_log_has_every_event_in_order_and_can_begin_anywhere(baton: Baton) -> None:
    baton("mail", "t", "Use the outbox.", "--to", "publisher")
    events = baton("log", "t", "--json").lines
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert "mail_delivered" in [event["kind"] for event in events]
    assert baton("log", "t", "--json", "--from", "5").lines == events[4:]
    assert len(baton("log", "t", "--follow").out.splitlines()) == len(events)
