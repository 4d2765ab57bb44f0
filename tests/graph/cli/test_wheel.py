"""`baton takeover`, `hand-back` and `cancel --rollback`."""

from pathlib import Path

import pytest

from tests.graph.cli.conftest import Baton

ASK = "How much caffeine is in tea?"


@pytest.fixture
def waiting(baton: Baton, tea: str, publishing: str) -> Baton:
    """A run that waits for its publisher to be allowed."""
    assert baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t").code == 3
    return baton


def test_a_takeover_shows_what_is_in_hand_and_how_to_give_it_back(waiting: Baton) -> None:
    said = waiting("takeover", "t", "--reason", "I do it")

    assert said.code == 0
    assert "handed over: 1 of 2 steps done" in said.err
    assert "next: do tell: Publish the answer" in said.err
    assert "baton hand-back t [--results FILE] [--plan FILE]" in said.err
    assert waiting("status", "t", "--json").lines[0]["handover"]["pending_tasks"] == ["tell"]


@pytest.mark.parametrize("text", ["tell: I have told them.\n", '{"tell": "I have told them."}'])
def test_results_are_handed_back_and_stand_in_the_report(waiting: Baton, tmp_path: Path, text: str) -> None:
    (tmp_path / "results.yaml").write_text(text)
    waiting("takeover", "t")
    said = waiting("hand-back", "t", "--results", "results.yaml", "--by", "ana", "--json")

    run = said.lines[-1]
    assert (said.code, run["status"]) == (0, "complete")
    assert [(task["agent"], task["result"]) for task in run["tasks"]][1] == ("human", "I have told them.")
    assert "I have told them." in run["report"]
    assert not list(tmp_path.rglob("published"))


def test_a_changed_plan_is_handed_back(waiting: Baton, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(
        "tasks:\n- {id: find, description: Find how much caffeine tea has, role: researcher, kind: research}\n"
    )
    waiting("takeover", "t")
    said = waiting("hand-back", "t", "--plan", "plan.yaml", "--json")

    assert (said.code, [task["id"] for task in said.lines[-1]["tasks"]]) == (0, ["find"])


@pytest.mark.parametrize(
    ("words", "text", "wrong"),
    [
        (["--results", "f"], "zoe: x", "there is no task 'zoe' to give a result for; there are find, tell"),
        (["--results", "f"], "- a", "is no mapping from task ids to results"),
        (["--results", "f"], "a: [", "is neither YAML nor JSON"),
        (["--results", "nowhere"], "", "results file nowhere cannot be read: No such file"),
        (["--plan", "f"], "tasks: [{id: a, description: x, depends_on: [b]}]", "depends on unknown task 'b'"),
        (["--plan", "nowhere"], "", "plan file nowhere cannot be read: No such file"),
        (["--plan", "-", "--results", "-"], "", "cannot both be read from stdin"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line_and_stays_handed_over(
    waiting: Baton, tmp_path: Path, words: list[str], text: str, wrong: str
) -> None:
    (tmp_path / "f").write_text(text)
    waiting("takeover", "t")
    said = waiting("hand-back", "t", *words)

    assert (said.code, said.err.count("\n")) == (2, 1)
    assert wrong in said.err
    assert waiting("status", "t", "--json").lines[0]["status"] == "handed_over"


def test_a_run_that_nobody_has_taken_cannot_be_handed_back(waiting: Baton) -> None:
    said = waiting("hand-back", "t")

    assert (said.code, said.err) == (
        2,
        "baton: thread t is not in a human's hands (it is waiting); `baton takeover` first\n",
    )


def test_what_was_done_is_undone_on_the_way_out(baton: Baton, tea: str, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(
        "tasks:\n"
        "- {id: find, description: Find how much caffeine tea has, role: researcher, kind: research}\n"
        "- {id: one, description: Publish the answer, role: publisher, kind: action, action: publish,"
        " depends_on: [find]}\n"
        "- {id: two, description: Publish the answer again, role: publisher, kind: action, action: publish,"
        " depends_on: [one]}\n"
    )
    baton("run", ASK, "--sources", tea, "--plan", "two.yaml", "--thread", "t")
    [asked] = baton("inbox", "--json").lines[0]
    baton("answer", "t", asked["id"], "approve")
    assert [path.is_file() for path in tmp_path.rglob("published/*/*")] == [True]

    said = baton("cancel", "t", "--rollback", "--reason", "wrong", "--json")
    assert (said.code, said.lines[-1]["status"]) == (0, "cancelled")
    assert "was undone: took back outbox/" in said.lines[-1]["report"]
    assert list(tmp_path.rglob("published/*/*")) == []
