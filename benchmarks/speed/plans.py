"""The plans that are measured: how long each task takes, and what it waits for. Nothing here needs Baton or a peer."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

RANDOM = 50
"""Random plans that are measured, one a seed."""


@dataclass(frozen=True)
class Step:
    """One task."""

    id: str
    seconds: float = 0.0
    after: tuple[str, ...] = ()
    recruited_by: str = ""
    """The task that finds out on its way that this one is needed; whoever waits for that one waits for this, too."""
    recruited_at: float = 0.0
    """Seconds after that task's begin."""


@dataclass(frozen=True)
class Plan:
    """A measured plan."""

    name: str
    steps: tuple[Step, ...]

    @cached_property
    def by_id(self) -> dict[str, Step]:
        """Its steps."""
        return {step.id: step for step in self.steps}

    def needs(self, step: Step) -> list[str]:
        """What must have ended before a step, where nobody can be recruited on the way: recruits come afterwards."""
        recruits = [one.id for one in self.steps if one.recruited_by in step.after]
        return [*step.after, *recruits, *([step.recruited_by] if step.recruited_by else [])]

    @property
    def critical_s(self) -> float:
        """Seconds of the critical path: what it takes at least."""
        begins: dict[str, float] = {}
        ends: dict[str, float] = {}
        for step in self.steps:
            recruits = [one.id for one in self.steps if one.recruited_by in step.after]
            begins[step.id] = max([ends[other] for other in (*step.after, *recruits)], default=0.0)
            if step.recruited_by:
                begins[step.id] = begins[step.recruited_by] + step.recruited_at
            ends[step.id] = begins[step.id] + step.seconds
        return max(ends.values())

    def ready(self, done: Iterable[str], begun: Iterable[str]) -> list[str]:
        """Ids of the steps that can begin, for who goes in rounds."""
        done, begun = set(done), set(begun)
        return [step.id for step in self.steps if step.id not in begun and done.issuperset(self.needs(step))]


def check(plan: Plan, ended: list[str]) -> None:
    """Refuse a run that left something out."""
    if sorted(ended) != sorted(plan.by_id):
        raise RuntimeError(f"{len(set(plan.by_id) - set(ended))} tasks are missing")


def skew() -> Plan:
    """Waves with a barrier between them take 0.9 s; the critical path is 0.6."""
    seconds, after = {"a": 0.1, "b": 0.4, "c": 0.4, "d": 0.1, "e": 0.1}, {"c": ("a",), "d": ("b",), "e": ("c", "d")}
    return Plan("skew", tuple(Step(name, took, after.get(name, ())) for name, took in seconds.items()))


def market() -> Plan:
    """Four beside each other, the third recruits on its way; then one after all of them, and a last one: 0.43 s."""
    beside = [Step("A", 0.15), Step("B", 0.12), Step("C", 0.18), Step("D", 0.15)]
    recruit = Step("R", 0.1, recruited_by="C", recruited_at=0.08)
    return Plan("market", (*beside, recruit, Step("E", 0.15, ("A", "B", "C", "D")), Step("F", 0.1, ("E",))))


def chain(count: int) -> Plan:
    """Each waits for the one before, and takes no time."""
    return Plan(f"chain{count}", tuple(Step(f"t{n}", 0.0, (f"t{n - 1}",) if n else ()) for n in range(count)))


def wide(count: int, seconds: float = 0.0) -> Plan:
    """Nobody waits."""
    return Plan(f"wide{count}", tuple(Step(f"t{n}", seconds) for n in range(count)))


def drawn(seed: int) -> Plan:
    """Thirty tasks of 10 to 50 ms, each after at most three that come before it."""
    draw = random.Random(seed)
    steps = []
    for n in range(30):
        after = tuple(f"t{other}" for other in sorted(draw.sample(range(n), min(n, draw.randint(0, 3)))))
        steps.append(Step(f"t{n}", draw.uniform(0.01, 0.05), after))
    return Plan(f"random{seed}", tuple(steps))


def measured(*, large: bool = True) -> list[Plan]:
    """All of them."""
    plans = [Plan("one", (Step("t0"),)), skew(), market(), chain(20), wide(50, 0.3)]
    return [*plans, *map(drawn, range(RANDOM)), *([wide(1000), chain(1000)] if large else [])]
