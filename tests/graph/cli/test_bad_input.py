from pathlib import Path

import pytest

from tests.graph.cli.conftest import Baton

CYCLE = "tasks:\n- {id: a, description: x, depends_on: [b]}\n- {id: b, description: y, depends_on: [a]}\n"
TWICE = "tasks:\n- {id: a, description: x}\n- {id: a, description: y}\n"
STRANGER = "tasks:\n- {id: a, description: x, depends_on: [zz]}\n"

FILES = {
    "cycle.yaml": CYCLE,
    "twice.yaml": TWICE,
    "stranger.yaml": STRANGER,
    "none.yaml": "tasks: []\n",
    "empty.yaml": "",
    "text.yaml": "just words",
    "broken.yaml": "tasks: [",
    "date.yaml": "tasks: 2026-13-45",
    "deep.yaml": "[" * 5000,
    "many.yaml": "tasks:\n" + "\n".join(f"- {{id: t{n}, description: x}}" for n in range(1001)),
    "notateam.yaml": "agents: 3",
    "strange.db": "this is no database",
}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["run"], "Missing argument 'QUERY'; see `baton run --help`"),
        (["run", "  "], "the request is empty"),
        (["run", "x" * 100_001], "the request has 100001 characters"),
        (["run", "x", "--frob"], "No such option: --frob"),
        (["frob"], "No such command 'frob'"),
        (["run", "x", "--oversight", "total"], "'total' is not one of 'auto', 'in_command'"),
        (["run", "x", "--budget-tokens", "0"], "--budget-tokens"),
        (["run", "x", "--budget-tokens", "many"], "--budget-tokens"),
        (
            ["run", "x", "--queue", "--at", "yesterday"],
            "--at yesterday: give a time as 2027-01-31, 2027-01-31 06:00 or",
        ),
        (["run", "x", "--set", "token_budget=true"], "token_budget: Value error, true is no value for it"),
        (["run", "x", "--set", "max_tokens.plan=true"], "max_tokens: Value error, plan: true is no value for it"),
        (["run", "x", "--plan", "nowhere.yaml"], "plan file nowhere.yaml cannot be read: No such file"),
        (["run", "x", "--plan", "."], "plan file . cannot be read: Is a directory"),
        (["run", "x", "--plan", "cycle.yaml"], "in a cycle: a, b"),
        (["run", "x", "--plan", "twice.yaml"], "task id 'a' is used 2 times"),
        (["run", "x", "--plan", "stranger.yaml"], "depends on unknown task 'zz'"),
        (["run", "x", "--plan", "none.yaml"], "none.yaml: the plan cannot be used: tasks"),
        (["run", "x", "--plan", "empty.yaml"], "a plan is a mapping with `tasks`"),
        (["run", "x", "--plan", "text.yaml"], "a plan is a mapping with `tasks`"),
        (["run", "x", "--plan", "broken.yaml"], "plan file broken.yaml is neither YAML nor JSON"),
        (["run", "x", "--plan", "date.yaml"], "plan file date.yaml is neither YAML nor JSON"),
        (["run", "x", "--plan", "deep.yaml"], "plan file deep.yaml is neither YAML nor JSON"),
        (["run", "x", "--plan", "many.yaml"], "many.yaml: the plan cannot be used: tasks"),
        (["run", "x", "--team", "nowhere.yaml"], "cannot be read: No such file"),
        (["run", "x", "--team", "notateam.yaml"], "has no `agents:` list"),
        (["run", "x", "--sources", "nowhere"], "does not exist"),
        (["run", "x", "--sources", "nothing"], "nothing"),
        (["run", "x", "--model", "gpt-x"], "needs OPENAI_API_KEY or OPENAI_BASE_URL"),
        (["run", "x", "--thread", ""], "cannot name a thread"),
        (["run", "x", "--thread", "y" * 201], "cannot name a thread"),
        (["run", "x", "--out", "nothing"], "--out nothing is a folder"),
        (["run", "x", "--out", "nowhere/report.md"], "there is no folder"),
        pytest.param(
            ["run", "x", "--db", "strange.db"], "strange.db is not a Baton database", marks=pytest.mark.of_files
        ),
        pytest.param(["run", "x", "--db", "nothing"], "is a folder; give a file with --db", marks=pytest.mark.of_files),
        pytest.param(["run", "x", "--db", "nowhere/baton.db"], "does not exist", marks=pytest.mark.of_files),
        pytest.param(["status", "t"], "there is no database baton.db", marks=pytest.mark.of_files),
        pytest.param(["runs", "--db", "strange.db"], "strange.db is not a Baton database", marks=pytest.mark.of_files),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_code_2(
    baton: Baton, tmp_path: Path, words: list[str], wrong: str
) -> None:
    (tmp_path / "nothing").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    said = baton(*words)

    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("baton: ")
    assert wrong in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["Which of these frameworks is the best?"], "there is nothing to answer from: no language model"),
        (["Which is the best?", "--sources", "missing"], "missing"),
        (["  ", "--sources", "."], "the request is empty"),
        (["Which is the best?", "--to", "nobody"], "there is no agent 'nobody'"),
    ],
)
def test_a_first_try_that_is_refused_leaves_nothing(baton: Baton, tmp_path: Path, words: list[str], wrong: str) -> None:
    before = {*tmp_path.iterdir()}

    said = baton("run", *words)

    assert (said.code, said.err.count("\n")) == (2, 1)
    assert wrong in said.err
    assert {*tmp_path.iterdir()} == before


@pytest.mark.parametrize("verb", [["status"], ["resume"], ["inbox"], ["team"], ["status", "--plan"], ["answer"]])
def test_an_unknown_thread_is_refused_by_name(baton: Baton, tea: str, verb: list[str]) -> None:
    baton("run", "How much caffeine is in tea?", "--sources", tea, "--thread", "known")
    rest = ["q", "approve"] if verb == ["answer"] else []

    said = baton(*verb, "unknown", *rest)

    assert said.code == 2
    assert "thread 'unknown'" in said.err
    assert said.err.count("\n") == 1


def test_a_setting_that_cannot_be_understood_is_named(baton: Baton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_MODEL_TIMEOUT_S", "soon")

    said = baton("run", "x")

    assert said.code == 2
    assert "BATON_MODEL_TIMEOUT_S" in said.err


def test_a_defect_is_one_line_and_its_place_is_shown_on_demand(baton: Baton, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("what a pity")

    monkeypatch.setattr("graph.cli.team.open_team", broken)
    quiet = baton("team")
    monkeypatch.setenv("BATON_DEBUG", "1")
    loud = baton("team")

    assert (quiet.code, loud.code) == (1, 1)
    assert quiet.err.count("\n") == 1
    assert "ZeroDivisionError: what a pity" in quiet.err
    assert "BATON_DEBUG=1" in quiet.err
    assert "Traceback" in loud.err
