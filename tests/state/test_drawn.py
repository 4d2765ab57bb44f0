"""Nouns draw themselves in a notebook: offline, and without running what they quote."""

from typing import Any

import pytest
from defusedxml import ElementTree
from hypothesis import given
from hypothesis import strategies as st

from graph.app import build_supervisor
from graph.notebook import live
from state import prose
from state.agent import Team
from state.approval import Approval
from state.drawn import Box, as_svg
from state.plan import Plan
from state.run import Run, TaskView
from state.trust import Trust
from tests.runs import agent, opened, plan

SLY = "<script>alert(1)</script> | *x*"


def task(name: str, *after: str) -> TaskView:
    return TaskView(
        id=name, description=SLY, role="r", kind="k", depends_on=[*after], required=True, status="done", agent="ada"
    )


NOUNS = [
    Run(thread_id="t", status="complete", phase="complete", query=SLY, tasks=[task("a"), task("b", "a")], report=SLY),
    Plan.model_validate({"tasks": [{"id": "a", "description": SLY}, {"id": "b", "description": SLY}]}),
    Approval(id="q", task_id="a", agent="ada", action="publish", args={"name": SLY}, reason=SLY),
    Team([agent()]),
    Trust(agent="ada", missing=[SLY]),
]


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: type(noun).__name__)
def test_a_noun_draws_itself_and_what_it_quotes_is_text(noun: Any) -> None:
    drawn = noun._repr_html_()

    ElementTree.fromstring(drawn)
    assert "<script" not in drawn
    assert "://" not in drawn.replace("http://www.w3.org/2000/svg", "")
    assert noun._repr_markdown_().startswith("**")


def test_boxes_stand_right_of_what_leads_to_them_and_a_circle_is_drawn_too() -> None:
    boxes = [Box("a", after=["c"]), Box("b", after=["a"]), Box("c", after=["b"])]
    drawn = ElementTree.fromstring(as_svg(boxes))
    rects = [float(one.attrib["x"]) for one in drawn.iter("{http://www.w3.org/2000/svg}rect")]

    assert rects == sorted(rects)
    assert len(set(rects)) == 3


def test_the_graph_is_drawn_without_asking_anybody() -> None:
    drawn = build_supervisor(model="offline")._repr_mimebundle_()

    assert drawn.keys() == {"text/plain", "image/svg+xml"}
    assert "decompose" in drawn["image/svg+xml"]


async def test_a_run_is_drawn_in_its_cell_while_it_goes() -> None:
    async with opened(agent()) as sup:
        run = await live(sup, "Q", plan=plan("a", "b"), thread_id="t")

    assert (run.status, run.thread_id) == ("complete", "t")


REPORT = """\
# Tea & <b>

It has **30 mg** of `x<y`, see https://example.org and ![x](https://example.org/a.png).

> Said.
> - so

1. one
   more
2. two
- three

| a | b |
|---|---|
| 1 | 2 |

```
| no **table**
```
"""


def test_a_report_is_read_as_markdown_and_fetches_nothing() -> None:
    drawn = ElementTree.fromstring(f"<div>{prose.as_html(REPORT)}</div>")
    parts = [(one.tag, "".join(one.itertext()).strip()) for one in drawn]

    assert parts == [
        ("h3", "Tea & <b>"),
        ("p", "It has 30 mg of x<y, see https://example.org and ![x](https://example.org/a.png)."),
        ("blockquote", "Said.so"),
        ("ol", "onemoretwo"),
        ("ul", "three"),
        ("table", "ab12"),
        ("pre", "| no **table**"),
    ]


@given(st.text("#>-*`|~1. \n\\a<&", max_size=60))
def test_whatever_is_written_is_drawn_and_all_its_letters_are_there(text: str) -> None:
    drawn = ElementTree.fromstring(f"<div>{prose.as_html(text)}</div>")

    assert "".join(drawn.itertext()).count("a") == text.count("a") or "```" in text or "~~~" in text
