"""What a run waits for, and what can be done with it now: by fields, and in the words of the command line."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from nodes.runtime.clock import SystemClock
from tests.graph.cli.conftest import Baton, Said
from tests.graph.test_strangers import STRANGER, TASKS, Owner
from tests.runs import opened, plan

TEAM = """\
agents:
- {name: slow, role: asker, run: "harbour:asks"}
- {name: bo, role: helper, run: "harbour:helps"}
"""
HARBOUR = """\
async def asks(brief, desk):
    return ", ".join([(await desk.ask(question)).type for question in ("launch", "land")])

async def helps(brief, desk):
    if "Do a" in brief.task.description:
        raise ValueError("no tide")
    return "Helped."
"""
COMMANDS = {
    "answer": ["answer", "t", "a.0.q1", "approve"],
    "resume": ["resume", "t"],
    "hand-back": ["hand-back", "t"],
    "pause": ["pause", "t"],
    "takeover": ["takeover", "t"],
    "cancel": ["cancel", "t"],
}


@pytest.fixture
def team(tmp_path: Path) -> str:
    """A team file, with the module of its agents beside it."""
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "harbour.py").write_text(HARBOUR)
    (tmp_path / "ours" / "team.yaml").write_text(TEAM)
    return str(tmp_path / "ours" / "team.yaml")


def started(baton: Baton, team: str) -> Said:
    """A run of that team that waits for an answer."""
    Path("plan.json").write_text(json.dumps(TASKS))
    return baton("run", "Q", "--plan", "plan.json", "--team", team, "--thread", "t")


async def answered_by_a_stranger() -> None:
    async with opened(STRANGER, db="baton.db", clock=SystemClock()) as stranger:
        await stranger.answer("t", {"a.0.q1": True}, by="ana")


@pytest.mark.of_files  # it tries each on a copy of the file
@pytest.mark.parametrize(
    ("before", "waits_for", "hint"),
    [
        ([], "answers", ["answer", "takeover", "cancel"]),
        (["pause"], "release", ["answer", "resume", "takeover", "cancel"]),
        (["takeover"], "release", ["answer", "hand-back", "cancel"]),
        (["a stranger"], "resume", ["resume"]),
    ],
    ids=["waiting", "paused", "handed over", "answered"],
)
def test_every_command_that_is_hinted_at_works(
    baton: Baton, team: str, before: list[str], waits_for: str, hint: list[str]
) -> None:
    started(baton, team)
    for verb in before:
        asyncio.run(answered_by_a_stranger()) if verb == "a stranger" else baton(verb, "t")
    run = baton("status", "t", "--json").lines[0]

    assert (run["waits_for"], run["can_go_on"], run["hint"]) == (waits_for, waits_for == "resume", hint)
    for verb in hint:
        for file in Path().glob("baton.db*"):
            shutil.copy(file, f"{verb}{file.name.removeprefix('baton')}")
        said = baton(*COMMANDS[verb], "--db", f"{verb}.db", "--json")
        assert said.code in (0, 3, 4, 5), (verb, said.err)
        after = baton("status", "t", "--db", f"{verb}.db", "--json").lines[0]
        assert after != run, verb


@pytest.mark.of_files  # it names the file
def test_a_run_started_in_python_says_that_it_waits_for_its_team_and_goes_on_with_the_file_of_it(
    baton: Baton, team: str
) -> None:
    first, second = asyncio.run(two_questions())
    without = baton("answer", "t", first, "approve", "--db", "runs.db")
    shown = baton("status", "t", "--db", "runs.db")
    waiting = baton("status", "t", "--db", "runs.db", "--json").lines[0]
    given = baton("resume", "t", "--team", team, "--db", "runs.db")
    kept = baton("answer", "t", second, "approve", "--db", "runs.db", "--json")

    assert (waiting["waits_for"], waiting["missing_agents"], waiting["hint"]) == ("team", ["slow", "bo"], [])
    assert without.code == given.code == 3
    way = "go on with the program that started it, or with its team file: baton resume t --team FILE --db runs.db"
    assert shown.out.splitlines()[-1] == way
    assert f"open: Land? (medium risk, slow): baton answer t {second} approve" in given.err
    assert (kept.code, kept.lines[-1]["tasks"][0]["result"]) == (0, "approve, approve")


async def two_questions() -> tuple[str, str]:
    first = (await Owner("launch", "land").starts(clock=SystemClock())).approvals[0].id
    return first, first.removesuffix("1") + "2"


def test_a_team_file_that_lacks_agents_is_refused_and_not_kept(baton: Baton, team: str, tmp_path: Path) -> None:
    started(baton, team)
    (tmp_path / "other.yaml").write_text("agents: [{name: zoe, role: x}]")

    refused = baton("resume", "t", "--team", "other.yaml")
    answered = baton("answer", "t", "a.0.q1", "approve", "--team", "other.yaml")
    resumed = baton("resume", "t")

    assert (refused.code, answered.code, resumed.code) == (3, 3, 3)
    assert "open: Land?" in resumed.err


def test_a_run_without_a_required_task_ends_partial_with_a_code_of_its_own(baton: Baton, team: str) -> None:
    tasks = plan({"id": "a", "role": "helper"}, {"id": "b", "role": "helper"})
    Path("plan.json").write_text(json.dumps(tasks))

    # a human accepts that it failed all its tries
    said = baton("run", "Q", "--plan", "plan.json", "--team", team, "--thread", "t", "--yes")
    run = baton("status", "t", "--json").lines[0]

    assert said.code == 6
    why, way = said.err.splitlines()[-1].split("; ")
    assert why == "baton: partial: not done: a (ValueError: no tide)"
    assert way.endswith("baton status t --plan > plan.yaml, baton run QUERY --plan plan.yaml")
    assert (run["status"], run["phase"], run["waits_for"], run["hint"]) == ("partial", "partial", "", [])
    assert baton("run", "Q", "--plan", "plan.json", "--team", team, "--thread", "t", "--yes").code == 6


def test_one_of_something_is_one(baton: Baton, team: str) -> None:
    started(baton, team)
    Path("one.yaml").write_text("agents: [{name: bo, role: x}]")

    assert "waiting: 1 open question\n" in baton("status", "t").out
    assert baton("team", "--check", "one.yaml").out == "one.yaml: 1 agent, fine\n"
