"""A human may be asked before a task begins and about what came of it; in each mode, with every answer."""

from typing import Any

import pytest
from langchain_core.tools import tool
from pydantic import JsonValue

from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.clock import SystemClock
from state.agent import AgentSpec, Brief, Limits, Skills
from state.errors import AgentFailed
from state.run import Run
from tests.runs import Turns, agent, all_approved, opened, plan, statuses

UNSURE: dict[str, Any] = {"result": "Perhaps.", "confidence": 0.4}


async def answered(sup: Supervisor, run: Run, answer: JsonValue) -> Run:
    return await sup.answer(run.thread_id, {run.approvals[0].id: answer}, by="ana")


async def noted(sup: Supervisor, run: Run) -> list[tuple[str, str, str]]:
    """What was done without asking: the action, why it might have been asked about, and the mode."""
    entries, broken = await sup.audit(run.thread_id)
    assert broken == ""
    return [(entry.action, entry.reason, entry.door) for entry in entries if entry.kind == "noted"]


async def test_an_uncertain_result_waits_for_a_human_in_the_loop() -> None:
    async with opened(agent(Turns(UNSURE))) as sup:
        waiting = await sup.start("Q", plan=plan("a", "b <- a"))
        [question] = waiting.approvals
        run = await answered(sup, waiting, True)

    assert statuses(waiting) == {"a": "parked", "b": "pending"}
    assert (question.action, question.subject, question.risk, question.priority) == (
        "accept result",
        "result",
        "low",
        "medium",
    )
    assert question.reason == "confidence too low: 0.40 < 0.60"
    assert question.args == {"result": "Perhaps."}
    assert (run.status, run.tasks[0].result) == ("waiting", "Perhaps.")


async def test_a_certain_result_waits_for_nobody() -> None:
    async with opened(agent(Turns({"result": "Yes.", "confidence": 0.6}))) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.status == "complete"


async def test_a_result_that_a_human_replaces_is_the_one_that_counts() -> None:
    work = Turns(UNSURE, "Fine.")
    async with opened(agent(work)) as sup:
        waiting = await sup.start("Q", plan=plan("a", "b <- a"))
        run = await answered(sup, waiting, {"type": "edit", "args": {"result": "Certainly."}})

    assert [task.result for task in run.tasks] == ["Certainly.", "Fine."]
    assert work.briefs[1].inputs == {"a": "Certainly."}
    assert run.status == "complete"


async def test_a_result_that_is_sent_back_is_done_again_with_what_was_said() -> None:
    work = Turns(UNSURE, {"result": "Surely.", "confidence": 0.9})
    async with opened(agent(work)) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        run = await answered(sup, waiting, {"type": "reject", "message": "look again"})

    assert (run.status, run.tasks[0].result) == ("complete", "Surely.")
    assert [(brief.feedback, brief.previous) for brief in work.briefs] == [("", ""), ("look again", "Perhaps.")]


async def test_a_result_is_sent_back_as_often_as_the_policy_grants_and_then_the_task_fails() -> None:
    work = Turns(UNSURE)
    async with opened(agent(work), max_attempts=2, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan("a", "b"))
        first = {question.task_id: question.id for question in waiting.approvals}
        again = await sup.answer(waiting.thread_id, {first["a"]: "no better", first["b"]: True}, by="ana")
        [second] = again.approvals
        run = await sup.answer(waiting.thread_id, {second.id: "no enough"}, by="ana")

    assert second.id != first["a"]
    assert statuses(run) == {"a": "failed", "b": "done"}
    assert run.tasks[0].error == "ana did not allow the result of task a: enough"
    assert work.tasks.count("a") == 2


async def test_a_human_decision_is_not_reviewed_again() -> None:
    model = ScriptedModel({'<task id="a"': ["[none.md#L1] So.\nConfidence: 0.3"]})
    spec = AgentSpec(name="ada", role="generalist")
    async with opened(spec, model=model) as sup:
        run = await all_approved(sup, await sup.start("Q", plan=plan("a")), by="ana")

    assert (run.status, run.iteration) == ("complete", 0)


async def test_the_third_failure_of_an_agent_in_a_row_calls_a_human() -> None:
    work = Turns(AgentFailed("it broke", "permanent"))
    no_abort: JsonValue = {"default": 1.0}
    async with opened(agent(work), clock=SystemClock(), max_parallel=1, failure_threshold=no_abort) as sup:
        waiting = await sup.start("Q", plan=plan("a", "b", "c"))
        [question] = waiting.approvals
        run = await answered(sup, waiting, {"type": "edit", "args": {"result": "By hand."}})

    assert statuses(waiting) == {"a": "failed", "b": "failed", "c": "parked"}
    assert (question.action, question.reason) == ("accept failure", "consecutive failures: 3 (limit 3)")
    assert (statuses(run)["c"], run.tasks[2].result) == ("done", "By hand.")


