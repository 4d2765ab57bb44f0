"""People are told what is wrong with their plan; a model's draft is met half-way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.plans import MAX_PROPOSED, complaints, parse_plan, repair
from nodes.policy.routing import ANYBODY
from state.errors import PlanInvalid
from state.plan import Plan, faults
from state.replies import PlanDraft, TaskDraft
from tests.builders import make_plan

ROLES = ("researcher", "analyst", "writer", "generalist")
WORDS = [
    "",
    " ",
    "t1",
    "t2",
    "T2",
    "task 1",
    "task-2",
    "1",
    "²",
    "٣",
    "researcher",
    "writer",
    "Compare prices.",
    "a b",
    "ü",
    "'",
]
FREE = st.one_of(st.sampled_from(WORDS), st.text(max_size=70))
DRAFTS = st.builds(
    PlanDraft,
    tasks=st.lists(
        st.builds(
            TaskDraft,
            id=FREE,
            description=st.one_of(FREE, st.sampled_from(["Compare prices.", "Find facts.", "Write it up."])),
            role=FREE,
            kind=FREE,
            depends_on=st.lists(FREE, max_size=4),
            action=FREE,
        ),
        max_size=8,
    ),
    complexity=st.floats(),
)


def draft(*tasks: TaskDraft, complexity: float = 0.5) -> PlanDraft:
    return PlanDraft(tasks=list(tasks), complexity=complexity)


def task(task_id: str, *after: str, description: str = "", role: str = "writer") -> TaskDraft:
    text = description or f"Say all there is to say about {task_id or 'nothing'}."
    return TaskDraft(id=task_id, description=text, role=role, depends_on=list(after))


def entry(task_id: str, *after: str) -> dict[str, object]:
    return {"id": task_id, "description": "x", "depends_on": list(after)}


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ([entry("a", "b"), entry("b", "a")], "tasks depend on each other in a cycle: a, b"),
        ({"tasks": [entry("a", "b"), entry("b", "c"), entry("c", "b")]}, "in a cycle: a, b, c"),
        ([{"id": "a", "description": "x", "depends_on": ["zoe"]}], "task 'a' depends on unknown task 'zoe'"),
        ([{"id": "a", "description": "x"}, {"id": "a", "description": "y"}], "task id 'a' is used 2 times"),
        ([{"id": "a", "description": "x", "depends_on": ["a"]}], "task 'a' depends on itself"),
        ({"tasks": []}, "tasks: List should have at least 1 item"),
        ({}, "tasks: Field required"),
        ([{"id": "a"}], "tasks.0.description: Field required"),
        ([{"id": "a", "description": "x", "dependson": []}], "tasks.0.dependson: Extra inputs"),
        ([{"id": "a b", "description": "x"}], "tasks.0.id: String should match"),
        ("a, b", "a plan is a mapping with `tasks`, not str"),
        (None, "not NoneType"),
    ],
)
def test_a_plan_that_cannot_be_used_is_refused_in_one_line(raw: object, complaint: str) -> None:
    with pytest.raises(PlanInvalid, match="plan") as caught:
        parse_plan(raw)

    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_that_is_wrong_is_said_at_once_but_not_without_end() -> None:
    with pytest.raises(PlanInvalid) as few:
        parse_plan([{"id": "a", "depends_on": "b"}, {"description": ""}])
    with pytest.raises(PlanInvalid, match="and 12 more"):
        parse_plan([{"id": f"t{n}"} for n in range(20)])

    assert str(few.value).count(";") == 3


def test_five_hundred_tasks_are_taken_and_1001_are_not() -> None:
    tasks = [{"id": f"t{n}", "description": "x", "depends_on": [f"t{n - 1}"] if n else []} for n in range(1001)]

    assert len(parse_plan(tasks[:500]).tasks) == 500
    with pytest.raises(PlanInvalid, match="at most 1000 items"):
        parse_plan(tasks)


def test_a_plan_goes_through_unchanged_also_as_plain_data() -> None:
    plan = make_plan("a", "b <- a")

    assert parse_plan(plan) is plan
    assert parse_plan(plan.model_dump(mode="json")) == plan


def test_a_good_draft_is_not_touched() -> None:
    plan, notes = repair(draft(task("a", role="researcher"), task("b", "a")), ROLES)

    assert notes == []
    assert [(t.id, t.role, t.depends_on) for t in plan.tasks] == [("a", "researcher", []), ("b", "writer", ["a"])]


def test_a_dependency_on_a_role_means_the_tasks_of_that_role() -> None:
    plan, notes = repair(
        draft(task("a", role="researcher"), task("b", role="researcher"), task("c", "Researcher")), ROLES
    )

    assert plan.task("c").depends_on == ["a", "b"]
    assert notes == ["task 'c' depends on a, b, called 'Researcher'"]


@pytest.mark.parametrize("wanted", ["A", "task 1", "1", "#1", "Find every price there is."])
def test_a_dependency_may_be_said_in_other_words(wanted: str) -> None:
    plan, _ = repair(draft(task("a", description="Find every price there is."), task("b", wanted)), ROLES)

    assert plan.task("b").depends_on == ["a"]


def test_a_dependency_on_oneself_or_on_nobody_goes() -> None:
    plan, notes = repair(draft(task("a", "a"), task("b", "the moon")), ROLES)

    assert [t.depends_on for t in plan.tasks] == [[], []]
    assert [note.partition(":")[0] for note in notes] == [
        "task 'a' does not depend on 'a'",
        "task 'b' does not depend on 'the moon'",
    ]


def test_one_title_given_three_times_is_one_task() -> None:
    same = "Research the market of agent frameworks"
    plan, notes = repair(
        draft(task("a", description=same), task("b", description=same + "."), task("c", "b", description=same.upper())),
        ROLES,
    )

    assert [t.id for t in plan.tasks] == ["a"]
    assert notes == ["left out task 'b': it repeats another", "left out task 'c': it repeats another"]


def test_of_tasks_in_a_cycle_none_waits_for_a_later_one() -> None:
    plan, notes = repair(draft(task("a", "c"), task("b", "a"), task("c", "b")), ROLES)

    assert [t.depends_on for t in plan.tasks] == [[], ["a"], ["b"]]
    assert notes == ["task 'a' does not wait for later tasks: they wait for it"]


def test_missing_and_repeated_ids_are_replaced_by_numbers() -> None:
    plan, _ = repair(draft(task(""), task("a", description="First a."), task("a", description="And then b.")), ROLES)

    assert [t.id for t in plan.tasks] == ["t1", "a", "t3"]


def test_an_id_that_is_good_stays_also_when_a_task_without_one_comes_first() -> None:
    plan, _ = repair(draft(task("", description="Gather."), task("t1", description="Compare."), task("z", "t1")), ROLES)

    assert plan.tasks[1].id == "t1"
    assert plan.task("z").depends_on == ["t1"]


@pytest.mark.parametrize(
    ("role", "asked"),
    [("Reseacher", "researcher"), ("WRITER", "writer"), ("astronaut", "generalist"), ("", "generalist")],
)
def test_a_role_nobody_has_becomes_the_nearest_or_the_generalist(role: str, asked: str) -> None:
    plan, notes = repair(draft(task("a", role=role)), ROLES)

    assert plan.tasks[0].role == asked
    assert asked in notes[0]


def test_a_task_that_a_model_gives_no_role_is_for_anybody_and_nothing_had_to_be_repaired() -> None:
    plan, notes = repair(draft(TaskDraft(id="a", description="Say it.")), ["researcher", "generalist"])

    assert (plan.tasks[0].role, plan.tasks[0].description, notes) == (ANYBODY, "Say it.", [])


@pytest.mark.parametrize(("said", "taken"), [(-3.0, 0.0), (7.0, 1.0), (0.4, 0.4), (float("inf"), 1.0)])
def test_a_complexity_out_of_range_is_brought_into_it(said: float, taken: float) -> None:
    assert repair(draft(task("a"), complexity=said), ROLES)[0].complexity == taken


def test_a_draft_without_anything_to_do_or_without_end_is_asked_again() -> None:
    many = [task(f"t{n}", description=f"{n} " * 20) for n in range(MAX_PROPOSED + 1)]

    assert "no task" in complaints(draft())[0]
    assert "no task" in complaints(draft(TaskDraft(id="a", description="  ")))[0]
    assert "51 tasks" in complaints(PlanDraft(tasks=many))[0]
    assert complaints(PlanDraft(tasks=many[:-1])) == []


@given(DRAFTS)
def test_every_draft_is_complained_about_or_becomes_a_plan(proposed: PlanDraft) -> None:
    if complaints(proposed):
        return
    plan, _ = repair(proposed, ROLES)

    assert faults(plan.tasks) == []
    assert {t.role for t in plan.tasks} <= set(ROLES)
    assert Plan.model_validate(plan.model_dump(mode="json")) == plan


def test_a_report_on_what_an_analysis_is_about_is_not_the_analysis_given_twice() -> None:
    about = "tides and draught limits, cranes and their availability, incidents by cause, staffing of the shifts"
    tasks = [
        TaskDraft(id="a", description=f"Synthesis: {about}", role="analyst", kind="analysis"),
        TaskDraft(id="b", description=f"Summary: {about}", role="writer", kind="writing", depends_on=["a"]),
        TaskDraft(id="c", description=f"Synthesis of {about}", role="analyst", kind="analysis"),
    ]
    plan, notes = repair(PlanDraft(tasks=tasks), ["analyst", "writer"])
    assert [task.id for task in plan.tasks] == ["a", "b"]
    assert notes == ["left out task 'c': it repeats another"]


def test_the_default_role_is_nothing_to_repair_in_a_team_without_it() -> None:
    _, notes = repair(PlanDraft(tasks=[TaskDraft(id="a", description="Do it.", role="generalist")]), ["clerk"])
    assert notes == []
