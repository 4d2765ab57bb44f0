"""A supervisor that code of an agent runs by hand: a graph like any other to that agent, and no part of the run."""

import pytest

from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from tests.journeys.below import Postbox, once, recorded, unit, until_asked
from tests.journeys.doom import THREAD
from tests.journeys.steered import under_way
from tests.runs import agent, opened, plan, statuses


async def asks(brief: Brief, desk: Desk) -> str:
    return (await desk.ask("launch")).type


def callers(leaf: AgentSpec) -> list[AgentSpec]:
    """One asks by itself; the other has a supervisor do its task, which asks, too."""

    async def calls(brief: Brief, desk: Desk) -> str:
        return str((await leaf.run.ainvoke({"query": "Go."}))["report"])

    return [agent(asks, "ada", "asker"), agent(calls, "bob", "caller")]


@pytest.mark.parametrize("below", ["", "a.0.mid/"])
async def test_what_it_asks_is_asked_once_and_nothing_of_the_run_around_it_is_lost(below: str) -> None:
    team, postbox = callers(unit("leaf", agent(asks, "eve"), tasks=("x",))), Postbox()
    own, leaf = f"{below}own.0.q1", f"{below}call.0.bob/x.0.q1"
    tasks = plan({"id": "own", "role": "asker"}, {"id": "call", "role": "caller"})
    if below:
        team, tasks = [unit("mid", *team, tasks=("own: asker", "call: caller"))], plan({"id": "a", "role": "mid"})
    async with opened(*team, notifier=postbox, max_iterations=0) as sup:
        async with under_way(sup, tasks):
            await until_asked(sup, own, leaf)
        for name in (own, leaf):
            run = await sup.answer(THREAD, {name: True}, by="ana")
        records = await recorded(sup)
        listed = [one.thread_id for one in await sup.runs()]

    assert (run.status, set(statuses(run).values()), listed) == ("complete", {"done"}, [THREAD])
    assert records == {own: once("ana"), leaf: once("ana")}
    assert len(postbox.told) == 2
