"""The worker graph: a model and its tools, until there is a result. Tried through the facade."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, InvalidToolCall, ToolMessage
from langchain_core.tools import BaseTool, tool

from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Limits
from state.errors import ModelRejected, ModelUnavailable, ToolRefused
from state.run import Run
from tests.runs import agent, opened, plan

SUM = {"name": "calculate", "args": {"expression": "6 * 7"}}


def thinker(*tools: str | BaseTool, name: str = "ada", **fields: Any) -> AgentSpec:
    return AgentSpec(name=name, role="generalist", tools=list(tools or ["calculate"]), **fields)


async def run_with(model: ScriptedModel, *team: AgentSpec, clock: HeldClock | None = None, **policy: Any) -> Run:
    async with opened(*(team or (thinker(),)), model=model, clock=clock, max_iterations=0, **policy) as sup:
        return await sup.start("What is the answer?", plan=plan("a"))


def told(model: ScriptedModel, call: int = -1) -> list[str]:
    """What the tools told the model before a call."""
    return [str(message.text) for message in model.calls[call].messages if isinstance(message, ToolMessage)]


async def test_it_calls_tools_until_it_answers() -> None:
    model = ScriptedModel(
        [SUM, [SUM, {"name": "calculate", "args": {"expression": "1+1"}}], "It is 42.\nConfidence: 0.9"]
    )
    run = await run_with(model)

    assert (run.status, run.tasks[0].result, run.tasks[0].confidence) == ("complete", "It is 42.", 0.9)
    assert told(model) == ["6 * 7 = 42", "6 * 7 = 42", "1+1 = 2"]
    assert run.usage.calls == 3


async def test_it_is_told_who_it_is_and_what_to_do_with_what() -> None:
    model = ScriptedModel({'<task id="b"': ["B!"], '<task id="a"': ["A is 7."]})
    spec = thinker(specialty="numbers", tendency="careful", instructions="Be brief.")
    async with opened(spec, model=model, max_iterations=0) as sup:
        await sup.start("How many?", plan=plan("a", "b <- a"))
    system, human = (str(message.text) for message in model.calls[1].messages)

    for part in ("You are ada, the generalist", "Your specialty is numbers.", "working: careful.", "Be brief."):
        assert part in system
    for part in ("<request>\nHow many?\n</request>", "Do b.", '<input task="a">\nA is 7.\n</input>'):
        assert part in human
    assert model.calls[1].tools == ["calculate"]


async def test_a_tool_it_does_not_have_is_named_to_it() -> None:
    model = ScriptedModel([{"name": "hammer", "args": {}}, "Then not."])
    run = await run_with(model)

    assert told(model) == ["there is no tool 'hammer'; you have: calculate"]
    assert run.tasks[0].result == "Then not."


async def test_arguments_that_do_not_fit_are_explained_to_it() -> None:
    model = ScriptedModel([{"name": "calculate", "args": {"formula": "1"}}, "Then not."])
    await run_with(model)

    assert told(model)[0].startswith("calculate cannot take these arguments: expression: Field required")


async def test_arguments_that_are_no_json_are_returned_to_it() -> None:
    broken = InvalidToolCall(name="calculate", args='{"expr', id="c1", error="cut", type="invalid_tool_call")
    model = ScriptedModel([AIMessage("", invalid_tool_calls=[broken]), "Then not."])
    run = await run_with(model)

    assert told(model) == ['the arguments are no JSON object: {"expr; call again']
    assert run.status == "complete"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ToolRefused("take another file"), "take another file"),
        (RuntimeError("disk on fire"), "burn failed: RuntimeError: disk on fire"),
    ],
)
async def test_what_goes_wrong_in_a_tool_is_for_the_model_to_read(error: Exception, said: str) -> None:
    @tool
    async def burn() -> str:
        """Burn it."""
        raise error

    model = ScriptedModel([{"name": "burn", "args": {}}, "Then not."])
    run = await run_with(model, thinker(burn))

    assert told(model) == [said]
    assert run.status == "complete"


async def test_a_very_long_tool_result_is_cut() -> None:
    @tool
    async def babble() -> str:
        """Talk."""
        return "x" * 60_000

    model = ScriptedModel([{"name": "babble", "args": {}}, "Enough."])
    await run_with(model, thinker(babble))

    assert len(told(model)[0]) < 51_000
    assert told(model)[0].endswith("cut here; ask for less at a time")


async def test_at_its_limit_of_model_calls_it_answers_with_what_it_has() -> None:
    model = ScriptedModel([SUM, SUM, "Perhaps 42.\nConfidence: 0.9"])
    run = await run_with(model, thinker(limits=Limits(iterations=3)))
    task = run.tasks[0]

    assert str(task.result).startswith("Perhaps 42.")
    assert "stopped early: it reached its limit of 3 model calls" in str(task.result)
    assert task.confidence == 0.5
    assert (model.calls[2].tools, run.usage.calls) == ([], 3)
    assert "last turn" in str(model.calls[2].messages[-1].text)


async def test_who_calls_tools_without_end_is_tried_once_and_says_what_they_found() -> None:
    model = ScriptedModel(
        {lambda _: True: lambda messages, _: {"name": "calculate", "args": {"expression": f"{len(messages)}+1"}}}
    )
    other = thinker().model_copy(update={"name": "bob"})
    async with opened(thinker(limits=Limits(iterations=5)), other, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, len(model.calls), run.tasks[0].attempts) == ("failed", 5, 1)
    assert str(run.tasks[0].error).startswith("it reached 5 calls without an answer; its tools found calculate: ")
    assert run.report is not None
    assert "without an answer; its tools found calculate: " in run.report


async def test_a_declared_failure_is_tried_again_and_then_is_one() -> None:
    model = ScriptedModel(["FAILED: the sources say nothing", "failed: still nothing", "FAILED: no"])
    run = await run_with(model, consecutive_failures=4)

    assert (run.status, run.tasks[0].error, run.tasks[0].attempts) == ("failed", "no", 3)
    assert run.usage.calls == 3


async def test_an_empty_answer_is_no_answer() -> None:
    run = await run_with(ScriptedModel(["", "", "Here."]))

    assert (run.tasks[0].result, run.tasks[0].attempts) == ("Here.", 3)


async def test_an_answer_that_is_only_an_artifact_is_one() -> None:
    model = ScriptedModel([{"name": "write", "args": {"name": "a.txt", "content": "x"}}, ""])
    run = await run_with(model, thinker("write"))

    assert (run.status, [artifact.name for artifact in run.artifacts]) == ("complete", ["a.txt"])
    assert run.artifacts[0].task_id == "a"


async def test_a_model_that_is_busy_is_asked_again_where_the_conversation_stands() -> None:
    used: list[str] = []

    @tool
    async def pay(amount: str) -> str:
        """Spend it."""
        used.append(amount)
        return "paid"

    model = ScriptedModel([{"name": "pay", "args": {"amount": "5"}}, ModelUnavailable("busy"), "Paid 5."])
    clock = HeldClock()
    run = await run_with(model, thinker(pay), clock=clock, oversight="on_the_loop")

    assert (run.tasks[0].result, run.tasks[0].attempts) == ("Paid 5.", 2)
    assert used == ["5"]
    assert clock.slept == [0.5]
    assert told(model) == ["paid"]
    assert run.usage.calls == 3


async def test_a_model_that_stays_busy_fails_the_task_after_three_tries() -> None:
    model = ScriptedModel([ModelUnavailable(f"busy {n}") for n in range(9)])
    run = await run_with(model, consecutive_failures=4)

    assert (run.status, run.tasks[0].error, len(model.calls)) == ("failed", "busy 2", 3)


async def test_a_model_that_rejects_the_request_is_not_asked_again() -> None:
    model = ScriptedModel({lambda text: True: ModelRejected("check the key")})
    run = await run_with(model, thinker(), thinker(name="bo"))

    assert (run.status, run.tasks[0].error, len(model.calls)) == ("failed", "check the key", 1)


async def test_after_a_rejection_an_agent_on_another_model_takes_over() -> None:
    model = ScriptedModel({lambda text: True: ModelRejected("check the key")})
    other = ScriptedModel(["Done elsewhere."])
    run = await run_with(model, thinker(skills=["general"]), thinker(name="bo", model=other))

    assert (run.tasks[0].result, run.tasks[0].agent) == ("Done elsewhere.", "bo")


async def test_an_agent_thinks_with_a_model_of_its_own() -> None:
    own = ScriptedModel(["Mine."])
    run = await run_with(ScriptedModel([]), thinker(model=own))

    assert (run.tasks[0].result, len(own.calls)) == ("Mine.", 1)


async def test_beside_models_functions_do_their_part() -> None:
    model = ScriptedModel({'<task id="a"': ["Thought."]})
    async with opened(thinker(), agent(name="fn", role="machine"), model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a", {"id": "b", "role": "machine", "depends_on": ["a"]}))

    assert [(task.agent, task.result) for task in run.tasks] == [("ada", "Thought."), ("fn", "b is done")]


async def test_what_is_no_text_in_a_models_replies_and_in_what_tools_return_is_replaced() -> None:
    @tool
    def look(place: str) -> str:
        """Look."""
        return f"{place}: \udce9"

    model = ScriptedModel([{"name": "look", "args": {"place": "\ud800"}, "id": "c1"}, "So \ud800."])
    team = AgentSpec(name="ada", role="generalist", tools=[look])
    async with opened(team, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, run.tasks[0].result) == ("complete", "So \ufffd.")
    assert model.calls[-1].messages[-1].text == "\ufffd: \ufffd"
