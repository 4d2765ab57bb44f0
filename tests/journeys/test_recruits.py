"""A team that grows while it works: by desk, by tool and by signal; and one from which people retire."""

import asyncio
from typing import Any

import pytest

from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.errors import BadInput
from state.signal import Pause, Recruit
from tests.journeys.steered import THREAD, Gates, happened, supervisor, under_way
from tests.runs import agent, all_approved, plan, statuses


async def helps(brief: Brief, desk: Desk) -> str:
    return f"help with {brief.task.description}"


async def passes_on(brief: Brief, desk: Desk) -> dict[str, Any]:
    return {"result": {**brief.inputs}}


class Recruiting:
    """An agent that recruits for each of its tasks; `wait` for what comes of it. `answers` is what it was told."""

    def __init__(self, role: str = "helper", *, wait: bool = False) -> None:
        self.role, self.wait = role, wait
        self.answers: list[str] = []

    async def __call__(self, brief: Brief, desk: Desk) -> str:
        made = await desk.recruit(self.role, f"the work of {brief.task.id}")
        self.answers.append(str(made))
        if not made:
            return f"alone: {made!s}"
        return f"with {(await desk.result(made)).text}" if self.wait else "on its way"


HAL = agent(helps, "hal", "helper")


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("max_parallel", [1, 10])
async def test_a_recruit_s_result_reaches_who_builds_on_its_recruiter_and_the_report(
    wait: bool, max_parallel: int
) -> None:
    team = [agent(Recruiting(wait=wait)), HAL, agent(passes_on, "una", "user")]
    async with supervisor(*team, max_parallel=max_parallel) as sup:
        async with asyncio.timeout(90):
            run = await sup.start("Q", plan=plan("a", {"id": "b", "role": "user", "depends_on": ["a"]}))

    help_, own = "help with the work of a", "with help with the work of a" if wait else "on its way"
    assert (run.status, statuses(run)) == ("complete", {"a": "done", "b": "done", "a.r1": "done"})
    used, recruit = run.tasks[1], run.tasks[2]
    assert used.result == {"a": own, "a.r1": help_}
    assert (recruit.agent, recruit.recruited_by, recruit.result) == ("hal", "a", help_)
    assert run.report is not None
    assert help_ in run.report


async def test_a_recruit_runs_beside_what_is_running() -> None:
    work = Gates("busy", "asks.r1")

    async def recruits(brief: Brief, desk: Desk) -> str:
        return await desk.recruit("worker", "more") if brief.task.id == "asks" else await work(brief, desk)

    async with supervisor(agent(recruits, role="worker")) as sup, under_way(sup, plan("asks", "busy")) as running:
        await work.all_came()
        work.open()
    assert running.result().status == "complete"


async def test_a_recruit_at_work_is_in_the_directory_and_among_the_tasks() -> None:
    work = Gates("a.r1")

    async def recruits(brief: Brief, desk: Desk) -> str:
        return await desk.recruit("helper", "more") if brief.task.id == "a" else await work(brief, desk)

    async with supervisor(agent(recruits), agent(recruits, "hal", "helper")) as sup, under_way(sup, plan("a")):
        await work.all_came()
        members = {member.agent: (member.status, member.recruited) for member in await sup.team(THREAD)}
        shown = statuses(await sup.view(THREAD))
        work.open()

    assert members["hal"] == ("running", True)
    assert shown["a.r1"] == "running"


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"recruit_roles": ["clerk"]}, "role 'helper' may not be recruited; allowed are: clerk"),
    ({"recruit_roles": []}, "role 'helper' may not be recruited; allowed are: none"),
    ({"max_team_size": 1}, "the team has 1 members, the limit is 1"),
    ({"max_delegation_depth": 0}, "a recruit at depth 1 is too deep, the limit is 0"),
]


@pytest.mark.parametrize(("policy", "reason"), REFUSALS)
async def test_a_refused_recruit_says_why_and_is_on_record(policy: dict[str, Any], reason: str) -> None:
    work = Recruiting()
    async with supervisor(agent(work), HAL, **policy) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        (event,) = await happened(sup, "agent_recruited")

    assert (run.status, work.answers, len(run.tasks)) == ("complete", [reason], 1)
    assert (event.data["granted"], event.data["reason"]) == (False, reason)


async def test_recruits_may_recruit_only_so_deep() -> None:
    work = Recruiting("generalist", wait=True)
    async with supervisor(agent(work), max_delegation_depth=2, max_team_size=9) as sup:
        async with asyncio.timeout(90):
            run = await sup.start("Q", plan=plan("a"))

    assert statuses(run) == dict.fromkeys(["a", "a.r1", "a.r1.r1"], "done")
    assert work.answers[-1] == "a recruit at depth 3 is too deep, the limit is 2"


async def test_an_idle_agent_of_that_role_is_used_and_the_team_does_not_grow() -> None:
    async with supervisor(agent(Recruiting()), HAL, max_team_size=2) as sup:
        run = await sup.start(
            "Q", thread_id=THREAD, plan=plan({"id": "first", "role": "helper"}, "a <- first", "b <- a")
        )
        granted = await happened(sup, "agent_recruited")

    assert run.status == "complete"
    assert {event.data["reason"] for event in granted} == {"an agent of that role is idle: hal is used"}


