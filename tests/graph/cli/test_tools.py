"""`baton tools`: the tools there are, and why one is off."""

from pathlib import Path

import pytest

from tests.graph.cli.conftest import Baton

TEAM = """
agents:
  - name: ada
    role: generalist
    tools: [search, python]
    mcp:
      files: {command: files-server}
"""


def test_it_lists_each_tool_with_its_risk_and_why_it_is_off(
    baton: Baton, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "team.yaml").write_text(TEAM)
    monkeypatch.setenv("PATH", str(tmp_path))

    [listed] = baton("tools", "--team", str(tmp_path / "team.yaml"), "--json").lines
    found = {tool["name"]: tool for tool in listed}

    assert found["search"]["agents"] == ["ada"]
    assert (found["search"]["risk"], found["search"]["asks"], found["search"]["off"]) == ("low", False, "")
    assert (found["publish"]["risk"], found["publish"]["asks"], found["publish"]["agents"]) == ("high", True, [])
    assert "needs bubblewrap" in found["python"]["off"]
    assert "BATON_SEARCH" in found["web_search"]["off"]
    assert (found["files"]["from"], found["files"]["agents"]) == ("mcp", ["ada"])


def test_a_search_service_that_is_set_up_is_on(baton: Baton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_SEARCH", "brave")

    [row] = [line for line in baton("tools").out.splitlines() if line.startswith("web_search")]

    assert "BATON_SEARCH" not in row


def test_a_search_service_that_nobody_knows_is_refused(baton: Baton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_SEARCH", "altavista")

    said = baton("tools")

    assert said.code == 2
    assert "'altavista' is no search service that Baton knows" in said.err
