"""An agent retires: what it has begun it finishes, the rest goes to the next best."""

from state.agent import Skills
from state.signal import Retire
from tests.journeys.steered import THREAD, Gates, happened, logged, supervisor, under_way
from tests.runs import agent, plan, statuses


async def test_pending_work_of_an_agent_that_retires_goes_to_the_next_best() -> None:
    work, skilled = Gates("gate"), Skills(kinds={"general": 0.9})
    team = [
        agent(work, "gus", "gate"),
        agent(name="bob", skills=skilled),
        agent(name="cyd", role="other", skills=skilled),
    ]
    async with supervisor(*team) as sup:
        async with under_way(sup, plan({"id": "gate", "role": "gate"}, "late <- gate")) as running:
            await work.all_came()
            assert (await sup.view(THREAD)).tasks[1].agent == "bob"
            await sup.signal(THREAD, Retire(agent="bob", by="ana"))
            await logged(sup, 1)
            work.open()
        (retired,) = await happened(sup, "agent_retired")
        members = {member.agent: member.status for member in await sup.team(THREAD)}
        started = [event.agent for event in await happened(sup, "task_started") if event.task_id == "late"]

    run = running.result()
    assert (run.status, run.tasks[1].agent) == ("complete", "cyd")
    assert started == ["cyd"]
    assert (retired.agent, retired.data["by"]) == ("bob", "ana")
    assert members == {"gus": "completed", "bob": "retired", "cyd": "completed"}


async def test_work_that_nobody_is_left_for_fails_and_says_so() -> None:
    work = Gates("gate")
    async with (
        supervisor(agent(work, "gus", "gate"), agent(name="bob", role="only")) as sup,
        under_way(
            sup, plan({"id": "gate", "role": "gate"}, {"id": "late", "role": "only", "depends_on": ["gate"]})
        ) as running,
    ):
        await work.all_came()
        await sup.signal(THREAD, Retire(agent="bob"))
        await logged(sup, 1)
        work.open()

    late = running.result().tasks[1]
    assert late.status == "failed"
    assert late.error == "bob is retired, and nobody else can do this task"


async def test_an_agent_that_retires_at_work_finishes_what_it_has_begun() -> None:
    work = Gates("a")
    async with supervisor(agent(work)) as sup, under_way(sup, plan("a")) as running:
        await work.all_came()
        await sup.signal(THREAD, Retire(agent="ada"))
        await logged(sup, 1)
        work.open()
    assert statuses(running.result()) == {"a": "done"}