async def test_a_plan_makes_no_larger_team_than_the_policy_allows() -> None:
    team = [agent(helps, name, name) for name in ("ada", "bo", "cy", "di")]
    asked_for = [{"id": name, "role": name, "to": name} for name in ("ada", "bo", "cy")]
    async with supervisor(*team, max_team_size=2) as sup:
        asked = await sup.start("Q", plan=plan(*({"id": name, "role": name} for name in ("ada", "bo", "cy", "di"))))
        run = await all_approved(sup, asked)
        with pytest.raises(BadInput, match=r"it is for 3 agents \(ada, bo, cy\), and max_team_size is 2"):
            await sup.start("Q", plan=plan(*asked_for))

    assert [question.task_id for question in asked.approvals] == ["cy", "di"]  # nobody in the team fits
    assert (run.status, {task.agent for task in run.tasks}) == ("complete", {"ada", "bo"})


async def test_recruits_come_by_signal_too_and_are_refused_with_a_reason_too() -> None:
    work = Gates("a")
    async with supervisor(agent(work), HAL, recruit_roles=["helper"]) as sup:
        async with under_way(sup, plan("a")) as running:
            await work.all_came()
            await sup.signal(THREAD, Recruit(role="helper", task="the rest", by="ana"))
            with pytest.raises(BadInput, match="role 'clerk' may not be recruited; allowed are: helper"):
                await sup.signal(THREAD, Recruit(role="clerk", task="the rest", by="ana"))
            work.open()
        granted = [event.data["granted"] for event in await happened(sup, "agent_recruited")]
        members = {member.agent: member for member in await sup.team(THREAD)}

    run = running.result()
    assert (run.status, granted) == ("complete", [True, False])
    assert (run.tasks[1].result, run.tasks[1].recruited_by) == ("help with the rest", "ana")
    assert (members["hal"].recruited, members["hal"].status, members["ada"].recruited) == (True, "completed", False)


async def test_a_model_recruits_by_a_tool_and_can_wait_for_the_result() -> None:
    call = {"name": "recruit", "args": {"role": "helper", "task": "prices", "wait": True}, "id": "c1"}
    refused = {"name": "recruit", "args": {"role": "clerk", "task": "prices"}, "id": "c2"}
    model = ScriptedModel([call, refused, "The answer."])
    boss = AgentSpec(name="ada", role="generalist")
    async with supervisor(boss, HAL, model=model, recruit_roles=["helper"], max_iterations=0) as sup:
        async with asyncio.timeout(90):
            run = await sup.start("Q", plan=plan("a", dynamic=True))

    told = [message.text for message in model.calls[-1].messages if message.type == "tool"]
    assert run.status == "complete"
    assert told == [
        "help with prices",
        "not recruited: role 'clerk' may not be recruited; allowed are: helper",
    ]
    assert statuses(run) == {"a": "done", "a.r1": "done"}


async def test_a_model_gets_the_tools_to_coordinate_only_where_the_plan_is_dynamic() -> None:
    for dynamic, expected in ((True, {"recruit", "mail", "team"}), (False, set[str]())):
        model = ScriptedModel(["Done."])
        async with supervisor(AgentSpec(name="ada", role="generalist"), model=model, max_iterations=0) as sup:
            await sup.start("Q", plan=plan("a", dynamic=dynamic))
        assert set(model.calls[0].tools) == expected


async def test_nothing_is_recruited_into_a_run_that_has_ended() -> None:
    async with supervisor() as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        with pytest.raises(BadInput, match="has ended"):
            await sup.signal(THREAD, Recruit(role="generalist", task="more"))


async def test_a_recruiter_that_waits_for_a_recruit_with_a_question_does_not_hide_the_question() -> None:
    async def asks(brief: Brief, desk: Desk) -> str:
        return (await desk.ask("send")).type

    async with supervisor(agent(Recruiting(wait=True)), agent(asks, "hal", "helper")) as sup:
        async with asyncio.timeout(90):
            waiting = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        assert (waiting.status, [approval.task_id for approval in waiting.approvals]) == ("waiting", ["a.r1"])
        run = await sup.answer(THREAD, True)

    assert (run.status, run.tasks[0].result) == ("complete", "with approve")


@pytest.mark.parametrize("stop", ["question", "pause"])
async def test_a_model_that_waits_for_its_recruit_keeps_its_conversation_when_everything_stops(stop: str) -> None:
    go = asyncio.Event()

    async def recruited(brief: Brief, desk: Desk) -> str:
        if stop == "question":
            return (await desk.ask("send")).type
        while not go.is_set():
            await asyncio.sleep(0.001)
            await desk.pause_point()
        return "approve"

    call = {"name": "recruit", "args": {"role": "helper", "task": "prices", "wait": True}, "id": "c1"}
    model = ScriptedModel([call, "The answer."])
    boss = AgentSpec(name="ada", role="generalist")
    async with supervisor(boss, agent(recruited, "hal", "helper"), model=model, max_iterations=0) as sup:
        async with under_way(sup, plan("a", dynamic=True)) as running:
            await happened(sup, "task_started", times=2)
            if stop == "pause":
                await sup.signal(THREAD, Pause())
        assert running.result().status == ("waiting" if stop == "question" else "paused")
        go.set()
        run = await (sup.answer(THREAD, True) if stop == "question" else sup.resume(THREAD))

    assert (run.status, run.tasks[0].result, len(model.calls)) == ("complete", "The answer.", 2)
    assert model.calls[1].messages[-1].text == "approve"
