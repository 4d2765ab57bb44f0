"""The advisor: proposes what went well for requests that ask the same, and nothing else."""

import pytest

from nodes.policy.advice import Proposal, advise
from state.episode import Episode, EpisodeTask
from state.plan import Task
from tests.nodes.policy.advice_cases import HELD_OUT, TUNING, Case
from tests.nodes.policy.advice_fresh import FRESH, UNRELATED


def episodes(request: str, outcomes: str = "+++", role: str = "researcher", description: str = "") -> list[Episode]:
    """Runs of one plan for a request, oldest first: `+` complete, `-` failed."""
    task = Task(id="a", description=description or request, role=role)
    return [
        Episode(
            thread_id=f"{role}-{number}",
            started_at=number,
            finished_at=number + 0.5,
            request=request,
            status="complete" if outcome == "+" else "failed",
            tasks=[EpisodeTask(task=task, agent=role, status="done")],
        )
        for number, outcome in enumerate(outcomes)
    ]


def proposed(case: Case) -> Proposal | None:
    return advise(case.new, episodes(case.past, case.outcomes))


def is_right(case: Case) -> bool:
    """An advice that cannot be fitted is given to whoever plans, and counts as well."""
    return (proposed(case) is not None) == case.advised


@pytest.mark.parametrize("case", TUNING, ids=lambda case: f"{case.kind}: {case.new}")
def test_the_advisor_is_right(case: Case) -> None:
    assert is_right(case)


def test_the_advisor_is_right_about_what_was_held_out() -> None:
    wrong = [case for case in HELD_OUT if not is_right(case)]
    assert len(wrong) <= 0.15 * len(HELD_OUT), wrong


@pytest.mark.parametrize("advised", [True, False])
def test_the_advisor_is_right_about_cases_that_it_was_not_made_with(advised: bool) -> None:
    cases = [case for case in FRESH if case.advised == advised]
    wrong = [case for case in cases if not is_right(case)]
    assert len(wrong) <= 0.15 * len(cases), wrong


@pytest.mark.parametrize("request_", UNRELATED)
def test_what_has_nothing_to_do_with_it_gets_nothing(request_: str) -> None:
    assert advise(request_, episodes("Analyze the AI Agent market")) is None
