"""Two processes answer one question at the same moment: the first counts, the second is told so in a line."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from graph.cli import main
from nodes.runtime.audit import Audit, Seals, entry_of
from nodes.runtime.signals import SignalState, waiting
from state.agent import Brief
from state.approval import Decision
from state.errors import BadInput
from tests.journeys.doom import THREAD, Story, in_another_process, notes
from tests.journeys.doom import opened as telling_opened
from tests.journeys.processes import answer_by_command
from tests.runs import agent, opened, plan

QUESTION = "a.0.q1"
PLAN = """\
tasks:
- {id: look, description: Find how much caffeine tea has, role: researcher, kind: research}
- {id: tell, description: Publish the answer, role: publisher, kind: action, action: publish, depends_on: [look]}
"""
PEOPLE = {"ana": "approve", "bob": "reject"}


async def both(folder: Path, request: str) -> list[Any]:
    """What came of the two commands."""
    answers = [
        asyncio.create_task(in_another_process(answer_by_command, folder, request, decision, by))
        for by, decision in PEOPLE.items()
    ]
    while len(notes(folder)) < len(PEOPLE):  # noqa: ASYNC110 # other processes write them
        await asyncio.sleep(0.005)
    (folder / "go").touch()
    assert await asyncio.gather(*answers) == [0, 0]
    return [json.loads(line) for line in notes(folder)[len(PEOPLE) :]]


async def answers_on_record(folder: Path, request: str) -> list[tuple[str, str]]:
    async with telling_opened(Story([agent()]), folder) as sup:
        entries, broken = await sup.audit(THREAD)
    assert broken == ""
    return [(entry.by, entry.decision) for entry in entries if (entry.kind, entry.approval) == ("answered", request)]


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("oversight", ["in_command", "in_the_loop"], ids=["the plan", "an action"])
def test_of_two_commands_at_once_the_first_counts_and_the_second_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], oversight: str, number: int
) -> None:
    (tmp_path / "tea.md").write_text("Green tea contains about 30 mg of caffeine per cup.\n")
    (tmp_path / "plan.yaml").write_text(PLAN)
    words = ["--sources", "tea.md", "--plan", "plan.yaml", "--oversight", oversight, "--db", "runs.db"]
    assert main(["run", "Caffeine in tea?", "--thread", THREAD, *words]) == 3
    capsys.readouterr()
    main(["inbox", THREAD, "--json", "--db", "runs.db"])
    [asked] = json.loads(capsys.readouterr().out)

    said = asyncio.run(both(tmp_path, asked["id"]))

    [late] = [one for one in said if one["code"] == 2]
    [first] = [one for one in said if one["code"] != 2]
    told = f"{asked['id']} was answered before: {first['by']} said {PEOPLE[first['by']]}; the first answer stands"
    assert late["lines"] == [f"baton: {told}"]
    assert asyncio.run(answers_on_record(tmp_path, asked["id"])) == [(first["by"], PEOPLE[first["by"]])]


async def test_who_answers_a_run_that_listens_to_nobody_any_more_is_told_who_was_first() -> None:
    async def asks(brief: Brief, desk: Any) -> str:
        return str((await desk.ask("launch")).by)

    async with opened(agent(asks)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        store = sup.graph.store
        assert store is not None
        async with sup._runs.leases.hold(THREAD):  # as another process does that is about to end the run
            late = asyncio.create_task(sup.answer(THREAD, {QUESTION: True}, by="ana"))
            async with asyncio.timeout(90):
                while not await waiting(store, THREAD):  # noqa: ASYNC110 # it is another's signal
                    await asyncio.sleep(0.005)
            [question] = (await sup.view(THREAD)).approvals
            no, signals = Decision(type="reject", by="bob"), SignalState(store, THREAD)
            async with Audit(store, THREAD, Seals()).sealing(entry_of("answered", question, 0.0, no)) as rows:
                await store.abatch([*rows, signals.decide(QUESTION, no)])
            with pytest.raises(BadInput, match="was answered before: bob said reject; the first answer stands"):
                await late
