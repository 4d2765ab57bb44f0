"""What a human's no does: the agent goes on, another plan is made, or the task fails (chapter 15.12.5)."""

from typing import Any

import pytest
from langchain_core.tools import tool

from nodes.llm.offline.model import OfflineModel
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.replies import PlanDraft, TaskDraft
from state.run import Run
from tests.runs import agent, opened, plan, statuses

NO = {"type": "reject", "message": "too early"}
PLANS = "split the request into tasks"


class Work:
    """Asks before tasks whose id begins with `ask`; does all others at once."""

    def __init__(self) -> None:
        self.did: list[str] = []

    async def __call__(self, brief: Brief, desk: Any) -> str:
        if brief.task.id.startswith("ask"):
            said = await desk.ask("launch")
            return f"{said.type}: {said.message}"
        self.did.append(brief.task.id)
        return f"{brief.task.id} of {sorted(brief.inputs)}"


def drafted(*tasks: TaskDraft) -> PlanDraft:
    return PlanDraft(tasks=list(tasks), complexity=0.3)


def task(name: str, *after: str, text: str = "") -> TaskDraft:
    return TaskDraft(id=name, description=text or f"Do {name}.", depends_on=list(after))


async def refused(sup: Any, run: Run) -> Run:
    answered: Run = await sup.answer(run.thread_id, {run.approvals[0].id: NO}, by="ana")
    return answered


async def test_by_default_the_agent_goes_on_with_what_was_said() -> None:
    async with opened(agent(Work())) as sup:
        run = await refused(sup, await sup.start("Q", plan=plan("ask")))

    assert (run.status, run.tasks[0].result) == ("complete", "reject: too early")


async def test_with_fail_the_task_fails_and_nobody_else_tries_it() -> None:
    team = (agent(Work()), agent(Work(), name="bob"))
    async with opened(*team, on_reject="fail") as sup:
        run = await refused(sup, await sup.start("Q", plan=plan("ask", "b", "c", "after <- ask")))

    assert (run.status, run.error) == ("failed", "ana did not allow launch: too early")
    assert statuses(run) == {"ask": "failed", "b": "done", "c": "done", "after": "skipped"}
    assert (run.tasks[0].error, run.tasks[0].agent) == ("ana did not allow launch: too early", "ada")
    assert run.tasks[0].attempts == 1


async def test_a_required_task_that_is_all_there_is_fails_the_run() -> None:
    async with opened(agent(Work()), on_reject="fail") as sup:
        run = await refused(sup, await sup.start("Q", plan=plan("ask")))

    assert run.status == "failed"
    assert "did not allow launch: too early" in (run.report or "")


@pytest.mark.parametrize("on_reject", ["fail", "replan"])
async def test_a_task_that_is_not_required_is_skipped(on_reject: str) -> None:
    optional = {"id": "ask", "required": False}
    async with opened(agent(Work()), on_reject=on_reject) as sup:
        run = await refused(sup, await sup.start("Q", plan=plan(optional, "b")))

    assert (run.status, statuses(run)) == ("complete", {"ask": "skipped", "b": "done"})


async def test_a_model_driven_agent_is_stopped_too() -> None:
    @tool
    async def send_mail(to: str) -> str:
        """Send it."""
        raise AssertionError("sent")

    worker = AgentSpec(name="ada", role="generalist", tools=[send_mail])
    model = ScriptedModel([{"name": "send_mail", "args": {"to": "bob"}}])
    async with opened(worker, model=model, on_reject="fail", max_iterations=0) as sup:
        run = await refused(sup, await sup.start("Q", plan=plan("a")))

    assert (run.status, run.tasks[0].error) == ("failed", "ana did not allow send_mail: too early")
    assert len(model.calls) == 1


async def test_with_replan_another_plan_is_made_and_what_was_done_is_kept() -> None:
    work = Work()
    model = ScriptedModel({PLANS: [drafted(task("a"), task("other", "a"))]})
    async with opened(agent(work), model=model, on_reject="replan") as sup:
        run = await refused(sup, await sup.start("Q", plan=plan("a", "ask <- a", "after <- ask")))

    assert (run.status, statuses(run)) == ("complete", {"a": "done", "other": "done"})
    assert work.did == ["a", "other"]
    told = "\n".join(str(message.text) for message in model.calls[0].messages)
    assert "Make another plan: ana did not allow launch: too early. That was task ask: Do ask." in told


async def test_a_plan_that_asks_again_is_made_again_as_often_as_the_policy_grants() -> None:
    model = ScriptedModel({PLANS: [drafted(task(f"ask{n}")) for n in (1, 2, 3)]})
    async with opened(agent(Work()), model=model, on_reject="replan", max_iterations=2) as sup:
        run = await sup.start("Q", plan=plan("ask"))
        for _ in range(3):
            assert run.status == "waiting"
            run = await refused(sup, run)

    assert (run.status, statuses(run)) == ("failed", {"ask2": "failed"})
    assert len(model.calls) == 2


async def test_the_same_plan_again_does_not_ask_again() -> None:
    model = ScriptedModel({PLANS: [drafted(task("ask"), task("b"), task("c"))]})
    async with opened(agent(Work()), model=model, on_reject="replan") as sup:
        run = await refused(sup, await sup.start("Q", plan=plan("ask", "b", "c")))

    assert (run.status, statuses(run)) == ("partial", {"ask": "failed", "b": "done", "c": "done"})


async def test_without_a_key_too_the_report_says_who_refused_and_why_and_nothing_that_a_model_was_told() -> None:
    publisher = AgentSpec(name="pia", role="publisher", tools=["publish"])
    tasks = plan("a", {"id": "b", "role": "publisher", "kind": "action", "action": "publish", "depends_on": ["a"]})
    async with opened(agent(Work()), publisher, model=OfflineModel()) as sup:
        run = await sup.start("Do it, then publish it.", plan=tasks)
        while run.approvals:
            run = await refused(sup, run)

    assert "ana did not allow this: too early" in str(run.report)
    assert "do not call it again" not in run.model_dump_json()
