"""Every policy field can be seen and set: in words, in files, with a team; and a project can be begun."""

import json
from pathlib import Path

import pytest

from graph.policy_text import fields
from state.policy import Policy
from tests.graph.cli.conftest import Baton

ASK = "How much caffeine is in tea?"


def held(baton: Baton, thread: str) -> dict[str, object]:
    """What a thread's run works under, by field."""
    return {row["name"]: row["holds"] for row in baton("policy", thread, "--json").lines[0]}


def test_every_field_is_listed_with_its_default_and_what_it_does(baton: Baton) -> None:
    [rows] = baton("policy", "--json").lines

    assert [row["name"] for row in rows] == list(Policy.model_fields)
    assert all(row["effect"] and row["values"] for row in rows)
    assert {row["name"]: row["default"] for row in rows} == Policy().model_dump(mode="json")
    assert "max_attempts" in baton("policy").out


def test_files_words_and_teams_set_fields_and_the_closest_holds(baton: Baton, tea: str, tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text(
        "agents:\n  - {name: ada, role: generalist}\n"
        "policy: {max_attempts: 7, max_parallel: 7, max_iterations: 7, cost_limit: 7}\n"
    )
    (tmp_path / "policy.yaml").write_text("max_attempts: 6\nmax_parallel: 6\nmax_iterations: 6\n")
    said = baton(
        "run", ASK, "--sources", tea, "--thread", "t", "--team", "team.yaml", "--policy", "policy.yaml",
        "--set", "max_attempts=5", "--set", "max_parallel=5", "--set", "approval_timeout_s.high=1h30m",
        "--set", "max_seconds=2m", "--set", "sensitive_actions=[pay]", "--oversight", "on_the_loop",
        "--set", "oversight=in_command",
    )  # fmt: skip
    holds = held(baton, "t")

    assert said.code == 0, said.err
    assert [holds[name] for name in ("max_attempts", "max_parallel", "max_iterations", "cost_limit")] == [5, 5, 6, 7]
    assert holds["approval_timeout_s"] == {"default": 1800, "high": 5400}
    assert (holds["max_seconds"], holds["sensitive_actions"], holds["oversight"]) == (120, ["pay"], "on_the_loop")


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--set", "max_attempts"], "sets nothing"),
        (["--set", "max_attemps=2"], "there is no policy field 'max_attemps'; `baton policy` lists them all"),
        (["--set", "max_attempts=many"], "max_attempts"),
        (["--set", "max_attempts=[1"], "cannot be read"),
        (["--set", "approval_timeout_s=soon"], "approval_timeout_s"),
        (["--policy", "nothing.yaml"], "cannot be read"),
        (["--policy", "list.yaml"], "has no policy fields"),
        (["--team", "team.yaml"], "line 2: policy: there is no policy field 'mood'"),
    ],
)
def test_what_cannot_be_set_is_refused_in_one_line(baton: Baton, words: list[str], wrong: str, tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text("- 1\n")
    (tmp_path / "team.yaml").write_text("agents: [{name: ada, role: generalist}]\npolicy: {mood: good}\n")
    said = baton("run", ASK, "--model", "offline", *words)

    assert (said.code, said.err.count("\n")) == (2, 1), said.err
    assert wrong in said.err


def test_a_setting_is_taken_from_every_field(baton: Baton) -> None:
    given = [word for one in fields() for word in ("--set", f"{one.name}={json.dumps(one.default)}")]
    assert baton("run", "What is 12 times 3?", "--thread", "t", *given).code == 0
    assert held(baton, "t") == Policy().model_dump(mode="json")


def test_a_first_try_with_nothing_to_answer_from_is_one_clear_error(
    baton: Baton, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "BATON_MODEL", "BATON_TEAM"):
        monkeypatch.delenv(name, raising=False)
    said = baton("run", "Who won the war of the roses?")

    assert (said.code, said.err.count("\n"), said.out) == (2, 1, "")
    assert "no language model" in said.err
    assert "--sources" in said.err
    assert baton("run", "What is 12 times 3?").code == 0


def test_a_new_project_runs_as_it_is_and_nothing_is_overwritten(
    baton: Baton, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = baton("init", "lighthouse")
    again = baton("init", "lighthouse")
    monkeypatch.chdir(tmp_path / "lighthouse")
    monkeypatch.syspath_prepend(str(tmp_path / "lighthouse"))
    run = baton("run", "How many steps does the lighthouse have?", "--sources", "sources", "--team", "team.yaml")

    assert made.out.splitlines() == [
        f"lighthouse/{name}" for name in ("team.yaml", "agents.py", "sources/lighthouse.md", ".env")
    ]
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert (run.code, "214 steps" in Path(run.out.strip().splitlines()[-1]).read_text()) == (0, True)
