"""Requests of real kinds (benchmarks/plans) get the plan that fits: one task, several, an action, an action negated."""

from typing import Any

import pytest
import yaml

from nodes.tools.sources import open_sources
from state.replies import PlanDraft
from tests.conftest import ROOT
from tests.nodes.llm.offline.test_planning import planned

PLANS = ROOT / "benchmarks" / "plans"


def fits(wanted: dict[str, Any], draft: PlanDraft) -> bool:
    """Whether a plan has these kinds of task in order (`?`: may lack; `|`: either), and this action alone."""
    acts = [task.action for task in draft.tasks if task.action]
    said = " ".join(task.description.lower() for task in draft.tasks if not task.action)
    named = {task.id: task.description.lower() for task in draft.tasks}
    return (
        _in_order([task.kind for task in draft.tasks], wanted["kinds"])
        and (acts == [] if "action" not in wanted else len(acts) == 1 and acts[0] in wanted["action"].split("|"))
        and not any(words.lower() in said for words in wanted.get("lacks", []))
        and all(word.lower() in named.get(task, "") for task, word in wanted.get("names", {}).items())
    )


def _in_order(kinds: list[str], wanted: list[str]) -> bool:
    if not wanted:
        return not kinds
    is_optional, kind = wanted[0].endswith("?"), wanted[0].rstrip("?").split("|")
    taken = bool(kinds) and kinds[0] in kind and _in_order(kinds[1:], wanted[1:])
    return taken or (is_optional and _in_order(kinds, wanted[1:]))


@pytest.mark.parametrize(
    ("name", "at_least"),
    [
        ("requests", 38),
        ("held_out", 18),
        ("other_fields", 118),
        ("daily", 37),
        ("all_trades", 263),
        ("many_fields", 57),
        ("odd_jobs", 35),
    ],
)
def test_most_requests_get_the_plan_that_fits_and_none_an_action_that_it_did_not_ask_for(
    name: str, at_least: int
) -> None:
    sources = "\n".join(open_sources([str(ROOT / "examples" / "market" / "sources")]).describe())
    drafts = [(one, planned(one["ask"], sources)) for one in yaml.safe_load((PLANS / f"{name}.yaml").read_text())]
    missed = [one["ask"] for one, draft in drafts if not fits(one, draft)]
    assert len(drafts) - len(missed) >= at_least, missed
    assert not [one["ask"] for one, draft in drafts if "action" not in one and any(task.action for task in draft.tasks)]