async def test_one_task_that_fails_all_its_tries_calls_a_human_and_an_optional_one_is_skipped() -> None:
    work = Turns(RuntimeError("net"))
    async with opened(agent(work), oversight="on_the_loop") as sup:
        waiting = await sup.start("Q", plan=plan("a", {"id": "b", "required": False}))
        [question] = waiting.approvals
        run = await answered(sup, waiting, {"type": "approve"})

    assert statuses(waiting) == {"a": "parked", "b": "skipped"}
    assert (question.action, question.reason) == ("accept failure", "consecutive failures: 3 (limit 3)")
    assert [trigger.trigger for trigger in question.triggers] == ["failures"]
    assert (run.status, statuses(run)) == ("failed", {"a": "failed", "b": "skipped"})


async def test_tasks_that_an_agent_fails_at_the_same_time_are_one_failure_in_the_row() -> None:
    work = Turns(AgentFailed("it broke", "permanent"))
    async with opened(agent(work), failure_threshold={"default": 1.0}) as sup:
        run = await sup.start("Q", plan=plan("a", "b", "c", "d"))

    assert run.status == "failed"
    assert statuses(run) == dict.fromkeys("abcd", "failed")


async def test_a_task_that_asks_for_nobody_in_particular_is_never_out_of_scope() -> None:
    async with opened(agent(name="bob", role="baker")) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.status == "complete"


async def test_a_success_in_between_ends_the_row() -> None:
    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id != "c":
            raise AgentFailed("it broke", "permanent")
        return "Fine."

    async with opened(agent(work), max_parallel=1, failure_threshold={"default": 1.0}) as sup:
        run = await sup.start("Q", plan=plan("a", "b", "c", "d", "e"))

    assert (run.status, run.approvals) == ("partial", [])


async def test_a_failure_that_is_accepted_stays_one() -> None:
    work = Turns(AgentFailed("it broke", "permanent"))
    async with opened(agent(work), consecutive_failures=1) as sup:
        run = await answered(sup, await sup.start("Q", plan=plan("a")), True)

    assert (run.status, statuses(run)) == ("failed", {"a": "failed"})


async def test_an_agent_that_comes_to_no_decision_in_time_calls_a_human() -> None:
    async def work(brief: Brief, desk: Any) -> str:
        while True:
            await desk.pause_point()

    async with opened(agent(work), max_attempts=1, decision_timeout_s=0.01) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        run = await answered(sup, waiting, {"type": "edit", "args": {"result": "By hand."}})

    assert waiting.approvals[0].reason == "no decision within 0.01 seconds"
    assert run.tasks[0].result == "By hand."


async def test_an_agents_own_time_limit_is_a_failure_like_any_other() -> None:
    async def work(brief: Brief, desk: Any) -> str:
        while True:
            await desk.pause_point()

    slow = agent(work, limits=Limits(timeout_s=0.01))
    async with opened(slow, max_attempts=1, decision_timeout_s=60) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, run.tasks[0].error) == ("failed", "no result within 0.01 seconds")


async def test_a_result_that_cost_too_much_tells_all_that_fired_the_highest_first() -> None:
    async with opened(agent(Turns({"result": "Gold.", "cost": 1.5, "confidence": 0.5}))) as sup:
        waiting = await sup.start("Q", plan=plan("a"))

    [question] = waiting.approvals
    assert question.reason == "cost exceeds limit: $1.50 > $1.00; confidence too low: 0.50 < 0.60"
    assert (question.priority, question.risk) == ("high", "high")


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ({"id": "a", "action": "send the letter"}, "sensitive operation requires approval: send the letter"),
        ({"id": "a", "role": "plumber"}, "out of scope: nobody fits, ada scores 0.06 (at least 0.30)"),
    ],
)
async def test_a_function_is_asked_about_before_it_does_what_is_sensitive_or_out_of_scope(
    task: dict[str, Any], reason: str
) -> None:
    work = Turns("Done.")
    async with opened(agent(work)) as sup:
        waiting = await sup.start("Q", plan=plan(task))
        before = list(work.tasks)
        [question] = waiting.approvals
        run = await answered(sup, waiting, {"type": "edit", "args": {"description": "Do less."}})

    assert (question.subject, question.reason, waiting.tasks[0].marks) == ("task", reason, [reason])
    assert (before, run.status, work.briefs[0].task.description) == ([], "complete", "Do less.")


