"""A team, built in, from a file or from Python; what is wrong with one is said in a line."""

import sys
from pathlib import Path
from typing import Any

import pytest

from graph.team_file import open_team, parse_team
from nodes.llm.choose import make_models
from nodes.tools.toolbox import TOOL_NAMES
from state.agent import AgentSpec
from state.errors import TeamInvalid
from tests.builders import make_agent

GOOD = """
agents:
  - name: bo
    role: diver
    specialty: wrecks
    skills: [research, wreck]
    tools: [search]
    limits: {iterations: 3}
  - {name: cy, role: lead, workers: [bo]}
"""


def refusal_of(team: object) -> str:
    with pytest.raises(TeamInvalid) as caught:
        open_team(team)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_seven_agents_are_built_in() -> None:
    team = open_team()

    assert [spec.role for spec in team] == [
        "researcher",
        "analyst",
        "strategist",
        "coder",
        "writer",
        "publisher",
        "generalist",
    ]
    assert all(spec.specialty and spec.tendency and spec.skills.kinds and spec.tools for spec in team)
    assert {tool for spec in team for tool in spec.tools} <= set(TOOL_NAMES)


def test_only_the_publisher_can_publish() -> None:
    assert [spec.name for spec in open_team() if "publish" in spec.tools] == ["publisher"]


def test_a_team_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(GOOD)

    for given in (path, str(path)):
        team = open_team(given)
        assert [spec.name for spec in team] == ["bo", "cy"]
        assert (team.agent("bo").limits.iterations, team.agent("bo").skills.kinds) == (3, {"research": 0.9})
        assert team.agent("cy").workers == ["bo"]


def test_a_team_may_be_python() -> None:
    team = open_team([make_agent("bo"), make_agent("cy")])

    assert open_team(team) is team
    assert "bo" in team
    assert "di" not in team
    with pytest.raises(TeamInvalid, match=r"no agent 'di' in the team; there are: bo, cy"):
        team.agent("di")


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        ("agents: [", ["is not YAML"]),
        ("just words", ["has no `agents:` list"]),
        ("agents: []", ["has no `agents:` list"]),
        ("agents: {name: bo}", ["has no `agents:` list"]),
        ("agents: [bo]", ["agent 1: "]),
        ("agents: [{role: x}]", ["agent 1: name: Field required"]),
        ("agents: [{name: bo}]", ["bo: role: Field required"]),
        ("agents: [{name: bo, role: x, colour: red}]", ["bo: colour: Extra inputs"]),
        ("agents: [{name: b o, role: x}]", ["b o: name: String should match"]),
        ("agents: [{name: bo, role: x, skills: {kinds: {research: 2}}}]", ["kinds['research'] is 2"]),
        ("agents: [{name: bo, role: x, limits: {timeout_s: 0}}]", ["bo: limits.timeout_s"]),
        ("agents: [{name: bo, role: x, tools: [hammer]}]", ["bo: there is no tool 'hammer'", "search"]),
        ("agents: [{name: bo, role: x, workers: [zoe]}]", ["bo: worker 'zoe' is not in the team"]),
        ("agents: [{name: bo, role: x}, {name: bo, role: y}]", ["agent 'bo' is there 2 times"]),
        (
            "agents: [{name: bo, role: x, run: print}]",
            ["line 1: bo: run: 'print' is not of the form package.module:name"],
        ),
        ("agents: [{name: human, role: x}]", ["line 1: human: no agent can be called 'human'"]),
        (
            "agents: [{name: bo, role: x}]\nworkers: [bo]\n",
            ["line 2: workers is no part of a team file, which has `agents:` and may have `policy:`"],
        ),
        ("agents: [{name: bo}, {name: cy, role: ''}]", ["bo: role", "cy: role"]),
    ],
)
def test_what_is_wrong_with_a_team_file_is_said_in_one_line(text: str, complaints: list[str], tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(text)
    said = refusal_of(path)

    for complaint in complaints:
        assert complaint in said


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    binary = tmp_path / "team.bin"
    binary.write_bytes(b"\xff\xfe\x00agents")

    assert "no.yaml cannot be read: No such file" in refusal_of(tmp_path / "no.yaml")
    assert "Is a directory" in refusal_of(tmp_path)
    assert "team.bin cannot be read" in refusal_of(binary)


def test_a_team_without_agents_or_with_one_twice_is_refused() -> None:
    assert "it has no agents" in refusal_of([])
    assert "'bo' is there 3 times" in refusal_of([make_agent("bo")] * 3)
    assert "no tool 'hammer'" in refusal_of([make_agent("bo", tools=["hammer"])])
    assert "`run` is neither" in refusal_of([AgentSpec(name="bo", role="x", run="print")])


BAD = """agents:
  - name: bo
    role: diver
    colour: red
    tools: [search, hammer]
    limits:
      timeout_s: 0
  - name: cy
    role: lead
    role: head
    workers: [zoe, cy]
    escalate_to: nobody
  - name: di
    role: x
    run: no.such.module:graph
  - {name: ed, role: y, run: os.path:nothing}
  - {name: ed, role: y, mcp: {files: {command: x, url: y}}}
  - {name: fo, role: y, run: os.path:exists, handoffs: [bo], model: {name: m}}
"""


def test_all_that_is_wrong_is_said_at_once_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(BAD)
    with pytest.raises(TeamInvalid) as caught:
        open_team(path)

    assert [(line, said.partition(": Value")[0][:60]) for line, said in caught.value.problems] == [
        (4, "bo: colour: Extra inputs are not permitted"),
        (5, "bo: there is no tool 'hammer'; there are search, read, query"),
        (7, "bo: limits.timeout_s: Input should be greater than 0"),
        (8, "cy: escalation target 'nobody' is not in the team"),
        (8, "cy: worker 'cy' is the agent itself"),
        (8, "cy: worker 'zoe' is not in the team"),
        (10, "role is there twice"),
        (15, "di: run: no.such.module cannot be imported: ModuleNotFoundEr"),
        (16, "ed: run: there is no 'nothing' in os.path"),
        (17, "agent 'ed' is there 2 times"),
        (17, "ed: mcp.files"),
        (18, "fo: model.base_url: Field required"),
    ]


def test_anything_that_can_be_imported_is_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "divers_of_mine.py").write_text("async def dive(brief, desk):\n    return 'wet'\n")
    (tmp_path / "team.yaml").write_text("agents: [{name: bo, role: x, run: divers_of_mine:dive}]")
    monkeypatch.setattr(sys, "path", [*sys.path])

    team = open_team(tmp_path / "team.yaml")

    assert team.agent("bo").run.__name__ == "dive"


