"""The command line, which has the built-in team, on runs that a program with a team of its own has started."""

import asyncio

from nodes.runtime.clock import SystemClock
from tests.graph.cli.conftest import Baton
from tests.graph.test_strangers import REFUSAL, Owner, dies
from tests.runs import opened


async def resumed(owner: Owner) -> str:
    async with opened(*owner.team) as sup:
        return str((await sup.resume("t")).status)


def test_an_answer_is_kept_and_the_program_that_started_the_run_goes_on(baton: Baton) -> None:
    owner = Owner()
    asked = asyncio.run(owner.starts(clock=SystemClock())).approvals[0].id

    said = baton("answer", "t", asked, "approve", "--by", "ana", "--db", "runs.db")
    again = baton("answer", "t", asked, "reject", "--by", "eve", "--db", "runs.db")
    refused = baton("resume", "t", "--db", "runs.db")

    assert (said.code, again.code, refused.code) == (3, 2, 2)
    assert "paused: it needs agents that are not in this team: slow, bo; go on with the program" in said.err
    assert f"{asked} was answered before: ana said approve; the first answer stands" in again.err
    assert refused.err == f"baton: {REFUSAL}\n"
    assert asyncio.run(resumed(owner)) == "complete"
    assert (owner.asked, owner.helps.tasks) == (["a"], ["b"])


def test_a_dead_run_is_left_alone_by_the_watch_which_says_so_once(baton: Baton) -> None:
    owner = Owner()
    asyncio.run(dies(owner))

    said = baton("watch", "--once", "--db", "runs.db")

    assert (said.code, said.err) == (0, f"baton: t: {REFUSAL}\n")
    assert asyncio.run(resumed(owner)) == "waiting"
