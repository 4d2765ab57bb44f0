"""Trust: where an agent stands after what it has done, and what the next level needs (chapter 15.12.6).

The book is derived, not stored: tallies and incidents are folded in the order of time, so that a run counts once
whatever crashed, and two processes that end runs at the same time cannot lose each other's.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from state.record import Outcome
from state.trust import LEVELS, Incident, Level, RunResult, Trust

DAY_S = 86_400.0
EXCUSED = frozenset({"limit", "rejected", "denied"})
"""Kinds of failure that say nothing about the agent."""


@dataclass(frozen=True)
class Rule:
    """What an upgrade needs; all four together."""

    tasks: int
    """Completed tasks."""
    success_rate: float
    days: int
    """Whole days since its first run."""
    quiet_days: int
    """Whole days since the last incident."""


RULES: dict[Level, Rule] = {
    "novice": Rule(tasks=50, success_rate=0.90, days=7, quiet_days=7),
    "proficient": Rule(tasks=200, success_rate=0.98, days=30, quiet_days=30),
}
"""What each level needs to leave it upwards."""


def trust_of(agent: str, book: Iterable[RunResult | Incident], now: float) -> Trust:
    """Where an agent stands after all that is written about it; `missing` is counted as of `now`.

    After each run it may rise by one level; an incident takes effect at once, and after a run of the same moment.
    """
    trust = Trust(agent=agent)
    for entry in sorted(book, key=lambda entry: (entry.at, entry.kind == "incident")):
        trust = _after_incident(trust, entry) if isinstance(entry, Incident) else _after_run(trust, entry)
    return trust.model_copy(update={"missing": missing(trust, now)})


def missing(trust: Trust, now: float) -> list[str]:
    """What the next level still needs at that time; empty where nothing is missing, or there is no higher level."""
    rule = RULES.get(trust.level)
    if rule is None:
        return []
    found = []
    if trust.tasks_completed < rule.tasks:
        found.append(f"{trust.tasks_completed} of {rule.tasks} tasks")
    if trust.success_rate < rule.success_rate:
        found.append(f"success rate {_percent(trust.success_rate)} of {_percent(rule.success_rate)}")
    days = _days(trust.since, now)
    if days < rule.days:
        found.append(f"{days} of {rule.days} days")
    if trust.incidents and (idle := _days(trust.incidents[-1].at, now)) < rule.quiet_days:
        found.append(f"{idle} of {rule.quiet_days} days without incident")
    return found


def next_level(level: Level) -> Level | None:
    """The level above, if there is one."""
    place = LEVELS.index(level) + 1
    return LEVELS[place] if place < len(LEVELS) else None


def results_by_agent(
    outcomes: Iterable[Outcome], agents: Collection[str], since: float, at: float
) -> dict[str, RunResult]:
    """What each of `agents` did in a run: tasks it delivered, and tasks it tried and did not.

    What a limit of the run, the model's provider or a human's no has ended is nobody's failure.
    """
    completed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for outcome in (outcome for outcome in outcomes if outcome.attempts):
        failed.update(name for name in outcome.tried if name != outcome.agent)
        if outcome.status == "done":
            completed[outcome.agent] += 1
        elif outcome.failure and (outcome.failure.kind not in EXCUSED or outcome.decided_by):
            failed[outcome.agent] += 1  # whoever was asked has only given up what this agent could not do
    return {
        agent: RunResult(at=at, since=since, completed=completed[agent], failed=failed[agent])
        for agent in agents
        if completed[agent] or failed[agent]
    }


def _after_run(trust: Trust, tally: RunResult) -> Trust:
    counted = trust.model_copy(
        update={
            "tasks_completed": trust.tasks_completed + tally.completed,
            "tasks_failed": trust.tasks_failed + tally.failed,
            "since": tally.since if trust.since is None else min(trust.since, tally.since),
        }
    )
    higher = next_level(counted.level)
    return counted.model_copy(update={"level": higher}) if higher and not missing(counted, tally.at) else counted


def _after_incident(trust: Trust, incident: Incident) -> Trust:
    """Major: straight to novice. Minor: one level down."""
    lower = LEVELS[max(0, LEVELS.index(trust.level) - 1)]
    level = "novice" if incident.severity == "major" else lower
    return trust.model_copy(update={"level": level, "incidents": [*trust.incidents, incident]})


def _days(since: float | None, now: float) -> int:
    return 0 if since is None else int((now - since) // DAY_S)


def _percent(share: float) -> str:
    """Cut, not rounded: 89.96 % is not shown as the 90 % it misses."""
    return f"{int(share * 1000 + 1e-9) / 10:g}%"
