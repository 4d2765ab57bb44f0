"""What a function returns becomes an outcome, or a failure of the class that decides whether it is tried again."""

from typing import Any

import pytest

from graph.testing import HeldClock
from nodes.policy.confidence import UNREAD, split_confidence
from state.errors import AgentFailed
from state.run import Run, TaskView
from tests.runs import Turns, agent, opened, plan


async def run_of(returned: object) -> tuple[Run, TaskView]:
    """The run of one task whose agent returns this, once."""
    async with opened(agent(Turns(returned)), max_attempts=1) as sup:
        run = await sup.start("Q", plan=plan("a"))
    return run, run.tasks[0]


@pytest.mark.parametrize("returned", ["text", 3, 0, False, [1, "b"], {"n": 1, "list": [None]}, {"result": {"n": 1}}])
async def test_any_plain_json_is_a_result(returned: Any) -> None:
    expected = returned["result"] if isinstance(returned, dict) and "result" in returned else returned
    run, task = await run_of(returned)

    assert (run.status, task.result) == ("complete", expected)


@pytest.mark.parametrize(
    ("returned", "result"),
    [
        ("caf\udce9", "caf\ufffd"),
        ({"caf\udce9": ["a\ud800b", 1]}, {"caf\ufffd": ["a\ufffdb", 1]}),
        ("\ud83d\ude00", "\U0001f600"),
    ],
)
async def test_what_is_no_text_in_a_result_is_replaced(returned: Any, result: Any) -> None:
    run, task = await run_of(returned)

    assert (run.status, task.result) == ("complete", result)


async def test_a_mapping_with_an_outcomes_keys_is_an_outcome() -> None:
    run, task = await run_of({"result": "So.", "confidence": 0.7, "cost": 0.25})

    assert (task.result, task.confidence, run.usage.cost) == ("So.", 0.7, 0.25)


@pytest.mark.parametrize(
    ("returned", "complaint"),
    [
        (None, "returned nothing"),
        ({"confidence": 0.5}, "returned nothing"),
        (object(), "not an outcome"),
        ({"result": {1, 2}}, "not an outcome"),
        (b"bytes", "not an outcome"),
        ({"result": "So.", "confidence": 7.0}, "confidence: Input should be less than or equal to 1"),
        ({"result": "So.", "confidence": "sure"}, "confidence"),
        ({"result": "So.", "artifacts": ["a.txt"]}, "artifacts"),
        ({"result": "So.", "cost": -5}, "cost: -5.0 is no price"),
        ({"result": "So.", "cost": "-5"}, "cost: -5.0 is no price"),
        ({"result": "So.", "cost": float("nan")}, "cost: nan is no price"),
        ({"failed": "no data"}, "no data"),
        ({"failed": "caf\udce9"}, "caf\ufffd"),
        ({"failed": "no data", "result": "half"}, "no data"),
    ],
)
async def test_what_is_no_outcome_is_a_failure_with_its_reason(returned: object, complaint: str) -> None:
    run, task = await run_of(returned)

    assert (run.status, task.status) == ("failed", "failed")
    assert complaint in (task.error or "")
    assert "\n" not in (task.error or "")


@pytest.mark.parametrize("error", [TypeError("x"), NameError("x"), AttributeError("x"), NotImplementedError("x")])
async def test_a_defect_in_the_code_is_not_tried_again(error: Exception) -> None:
    work = Turns(error)
    async with opened(agent(work)) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert len(work.briefs) == 1
    assert run.tasks[0].error == f"{type(error).__name__}: x"


@pytest.mark.parametrize(
    "turn",
    [RuntimeError("net"), {"failed": "no"}, None, {"result": "x", "confidence": 7.0}, AgentFailed("x", "transient")],
)
async def test_what_may_pass_is_tried_three_times_with_a_growing_pause(turn: object) -> None:
    work, clock = Turns(turn), HeldClock()
    async with opened(agent(work), clock=clock, consecutive_failures=4) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (len(work.briefs), run.tasks[0].attempts, run.status) == (3, 3, "failed")
    assert clock.slept == [0.5, 1.0]


async def test_a_function_that_is_not_async_works_too() -> None:
    def plain(brief: Any, desk: Any) -> str:
        return "done without await"

    async with opened(agent(plain)) as sup:  # type: ignore[arg-type]
        run = await sup.start("Q", plan=plan("a"))

    assert run.tasks[0].result == "done without await"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So.\nConfidence: 0.8", ("So.", 0.8)),
        ("So.\n**Confidence:** 80%", ("So.", 0.8)),
        ("So.\nconfidence = 85", ("So.", 0.85)),
        ("So.\nConfidence: 1", ("So.", 1.0)),
        ("So.\nConfidence: 0", ("So.", 0.0)),
        ("So.\nConfidence: 101", ("So.", UNREAD)),
        ("So.\nConfidence: high", ("So.", 0.85)),
        ("Confidence: 0.8\nSo.", ("So.", 0.8)),
        ("So.\nConfidence: .9", ("So.", 0.9)),
        ("So.\nConfidence: 0,9", ("So.", 0.9)),
        ("So.\nConfidence: 9/10", ("So.", 0.9)),
        ("So.\nConfidence: 8 out of 10", ("So.", 0.8)),
        ("So.\nConfidence: 90 %", ("So.", 0.9)),
        ("So.\nConfidence: 0.2 (not sure)", ("So.", 0.2)),
        ("So.\nConfidence: low", ("So.", 0.3)),
        ("So.\nConfidence: **very high**", ("So.", 0.95)),
        ("So.\nConfidence: not high", ("So.", UNREAD)),
        ("So.\nConfidence: N/A", ("So.", UNREAD)),
        ("So.\nConfidence: -0.5", ("So.", UNREAD)),
        ("So.\nMy confidence is 0.4", ("So.", 0.4)),
        ("So.\nOverall confidence level = 70 %", ("So.", 0.7)),
        ("So.\n## Confidence\n\n0.8", ("So.", 0.8)),
        ("So [a.md#L1]. Confidence: 0.8", ("So [a.md#L1].", 0.8)),
        ("So.\nConfidence: 0.8\n\nThat is all.", ("So.\n\nThat is all.", 0.8)),
        ("Confidence intervals are 95 % wide.", ("Confidence intervals are 95 % wide.", None)),
        ("Confidence in it is high, they say.", ("Confidence in it is high, they say.", None)),
        ("So.", ("So.", None)),
        ("", ("", None)),
    ],
)
def test_a_line_may_say_how_sure_it_is_in_any_usual_form(text: str, expected: tuple[str, float | None]) -> None:
    assert split_confidence(text) == expected