async def test_a_task_that_a_human_does_not_allow_fails_and_an_optional_one_is_skipped() -> None:
    work = Turns("Done.")
    optional = {"id": "b", "action": "publish", "required": False}
    async with opened(agent(work)) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "action": "publish"}, optional, "c"))
        answers: dict[str, JsonValue] = {question.id: "no, not now" for question in waiting.approvals}
        run = await sup.answer(waiting.thread_id, answers, by="ana")

    assert statuses(run) == {"a": "failed", "b": "skipped", "c": "done"}
    assert run.tasks[0].error == "ana did not allow task a: not now"
    assert work.tasks == ["c"]


def mailer(sent: list[str], **metadata: Any) -> Any:
    @tool
    async def mail_out(to: str) -> str:
        """Mail it."""
        sent.append(to)
        return f"mailed to {to}"

    mail_out.metadata = metadata
    return mail_out


MAIL = {"name": "mail_out", "args": {"to": "bob"}, "id": "c1"}


async def test_a_sensitive_task_with_a_tool_is_asked_about_once_when_its_arguments_are_known() -> None:
    sent: list[str] = []
    spec = AgentSpec(name="ada", role="generalist", tools=[mailer(sent, sensitive=True)])
    async with opened(spec, model=ScriptedModel([MAIL, "Done."]), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "action": "send mail out"}))
        run = await answered(sup, waiting, True)

    assert waiting.tasks[0].marks == ["sensitive operation requires approval: send mail out"]
    assert [(q.subject, q.args) for q in waiting.approvals] == [("action", {"to": "bob"})]
    assert (run.status, sent) == ("complete", ["bob"])


async def test_an_action_that_no_tool_can_do_is_out_of_scope() -> None:
    spec = AgentSpec(name="ada", role="generalist", tools=[mailer([])])
    async with opened(spec, model=ScriptedModel(["Done."])) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "action": "deploy"}))

    assert waiting.approvals[0].reason == "out of scope: no tool of ada can do 'deploy'"


async def test_in_command_the_plan_every_task_and_every_action_wait() -> None:
    sent: list[str] = []
    spec = AgentSpec(name="ada", role="generalist", tools=[mailer(sent)])
    model = ScriptedModel([MAIL, "Done."])
    asked: list[str] = []
    async with opened(spec, model=model, max_iterations=0, oversight="in_command") as sup:
        run = await sup.start("Q", plan=plan("a"))
        while run.status == "waiting":
            asked += [question.subject for question in run.approvals]
            assert sent == []
            run = await answered(sup, run, True)

    assert asked == ["plan", "task", "action"]
    assert (run.status, sent) == ("complete", ["bob"])


@pytest.mark.parametrize(
    ("metadata", "status"),
    [({"sensitive": True}, "complete"), ({"cost": 9.0}, "complete"), ({"risk": "critical"}, "waiting")],
)
async def test_on_the_loop_only_what_is_critical_waits_and_the_rest_is_on_record(
    metadata: dict[str, Any], status: str
) -> None:
    sent: list[str] = []
    spec = AgentSpec(name="ada", role="generalist", tools=[mailer(sent, **metadata)])
    async with opened(spec, model=ScriptedModel([MAIL, "Done."]), max_iterations=0, oversight="on_the_loop") as sup:
        run = await sup.start("Q", plan=plan("a"))
        done = [(action, door) for action, _, door in await noted(sup, run)]

    assert run.status == status
    assert done == ([("mail_out", "on_the_loop")] if status == "complete" else [])
    assert bool(sent) is (status == "complete")


async def test_on_the_loop_an_uncertain_result_counts_and_is_on_record() -> None:
    async with opened(agent(Turns(UNSURE)), oversight="on_the_loop") as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "action": "publish"}))
        done = await noted(sup, run)

    assert run.status == "complete"
    assert [(action, reason) for action, reason, _ in done] == [
        ("publish", "sensitive operation requires approval: publish"),
        ("accept result", "confidence too low: 0.40 < 0.60"),
    ]


async def test_on_the_loop_failures_in_a_row_still_call_a_human() -> None:
    work = Turns(AgentFailed("it broke", "permanent"))
    async with opened(agent(work), oversight="on_the_loop", consecutive_failures=1) as sup:
        waiting = await sup.start("Q", plan=plan("a"))

    assert waiting.approvals[0].action == "accept failure"


HALF_AN_HOUR = 1800.0


