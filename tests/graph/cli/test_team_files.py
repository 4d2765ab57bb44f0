"""`baton team --check FILE`."""

from pathlib import Path

from tests.graph.cli.conftest import Baton


def test_a_good_file_is_fine(baton: Baton, tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text("agents: [{name: bo, role: x}]")

    said = baton("team", "--check", "team.yaml")

    assert (said.code, said.out, said.err) == (0, "team.yaml: 1 agent, fine\n", "")


def test_each_problem_is_a_line_with_its_place(baton: Baton, tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text("agents:\n- name: bo\n  role: x\n  tools: [hammer]\n- name: cy\n")

    said = baton("team", "--check", "team.yaml")
    told = baton("team", "--check", "team.yaml", "--json")

    assert said.code == told.code == 2
    assert [line.split(": ", 1)[0] for line in said.out.splitlines()] == ["team.yaml:4", "team.yaml:5"]
    assert [problem["line"] for problem in told.lines[0]["problems"]] == [4, 5]


def test_what_is_no_yaml_and_what_is_not_there_are_problems_too(baton: Baton, tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text("agents:\n- [\n")

    assert baton("team", "--check", "team.yaml").code == 2
    assert "cannot be read" in baton("team", "--check", "nowhere.yaml").out
