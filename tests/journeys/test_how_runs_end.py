"""How runs end, as one table: status, exit code, what is in doubt, events, warnings, and a report of what was done."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from langchain_core.messages import AIMessage
from pydantic import JsonValue

from graph.app import build_supervisor
from graph.cli.result import report_result
from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.errors import AgentFailed
from state.record import DoubtKind
from state.replies import PlanDraft, Review, TaskDraft, Verdict
from state.run import Run
from state.signal import Takeover
from tests.runs import agent, opened, plan

THREAD = "t"
ADA = AgentSpec(name="ada", role="generalist")
"""Works with the scripted model."""
REVIEWS, PLANS, DOES_A = "You review the results", "You are the supervisor of a team", '<task id="a"'
NO = Review(verdicts=[Verdict(task_id="a", accept=False, feedback="Say which year.")])
YES = Review(verdicts=[Verdict(task_id="a")])
SILENT_NO = Review(verdicts=[Verdict(task_id="a", accept=False)])
DRAFT = PlanDraft(tasks=[TaskDraft(id="a", description="Do a.")])
NO_TO_A = Review(verdicts=[*NO.verdicts, Verdict(task_id="b")])
CUT = AIMessage("It grew from 2019 to", response_metadata={"finish_reason": "length"})


async def works(brief: Brief, desk: Desk) -> object:
    """Does what its task is called for."""
    if brief.task.id.startswith("broken"):
        raise AgentFailed("it broke", "permanent")
    if brief.task.id == "unsure":
        return {"result": "It may have grown.", "confidence": 0.3}
    return f"result of {brief.task.id}"


Then = Callable[[Supervisor, Run, HeldClock], Awaitable[Run]]


async def answered(sup: Supervisor, run: Run, answer: JsonValue) -> Run:
    assert run.status == "waiting"
    return await sup.answer(THREAD, {run.approvals[0].id: answer}, by="ana")


async def nothing(sup: Supervisor, run: Run, clock: HeldClock) -> Run:
    return run


async def refused(sup: Supervisor, run: Run, clock: HeldClock) -> Run:
    return await answered(sup, run, False)


async def replaced(sup: Supervisor, run: Run, clock: HeldClock) -> Run:
    return await answered(sup, run, {"type": "edit", "args": {"result": "It grew by half."}})


async def done_by_hand(sup: Supervisor, run: Run, clock: HeldClock) -> Run:
    await sup.signal(THREAD, Takeover(by="ana"))
    return await sup.hand_back(THREAD, {"p": "published by hand"}, by="ana")


async def nobody_answered(sup: Supervisor, run: Run, clock: HeldClock) -> Run:
    assert run.status == "waiting"
    clock.time += 1801
    return await sup.resume(THREAD)


@dataclass(frozen=True)
class Story:
    """A run, and how it ends."""

    tasks: Any
    status: str
    code: int
    doubts: tuple[str, ...] = ()
    error: str | None = None
    report: str = "result of a"
    script: Any = None
    """What the model of the agent plays; without one the agent is a function."""
    then: Then = nothing
    policy: tuple[tuple[str, Any], ...] = ()
    is_over: bool = True
    """Whether there is nothing left to go on with."""


BROKEN, OPTIONAL = {"id": "broken"}, {"id": "broken", "required": False}
PUBLISH = {"id": "p", "action": "publish", "depends_on": ["a"]}
WRITES: dict[Any, Any] = {REVIEWS: YES, DOES_A: "It grew."}
UNSURE = "ada is not sure of unsure: confidence 0.30, below 0.60"

STORIES = {
    "all is done": Story(plan("a"), "complete", 0),
    "required work is undone": Story(plan("a", BROKEN), "partial", 6, error="not done: broken (it broke)"),
    "required work is undone, a part builds on it": Story(
        plan("a", "b", "broken <- a", "on <- broken"), "partial", 6, error="not done: broken (it broke), on"
    ),
    "required work is refused": Story(
        plan("a", PUBLISH), "partial", 6, error="not done: p (ana did not allow task p)", then=refused
    ),
    "required work is refused, and that is to fail the run": Story(
        plan("a", PUBLISH), "failed", 1, error="ana did not allow task p", then=refused, policy=(("on_reject", "fail"),)
    ),
    "work is built on an optional failure": Story(plan(OPTIONAL, "a <- broken"), "complete", 0),
    "work is built on what others had to do": Story(
        plan("x", "y", BROKEN, "a <- broken"), "partial", 6, error="not done: broken", report="result of x"
    ),
    "too much fails": Story(plan("a", "broken", "broken2", "broken3"), "failed", 1, error="at 3 the run stops"),
    "nothing is delivered": Story(plan(OPTIONAL), "failed", 1, error="no task delivered", report="it broke"),
    "a human does what is in doubt": Story(plan("unsure"), "complete", 0, report="It grew by half.", then=replaced),
    "a human does required work": Story(
        plan("a", PUBLISH), "complete", 0, report="published by hand", then=done_by_hand
    ),
    "nobody answers": Story(plan("unsure"), "complete", 0, ("silence",), report="may have", then=nobody_answered),
    "nobody is asked": Story(
        plan("unsure"), "complete", 0, ("confidence",), report=UNSURE, policy=(("oversight", "on_the_loop"),)
    ),
    "a reviewer is never content": Story(
        plan("a", complexity=0.8),
        "partial",
        6,
        ("refused",),
        error="not accepted by the reviewer: a (Say which year.)",
        report="It grew.",
        script={**WRITES, REVIEWS: NO},
    ),
    "a reviewer is never content with what is not required": Story(
        plan({"id": "a", "required": False}, complexity=0.8),
        "complete",
        0,
        ("refused",),
        report="`a` (not accepted)",
        script={**WRITES, REVIEWS: NO},
    ),
    "a reviewer does not say why": Story(
        plan("a"), "complete", 0, ("refused",), report="It grew.", script={**WRITES, REVIEWS: SILENT_NO}
    ),
    "the rework is looked at, too": Story(
        plan("a", "b <- a", complexity=0.4),
        "partial",
        6,
        ("refused",),
        error="not accepted by the reviewer: a",
        report="Both.",
        script={**WRITES, REVIEWS: NO_TO_A, '<task id="b"': "Both."},
    ),
    "a reviewer passes over a result": Story(
        plan("a", "b"),
        "complete",
        0,
        ("unreviewed",),
        report="the reviewer gave no verdict on b",
        script={**WRITES, '<task id="b"': "So.", "You put the findings": "Both."},
    ),
    "a reviewer cannot be read": Story(
        plan("a"), "complete", 0, ("unreviewed",), report="It grew.", script={**WRITES, REVIEWS: "Nice work!"}
    ),
    "an answer is cut off, and gone on with": Story(
        plan("a"), "complete", 0, report="It grew from 2019 to 2024.", script={**WRITES, DOES_A: [CUT, "2024."]}
    ),
    "an answer has no end": Story(
        plan("a"), "complete", 0, ("limited",), report="It grew from 2019 to", script={**WRITES, DOES_A: CUT}
    ),
    "a plan cannot be read": Story(
        None,
        "failed",
        1,
        error="no usable plan draft in 3 replies",
        report="0 of 0 tasks",
        script={PLANS: "Hello!"},
        is_over=False,
    ),
    "a plan cannot be paid": Story(
        None, "failed", 1, error="is used up", report="0 of 0", script={PLANS: DRAFT}, policy=(("token_budget", 9),)
    ),
    "the budget ends first": Story(
        plan("a", "b <- a"),
        "partial",
        6,
        error="the token_budget of 3000 is used up",
        report="It grew.",
        script=ScriptedModel({**WRITES}, usage=(2900, 50)),
        policy=(("token_budget", 3000), ("max_iterations", 0)),
    ),
}


@pytest.mark.parametrize("name", STORIES)
async def test_a_run_ends_as_it_should(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story, clock = STORIES[name], HeldClock()
    script = story.script if isinstance(story.script, ScriptedModel) else ScriptedModel(story.script or [])
    team = ADA if story.script else agent(works)
    async with opened(team, model=script, clock=clock, **dict(story.policy)) as sup:
        run = await story.then(sup, await sup.start("Q", thread_id=THREAD, plan=story.tasks), clock)
        events = [event for event in await sup.events(THREAD) if event.kind in ("result_doubted", "run_finished")]
    code = report_result(run, tmp_path / "report.md", db=None, as_json=False)
    said = capsys.readouterr().err

    assert (run.status, code, tuple(doubt.kind for doubt in run.doubts)) == (story.status, story.code, story.doubts)
    assert (story.error or "") in (run.error or "")
    assert (run.has_ended, run.hint) == (story.is_over, [] if story.is_over else ["resume"])
    assert (run.error is None) == (story.error is None)
    assert story.report in (run.report or "")
    assert [event.data.get("doubt") for event in events[: len(run.doubts)]] == list(story.doubts)
    assert [event.data["status"] for event in events if event.kind == "run_finished"] == [run.status] * run.has_ended
    assert run.warnings == [doubt.said for doubt in run.doubts]
    made = (run.report or "").rpartition("## How this was made")[2]
    assert all(f"- In doubt: {warning}\n" in made for warning in run.warnings)
    assert all(f"warning: {warning}\n" in said for warning in run.warnings)
    first = f"{run.status} with {len(run.doubts)} doubt" if run.doubts else f"{run.status}: thread t"
    assert f"\n{first}" in f"\n{said}"
    undone = [task.id for task in run.tasks if task.required and task.status != "done"]
    assert not (undone and run.status == "complete")
    assert all(f"`{task_id}`" in (run.report or "") for task_id in undone)


async def test_what_is_in_doubt_inside_a_nested_supervisor_is_in_doubt_outside() -> None:
    model = ScriptedModel({**WRITES, PLANS: DRAFT, REVIEWS: NO})
    unit = AgentSpec(name="unit", role="generalist", run=build_supervisor([ADA], model=model))
    async with opened(unit) as sup:
        run = await sup.start("Q", plan=plan("outer"))
        events = [event for event in await sup.events(run.thread_id) if event.kind == "result_doubted"]

    assert (run.status, [(doubt.kind, doubt.task_id) for doubt in run.doubts]) == ("complete", [("refused", "outer")])
    assert run.warnings[0].startswith("in outer: the reviewer does not accept a: Say which year.")
    assert [event.path for event in events] == [["unit"], []]


def test_the_page_on_answers_names_every_kind_of_doubt() -> None:
    page = (Path(__file__).parents[2] / "docs" / "answers.md").read_text("utf-8")

    assert [kind for kind in get_args(DoubtKind) if f"`{kind}`" not in page] == []
