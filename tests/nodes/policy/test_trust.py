"""Both upgrade rules at each of their boundaries, on both sides; incidents; what is missing (chapter 15.12.6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.trust import DAY_S, results_by_agent, trust_of
from state.record import Failure
from state.trust import LEVELS, Incident, Level, RunResult, Severity
from tests.builders import make_outcome, make_record

START = 1_000_000.0
Entry = RunResult | Incident


def day(number: float) -> float:
    return START + number * DAY_S


def tally(completed: int, failed: int, at: float) -> RunResult:
    return RunResult(at=day(at), since=START, completed=completed, failed=failed)


def incident(severity: Severity, at: float) -> Incident:
    return Incident(at=day(at), severity=severity, note="it sent the wrong file", by="ana")


def level(book: list[Entry], now: float = 1000) -> Level:
    return trust_of("ada", book, day(now)).level


PROFICIENT: list[Entry] = [tally(50, 0, 7)]


@pytest.mark.parametrize(
    ("book", "expected"),
    [
        ([tally(49, 0, 7)], "novice"),
        ([tally(50, 0, 7)], "proficient"),
        ([tally(899, 101, 7)], "novice"),
        ([tally(900, 100, 7)], "proficient"),
        ([tally(45, 5, 7), tally(5, 0, 8)], "proficient"),
        ([tally(50, 0, 6.99)], "novice"),
        ([tally(50, 0, 7.0)], "proficient"),
        ([incident("minor", 4), tally(50, 0, 10.99)], "novice"),
        ([incident("minor", 4), tally(50, 0, 11)], "proficient"),
        ([incident("major", 4), tally(50, 0, 10.99)], "novice"),
        ([incident("major", 4), tally(50, 0, 11)], "proficient"),
    ],
)
def test_a_novice_rises_with_50_tasks_at_90_percent_after_7_days_and_7_quiet_ones(
    book: list[Entry], expected: Level
) -> None:
    assert level(book) == expected


@pytest.mark.parametrize(
    ("book", "expected"),
    [
        ([tally(149, 0, 30)], "proficient"),
        ([tally(150, 0, 30)], "expert"),
        ([tally(9_749, 201, 30)], "proficient"),
        ([tally(9_750, 200, 30)], "expert"),
        ([tally(150, 0, 29.99)], "proficient"),
    ],
)
def test_a_proficient_one_rises_with_200_tasks_at_98_percent_after_30_days(book: list[Entry], expected: Level) -> None:
    assert level([*PROFICIENT, *book]) == expected


@pytest.mark.parametrize(("at", "expected"), [(40.99, "proficient"), (41, "expert")])
def test_a_proficient_one_rises_after_30_quiet_days(at: float, expected: Level) -> None:
    fell_and_rose = [*PROFICIENT, incident("minor", 11), tally(10, 0, 18)]

    assert level(fell_and_rose) == "proficient"
    assert level([*fell_and_rose, tally(150, 0, at)]) == expected


@pytest.mark.parametrize("turn", [1, -1])
def test_a_run_and_an_incident_of_the_same_moment_count_in_the_same_order_however_they_are_read(turn: int) -> None:
    book: list[Entry] = [tally(50, 0, 7), incident("minor", 7)]

    assert level(book[::turn]) == "novice"


def test_nobody_rises_by_two_levels_at_once() -> None:
    assert level([tally(500, 0, 100)]) == "proficient"
    assert level([tally(500, 0, 100), tally(1, 0, 100)]) == "expert"


EXPERT: list[Entry] = [tally(100, 0, 7), tally(100, 0, 30)]


@pytest.mark.parametrize(
    ("before", "severity", "after"),
    [
        (EXPERT, "major", "novice"),
        (EXPERT, "minor", "proficient"),
        (PROFICIENT, "major", "novice"),
        (PROFICIENT, "minor", "novice"),
        ([], "minor", "novice"),
    ],
)
def test_an_incident_takes_trust_away_at_once(before: list[Entry], severity: Severity, after: Level) -> None:
    assert level([*before, incident(severity, 31)]) == after


@pytest.mark.parametrize(
    ("book", "now", "missing"),
    [
        ([], 0, ["0 of 50 tasks", "success rate 0% of 90%", "0 of 7 days"]),
        ([tally(42, 0, 8)], 8, ["42 of 50 tasks"]),
        ([tally(899, 101, 8)], 8, ["success rate 89.9% of 90%"]),
        ([tally(50, 0, 3)], 5, ["5 of 7 days"]),
        ([tally(60, 0, 8), incident("minor", 9)], 12, ["3 of 7 days without incident"]),
        (PROFICIENT, 12, ["50 of 200 tasks", "12 of 30 days"]),
        (EXPERT, 40, []),
    ],
)
def test_what_is_missing_for_the_next_level_is_said_in_figures(
    book: list[Entry], now: float, missing: list[str]
) -> None:
    assert trust_of("ada", book, day(now)).missing == missing


ENTRIES = st.one_of(
    st.builds(tally, st.integers(0, 300), st.integers(0, 20), st.floats(0, 100)),
    st.builds(incident, st.sampled_from(["minor", "major"]), st.floats(0, 100)),
)


@given(st.lists(ENTRIES, max_size=12))
def test_more_incidents_never_mean_more_trust(book: list[Entry]) -> None:
    worse = [*book, incident("major", 50)]

    assert LEVELS.index(level(worse)) <= LEVELS.index(level(book))


def test_a_run_counts_what_each_agent_delivered_and_what_it_failed() -> None:
    limited = make_outcome("d", agent="bob", failure="used up", attempts=1).model_copy(
        update={"failure": Failure(kind="limit", message="used up")}
    )
    denied = limited.model_copy(update={"failure": Failure(kind="denied", message="ana gave it up")})
    records = [
        make_record("a", "done", outcome=make_outcome("a", agent="ada", attempts=1, tried=["ada"])),
        make_record("b", "done", outcome=make_outcome("b", agent="bob", attempts=4, tried=["ada", "bob"])),
        make_record("c", "failed", outcome=make_outcome("c", agent="bob", failure="no", attempts=3, tried=["bob"])),
        make_record("d", "failed", outcome=limited),
        make_record("h", "failed", outcome=denied),
        make_record("i", "failed", outcome=denied.model_copy(update={"agent": "cyd", "decided_by": "ana"})),
        make_record("e", "done", outcome=make_outcome("e", agent="human", attempts=1)),
        make_record("f", "skipped", outcome=make_outcome("f", agent="bob", failure="inputs", attempts=0)),
        make_record("g", "pending"),
    ]

    outcomes = [record.outcome for record in records if record.outcome]
    found = results_by_agent(outcomes, ["ada", "bob", "cyd"], START, day(1))

    assert {name: (one.completed, one.failed) for name, one in found.items()} == {
        "ada": (1, 1),
        "bob": (1, 1),
        "cyd": (0, 1),
    }
