"""A task starts when its own inputs are there, and not when a wave has ended."""

from tests.journeys.steered import Gates, supervisor, under_way
from tests.runs import agent, plan


async def test_a_task_starts_while_others_of_its_wave_are_still_at_work() -> None:
    work = Gates("b", "c")
    tasks = plan("a", "b", "c <- a", "d <- b", "e <- c d")
    async with supervisor(agent(work)) as sup, under_way(sup, tasks) as running:
        await work.all_came("b", "c")  # c is at work, though b, of the first wave, has not ended
        assert work.ends == ["a"]
        work.open("b")
        while "d" not in work.ends:
            await work.turn()
        assert work.ends == ["a", "b", "d"]  # and d has ended, though c has not
        work.open()

    assert running.result().status == "complete"
    assert work.ends == ["a", "b", "d", "c", "e"]


async def test_no_more_tasks_are_at_work_than_the_policy_grants() -> None:
    work = Gates(*(f"t{n}" for n in range(6)))
    async with supervisor(agent(work)) as sup, under_way(sup, plan(*work.gates), max_parallel=2) as running:
        for done in range(6):
            while len(work.starts) < min(6, done + 2):
                await work.turn()
            assert len(work.starts) - len(work.ends) <= 2
            work.open(work.starts[done])
            while len(work.ends) <= done:
                await work.turn()

    assert running.result().status == "complete"