def test_a_module_that_ends_the_process_on_import_is_a_problem_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "script_of_mine.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "team.yaml").write_text("agents:\n  - {name: bo, role: x, run: script_of_mine:dive}\n")
    monkeypatch.setattr(sys, "path", [*sys.path])

    said = refusal_of(tmp_path / "team.yaml")

    assert "line 2: bo: run: script_of_mine cannot be imported: it ends the process when it is imported" in said


def test_anything_that_can_be_imported_is_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "tools_of_mine.py").write_text(
        'from langchain_core.tools import tool\n\ndef dive(metres: int) -> str:\n    """Dive."""\n    return "wet"\n\n'
        "surface = tool(dive)\n\ndef silent(x): return x\n\nDEPTH = 3\n"
    )
    mine = [f"tools_of_mine:{name}" for name in ("dive", "surface", "silent", "DEPTH", "none")]
    (tmp_path / "team.yaml").write_text(f"agents: [{{name: bo, role: x, tools: [search, {', '.join(mine[:2])}]}}]")
    (tmp_path / "bad.yaml").write_text(f"agents: [{{name: bo, role: x, tools: [{', '.join(mine[2:])}]}}]")

    tools = open_team(tmp_path / "team.yaml").agent("bo").tools
    with pytest.raises(TeamInvalid) as caught:
        open_team(tmp_path / "bad.yaml")

    assert [getattr(tool, "name", tool) for tool in tools] == ["search", "dive", "dive"]
    assert [said.removeprefix("bo: ")[:36] for _, said in caught.value.problems] == [
        "there is no 'none' in tools_of_mine",
        "tools_of_mine:DEPTH is no tool: it h",
        "tools_of_mine:silent is no tool: Fun",
    ]


def test_an_agent_may_think_with_a_model_of_another_server() -> None:
    team = parse_team("agents: [{name: bo, role: x, model: {name: m, base_url: 'http://127.0.0.1:9/v1'}}]", "it")
    model: Any = make_models(model="offline").for_agent(team.agent("bo").model)

    assert (model.model_name, str(model.openai_api_base)) == ("m", "http://127.0.0.1:9/v1")
    assert model.openai_api_key.get_secret_value() == "no-key-needed"
