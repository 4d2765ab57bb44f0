"""Chapter 15.12.8: the market is analysed, publishing waits for a human, and survives the death of its process."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from graph.cli import main
from tests.journeys.doom import in_another_process
from tests.journeys.processes import run_market_until_it_asks

PLAN = """
tasks:
- {id: A, description: Gather what the sources say about the size of the market, role: researcher, kind: research}
- {id: B, description: Gather what the sources say about the competitors, role: researcher, kind: research}
- {id: C, description: Compare the prices of the vendors, role: analyst, kind: analysis}
- {id: D, description: Gather what the sources say about trends, role: researcher, kind: research}
- {id: E, description: Draw up a SWOT of the market, role: strategist, kind: strategy, depends_on: [A, B, C, D]}
- {id: F, description: Publish the market report, role: publisher, kind: action, action: publish, depends_on: [E]}
"""


def test_publishing_waits_is_found_after_a_kill_and_is_done_once_as_edited(
    tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def baton(*words: str) -> tuple[int, list[Any]]:
        capsys.readouterr()
        code = main(words)
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    (tmp_path / "plan.yaml").write_text(PLAN)
    sources = root / "examples" / "market" / "sources"
    died = in_another_process(run_market_until_it_asks, tmp_path, sources, tmp_path / "plan.yaml")
    assert asyncio.run(died) == -9
    published = tmp_path / "artifacts" / "market" / "published"
    assert not published.exists()

    _, [[asked]] = baton("inbox", "--json")
    assert (asked["thread_id"], asked["task_id"], asked["action"], asked["risk"]) == ("market", "F", "publish", "high")
    edit = json.dumps({**asked["args"], "name": "approved.md", "channel": "clients"})
    code, lines = baton("answer", "market", asked["id"], "edit", "--args", edit, "--by", "ana", "--json")

    run = lines[-1]
    assert (code, run["status"]) == (0, "complete")
    assert {task["id"]: task["status"] for task in run["tasks"]} == dict.fromkeys("ABCDEF", "done")
    files = [path.relative_to(published).as_posix() for path in published.rglob("*") if path.is_file()]
    assert files == ["clients/approved.md"]
    assert (published / "clients" / "approved.md").read_text() == asked["args"]["content"]
    assert baton("inbox", "--json")[1] == [[]]
    assert main(["log", "market", "--approvals", "--verify"]) == 0