@pytest.mark.parametrize(
    ("oversight", "metadata", "risk"),
    [
        ("in_the_loop", {"cost": 9.0}, "high"),
        ("in_the_loop", {"cost": 9.0, "risk": "medium"}, "medium"),
        ("in_command", {}, "medium"),
        ("in_command", {"risk": "low"}, "medium"),
        ("in_command", {"sensitive": True}, "high"),
        ("in_the_loop", {"risk": " CRITICAL"}, "critical"),
        ("in_the_loop", {"risk": "severe"}, "critical"),
        ("on_the_loop", {"risk": 9}, "critical"),
        ("in_command", {"risk": "High"}, "high"),
    ],
)
async def test_what_a_tool_costs_or_says_of_its_risk_is_not_done_when_nobody_answers(
    oversight: str, metadata: dict[str, Any], risk: str
) -> None:
    sent: list[str] = []
    clock = HeldClock()
    spec = AgentSpec(name="ada", role="generalist", tools=[mailer(sent, **metadata)])
    model = ScriptedModel([MAIL, "Done."])
    async with opened(spec, model=model, clock=clock, max_iterations=0, oversight=oversight) as sup:
        run = await sup.start("Q", plan=plan("a"))
        while run.approvals[0].subject != "action":  # in command the plan and the task wait, too
            run = await answered(sup, run, True)
        clock.time += HALF_AN_HOUR
        ended = await sup.resume(run.thread_id)

    assert ([question.risk for question in run.approvals], ended.approvals) == ([risk], [])
    assert sent == []


async def test_in_command_silence_is_a_no_at_every_step() -> None:
    clock, work = HeldClock(), Turns(UNSURE)

    async def asks(brief: Brief, desk: Any) -> str:
        return str((await desk.ask("launch", risk="low")).type)

    team = [agent(work), agent(asks, "bob", "asker")]
    tasks = plan("a", {"id": "b", "role": "asker"}, "c")
    async with opened(*team, clock=clock, max_iterations=0, oversight="in_command") as sup:
        begin = await answered(sup, await sup.start("Q", plan=tasks), True)
        go = {question.id: True for question in begin.approvals if question.task_id != "c"}
        run = await sup.answer(begin.thread_id, go, by="ana")
        clock.time += HALF_AN_HOUR
        ended = await sup.resume(run.thread_id)

    assert {(question.action, question.risk) for question in [*begin.approvals, *run.approvals]} == {
        ("begin task", "medium"),
        ("accept result", "medium"),
        ("launch", "medium"),
    }
    assert ended.approvals == []
    assert (statuses(ended)["a"], statuses(ended)["c"]) == ("failed", "failed")
    assert ended.tasks[1].result == "reject"


async def test_a_substitute_is_asked_about_where_it_has_no_tool_for_the_action() -> None:
    broken = Turns(RuntimeError("broke"))
    team = [agent(broken), AgentSpec(name="bo", role="other", skills=Skills(kinds={"general": 0.9}))]
    model = ScriptedModel(["Deployed."])
    async with opened(*team, model=model, max_attempts=1, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "action": "deploy"}))
        [question] = waiting.approvals
        before = len(model.calls)
        refused = await sup.answer(waiting.thread_id, "no, leave it", by="ana")

        again = await sup.start("Q", thread_id="again", plan=plan({"id": "a", "action": "deploy"}))
        allowed = await answered(sup, again, {"type": "edit", "args": {"description": "Deploy less."}})

    assert (question.agent, question.subject, question.reason) == (
        "bo",
        "task",
        "out of scope: no tool of bo can do 'deploy'",
    )
    assert (before, refused.tasks[0].status) == (0, "failed")
    assert refused.tasks[0].error == "ana did not allow bo to take over: leave it"
    assert (allowed.tasks[0].agent, allowed.tasks[0].result) == ("bo", "Deployed.")
    said = str(model.calls[0].messages)
    assert "Deploy less." in said
    assert "ada stopped: RuntimeError: broke" in said


@pytest.mark.parametrize("way", ["substitute", "escalation"])
async def test_a_function_that_takes_over_does_not_act_unasked_where_the_tool_would_have_asked(way: str) -> None:
    work = Turns("Mailed.")
    first: dict[str, Any] = {"escalate_to": "bo"} if way == "escalation" else {}
    team = [
        AgentSpec(name="ada", role="generalist", tools=[mailer([], sensitive=True)], **first),
        agent(work, "bo", "other", skills={"kinds": {"general": 0.9}}),
    ]
    async with opened(*team, model=ScriptedModel([ValueError("broke")]), max_attempts=1, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "action": "send mail out"}))
        before = list(work.tasks)
        run = await answered(sup, waiting, True)

    assert [(q.agent, q.reason) for q in waiting.approvals] == [
        ("bo", "sensitive operation requires approval: send mail out")
    ]
    assert (before, work.tasks, run.tasks[0].result) == ([], ["a"], "Mailed.")


async def test_what_was_allowed_at_the_start_is_not_asked_again_of_a_substitute() -> None:
    team = [agent(Turns(RuntimeError("broke"))), agent(name="bo", role="other", skills={"kinds": {"general": 0.9}})]
    async with opened(*team, max_attempts=1) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "action": "publish"}))
        run = await answered(sup, waiting, True)

    assert (run.status, run.tasks[0].agent) == ("complete", "bo")
