"""A plan is shown to people as numbered lines, and what they make of the lines is a plan."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.plan_text import plan_as_text, plan_from_text
from nodes.policy.plans import parse_plan
from state.errors import PlanInvalid
from state.plan import Plan

PLAN = parse_plan(
    [
        {"id": "prices", "description": "Compare the prices", "role": "analyst", "kind": "analysis"},
        {"id": "terms", "description": "Compare the terms (in words)", "role": "analyst", "required": False},
        {"id": "report", "description": "Write it up", "role": "writer", "depends_on": ["terms", "prices"]},
        {
            "id": "out",
            "description": "Publish it",
            "role": "x",
            "to": "bo",
            "action": "publish",
            "depends_on": ["report"],
        },
    ]
)
LINES = """\
1. Compare the prices (analyst)
2. Compare the terms (in words) (analyst)
3. Write it up (writer, after 1 and 2)
4. Publish it (bo, after 3)"""


def changed(text: str, plan: Plan = PLAN) -> list[tuple[str, str, str, list[str]]]:
    """Id, words, who and what it waits for, of each task."""
    made = parse_plan(plan_from_text(text, plan))
    return [(task.id, task.description, task.to or task.role, task.depends_on) for task in made.tasks]


AS_IT_WAS = [(task.id, task.description, task.to or task.role, task.depends_on) for task in PLAN.tasks]


def test_a_plan_is_a_line_for_each_task_with_who_does_it_and_after_what() -> None:
    assert plan_as_text(PLAN) == LINES


words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=30).filter(str.strip)


@given(
    st.lists(
        st.tuples(words, st.sampled_from(["analyst", "data-wrangler", "QA lead"]), st.sets(st.integers(0, 5))),
        min_size=1,
        max_size=6,
    )
)
def test_lines_that_were_left_alone_are_the_plan_that_they_were_made_from(
    tasks: list[tuple[str, str, set[int]]],
) -> None:
    plan = parse_plan(
        [
            {"id": f"n{at}", "description": text, "role": role, "depends_on": [f"n{one}" for one in after if one < at]}
            for at, (text, role, after) in enumerate(tasks)
        ]
    )
    made = parse_plan(plan_from_text(plan_as_text(plan), plan))
    assert sorted(task.model_dump_json() for task in made.tasks) == sorted(
        task.model_dump_json() for task in plan.tasks
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LINES.replace("Compare the prices", "Compare the fees"), [("prices", "Compare the fees", "analyst", [])]),
        (LINES.replace("prices (analyst)", "prices (coder)"), [("prices", "Compare the prices", "coder", [])]),
        (LINES.replace("(bo, after 3)", "(ada, after 3)"), [("out", "Publish it", "ada", ["report"])]),
        (LINES.replace("after 3", "after 1, 3"), [("out", "Publish it", "bo", ["prices", "report"])]),
        (LINES.replace("(bo, after 3)", ""), [("out", "Publish it", "bo", [])]),
        (LINES.replace("1. ", "1) ").replace("\n", "\r\n\r\n"), []),
    ],
    ids=["words", "role", "agent", "order", "no order", "punctuation"],
)
def test_a_changed_line_changes_its_task_and_nothing_else(text: str, expected: list[Any]) -> None:
    now = {one[0]: one for one in expected}
    assert changed(text) == [now.get(one[0], one) for one in AS_IT_WAS]


def test_who_gives_a_task_to_somebody_else_leaves_its_kind_to_its_words() -> None:
    made = parse_plan(plan_from_text(LINES.replace("prices (analyst)", "prices (coder)"), PLAN))
    assert [task.kind for task in made.tasks] == ["general", *(task.kind for task in PLAN.tasks[1:])]


@pytest.mark.parametrize(
    "text",
    [
        "1. Compare the prices (analyst)\n3. Write it up (writer, after 1 and 2)\n4. Publish it (bo, after 3)",
        "1. Compare the prices (analyst)\n2. Write it up (writer, after 1 and 2)\n3. Publish it (bo, after 3)",
        "- Compare the prices (analyst)\n- Write it up (writer, after 1 and 2)\n- Publish it (bo, after 3)",
        "1. Compare the prices (analyst)\n2. Write it up (writer, after 1)\n3. Publish it (bo, after 2)",
    ],
    ids=["a gap", "numbered anew", "not numbered", "all of it anew"],
)
def test_who_takes_a_line_out_need_not_number_the_others_anew(text: str) -> None:
    assert changed(text) == [AS_IT_WAS[0], ("report", "Write it up", "writer", ["prices"]), AS_IT_WAS[3]]


def test_a_line_more_is_a_task_more_and_one_that_is_made_from_nothing_too() -> None:
    assert changed(f"{LINES}\n5. Tell Ana\nin one sentence (with figures)") == [
        *AS_IT_WAS,
        ("t1", "Tell Ana in one sentence (with figures)", "generalist", []),
    ]
    assert changed(f"{LINES}\n5. Tell Ana (herald, after 4)")[-1] == ("t1", "Tell Ana", "herald", ["out"])
    assert changed("Just look it up") == [("t1", "Just look it up", "generalist", [])]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "0 lines"),
        (" \n\n", "0 lines"),
        (f"{LINES}\n5. Tell Ana (ada, after 9)", "comes after 9"),
        ("1. x\n" * 1001, "1001 lines"),
    ],
)
def test_what_is_no_plan_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(PlanInvalid, match=why):
        plan_from_text(text, PLAN)


@given(st.text(max_size=80))
def test_any_text_is_a_plan_or_is_refused(text: str) -> None:
    with suppress(PlanInvalid):
        parse_plan(plan_from_text(text, PLAN))
