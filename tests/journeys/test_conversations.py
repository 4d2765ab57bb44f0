"""A thread is a conversation: a request on a thread whose run has ended is a follow-up, whoever thinks."""

from nodes.llm.scripted import Call, ScriptedModel
from state.agent import AgentSpec
from state.replies import PlanDraft, TaskDraft
from tests.runs import Turns, agent, opened, plan

SHORTER = PlanDraft(tasks=[TaskDraft(id="w", description="Say in a line what Eino and Dapr cost.")], complexity=0.1)
WRITER = AgentSpec(name="gen", role="generalist")


def seen(call: Call) -> str:
    return str(call.messages[1].text)


async def test_planner_and_workers_have_the_last_question_and_its_answer_in_view() -> None:
    model = ScriptedModel([SHORTER, "Both are free."])
    async with opened(agent(Turns("Eino is free. Dapr is free.")), WRITER, model=model, max_iterations=0) as sup:
        await sup.start("What do Eino and Dapr cost?", plan=plan({"id": "a", "role": "ada"}), thread_id="t")
        run = await sup.start("shorter", thread_id="t")
        await sup.start("What is new?", plan=plan({"id": "a", "role": "ada"}), thread_id="another")

    planner, worker = model.calls
    section = (
        '<earlier request="What do Eino and Dapr cost?" status="complete">\nEino is free. Dapr is free.\n</earlier>\n\n'
        "<request>\nshorter\n</request>"
    )
    assert "Sections `earlier` hold what was asked and answered before" in str(planner.messages[0].text)
    assert seen(planner).startswith(section)
    assert seen(worker).startswith(section)
    assert (run.status, run.query, run.tasks[0].result) == ("complete", "shorter", "Both are free.")
