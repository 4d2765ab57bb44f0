"""What agents earn by their record: within bounds, with a prior, shown in the parts of a score."""

import pytest

from nodes.policy.episodes import record_of
from nodes.policy.routing import NO_RECORD, route, score
from state.agent import AgentSpec, Skills
from state.episode import Episode, EpisodeTask
from state.plan import Task

TASK = Task(id="a", description="Look at figures.", role="nobody", kind="analysis")
WEAK = AgentSpec(name="weak", role="one", skills=Skills(kinds={"analysis": 0.9}))
NEXT = AgentSpec(name="next", role="two", skills=Skills(kinds={"analysis": 0.8}))
FAR = AgentSpec(name="far", role="three", skills=Skills(kinds={"analysis": 0.6}))


def ended(agent: str, count: int, status: str = "done", **fields: object) -> list[Episode]:
    task = EpisodeTask.model_validate({"task": TASK, "agent": agent, "status": status, **fields})
    return [
        Episode(thread_id=f"{n}", started_at=n, finished_at=n, request="Q", status="complete", tasks=[task])
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("episodes", "earned"),
    [
        (ended("weak", 1), 0.0167),
        (ended("weak", 50), 0.1293),
        (ended("weak", 50, "failed", failure="transient"), -0.1293),
        (ended("weak", 10_000, "failed"), -0.1499),
        (ended("weak", 4, is_refused=True), -0.05),
        (ended("weak", 4, iteration=1), -0.05),
        (ended("other", 4, tried=["weak", "other"]), -0.05),
    ],
)
def test_a_record_counts_what_went_well_and_what_did_not(episodes: list[Episode], earned: float) -> None:
    assert record_of(episodes)["weak", "analysis"] == earned


def test_a_limit_says_nothing_about_an_agent() -> None:
    assert record_of(ended("weak", 9, "failed", failure="limit")) == {}


def test_after_fifty_failures_work_moves_to_who_was_near_and_not_to_who_was_far() -> None:
    record = record_of(ended("weak", 50, "failed"))
    chosen = route(TASK, [WEAK, NEXT, FAR], record)

    assert route(TASK, [WEAK, NEXT, FAR], NO_RECORD).agent == "weak"
    assert chosen.agent == "next"
    assert route(TASK, [WEAK, FAR], record).agent == "weak"
    (shown,) = [one for one in chosen.scores if one.agent == "weak"]
    assert (shown.self_assessment, shown.learned, shown.total) == (0.9, -0.129, 0.462)


@pytest.mark.parametrize("own", [0.0, 0.2, 0.5, 0.65, 0.68])
def test_no_record_lifts_anyone_over_the_half_who_is_not_within_nine_hundredths_of_it(own: float) -> None:
    agent = AgentSpec(name="any", role="one", skills=Skills(kinds={"analysis": own}))

    assert score(TASK, agent).total < 0.41
    assert score(TASK, agent, learned=99.0).total < 0.5
    assert 0 <= score(TASK, agent, learned=-99.0).total <= score(TASK, agent).total
