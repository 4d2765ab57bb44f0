"""What earlier runs say of how a request is to be done (chapter 15.7): the plan shape that went well for its like.

Confidence is success rate x similarity; above 0.8 (15.7) the plan shape is proposed. The success rate has a prior of
half a success in one run (Jeffreys' prior), and fewer than three runs are no evidence. Each run weighs four fifths of
the one after it, so that a shape that begins to fail is dropped however well it did once; one that a human has
corrected weighs double, and what a human has rejected failed. A plan is fitted to the new request by its subject; one
in which anything of the old subject would be left is not.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from nodes.policy.orders import actions_in, ordered
from nodes.policy.request_shape import shape_of, similarity
from state.episode import Advice, Episode
from state.plan import Plan, Task

CONFIDENT_ABOVE = 0.8
"""15.7."""
SIMILAR_FROM = 0.8
"""Runs for requests less alike say nothing."""
PRIOR_SUCCESSES, PRIOR_RUNS = 0.5, 1.0
FADING = 0.8
"""The weight of a run, as a share of the next one's."""
CORRECTED_WEIGHT = 2.0
LEAST_RUNS = 3
"""Fewer may be luck, whoever has corrected them."""
_SAYS_LITTLE = 3
"""Letters of a word from which on it is looked for in a plan that was fitted."""


@dataclass(frozen=True)
class Proposal:
    """What is advised."""

    advice: Advice
    before: Plan
    """The plan as it was for the earlier request."""
    earlier: str
    """That request."""
    plan: Plan | None
    """The same fitted to this one; None where it cannot be."""


@dataclass(frozen=True)
class _Evidence:
    episode: Episode
    similarity: float
    went_well: bool
    weight: float = 1.0


def advise(request: str, episodes: Iterable[Episode]) -> Proposal | None:
    """The plan shape to use, or none. `episodes`: in any order."""
    asked, by_plan = shape_of(request), defaultdict[str, list[_Evidence]](list)
    for episode in sorted(episodes, key=lambda one: -one.finished_at):
        if episode.is_follow_up or episode.status == "cancelled":
            continue
        alike = similarity(asked, shape_of(episode.request))
        if alike < SIMILAR_FROM:
            continue
        weight = CORRECTED_WEIGHT if episode.corrections else 1.0
        if episode.advice and episode.advice.is_rejected:
            by_plan[episode.advice.plan].append(_Evidence(episode, alike, went_well=False, weight=weight))
        if episode.tasks:
            by_plan[plan_shape(episode)].append(_Evidence(episode, alike, episode.went_well, weight))
    found = [proposal for shape, evidence in by_plan.items() if (proposal := _proposal(request, shape, evidence))]
    return max(found, key=lambda one: one.advice.confidence, default=None)


def _proposal(request: str, shape: str, evidence: Sequence[_Evidence]) -> Proposal | None:
    good = [one for one in evidence if one.went_well and one.episode.is_whole]
    if len(evidence) < LEAST_RUNS or not good:
        return None
    rate = success_rate([(one.went_well, one.weight) for one in evidence])
    alike = max(one.similarity for one in good)
    if rate * alike <= CONFIDENT_ABOVE:
        return None
    best = max(good, key=lambda one: (one.similarity, bool(one.episode.corrections), one.episode.finished_at))
    before = _plan(best.episode)
    advice = Advice(
        threads=list(
            dict.fromkeys(one.episode.thread_id for one in sorted(evidence, key=lambda one: not one.went_well))
        ),
        runs=len(evidence),
        successes=sum(one.went_well for one in evidence),
        success_rate=round(rate, 4),
        similarity=round(alike, 4),
        confidence=round(rate * alike, 4),
        plan=shape,
    )
    return Proposal(advice, before, best.episode.request, fitted(before, best.episode.request, request))


def success_rate(results: Sequence[tuple[bool, float]]) -> float:
    """Between 0 and 1, with its prior. `results`: whether each run went well, and its weight; newest first."""
    weights = [weight * FADING**age for age, (_, weight) in enumerate(results)]
    good = sum(weight for weight, (went_well, _) in zip(weights, results, strict=True) if went_well)
    return (good + PRIOR_SUCCESSES) / (sum(weights) + PRIOR_RUNS)


def plan_shape(episode: Episode) -> str:
    """The same for plans with the same kinds of tasks, for the same roles, in the same order."""
    tasks = _plan_tasks(episode)
    places = {task.id: number for number, task in enumerate(tasks)}
    said = [
        (task.kind, task.role, task.to, sorted(places.get(d, -1) for d in task.depends_on), task.action, task.required)
        for task in tasks
    ]
    return sha256(repr(said).encode()).hexdigest()[:16]


def _plan_tasks(episode: Episode) -> list[Task]:
    """The tasks of the plan, without what agents asked for on the way."""
    planned = [done.task for done in episode.tasks if not done.is_recruited]
    ids = {task.id for task in planned}
    return [task.model_copy(update={"depends_on": [d for d in task.depends_on if d in ids]}) for task in planned]


def _plan(episode: Episode) -> Plan:
    return Plan(
        tasks=_plan_tasks(episode),
        complexity=episode.complexity,
        dynamic=episode.dynamic,
        communicates=episode.communicates,
    )


def fitted(plan: Plan, earlier: str, request: str) -> Plan | None:
    """The plan of an earlier request for this one: its subject exchanged, and nothing else.

    None where parts of the subject cannot be told apart, where something of the old one would be left, and where a task
    would do something to the outside world that this request does not order.
    """
    orders = set(ordered(request))
    if any(not set(actions_in(task.action)) <= orders for task in plan.tasks if task.action):
        return None
    swaps = _swaps(shape_of(earlier).slots, shape_of(request).slots)
    if swaps is None:
        return None
    swaps = {" ".join(earlier.split()): " ".join(request.split()), **swaps}
    old = _words(earlier) - _words(request)
    tasks = []
    for task in plan.tasks:
        said, kept = _exchanged(task.description, swaps)
        if old & _words(kept):
            return None
        tasks.append(task.model_copy(update={"description": said}))
    return plan.model_copy(update={"tasks": tasks})


def _swaps(old: Sequence[str], new: Sequence[str]) -> dict[str, str] | None:
    """Which part of the old subject becomes which of the new; where the new one has more, the last takes the rest."""
    if not old:
        return {} if not new else None
    if len(new) < len(old):
        return None
    paired = [*new[: len(old) - 1], ", ".join(new[len(old) - 1 :])]
    found: dict[str, str] = {}
    for one, other in zip(old, paired, strict=True):
        if found.setdefault(one.casefold(), other) != other:
            return None
    return dict(zip(old, paired, strict=True))


def _exchanged(text: str, swaps: dict[str, str]) -> tuple[str, str]:
    """The text with each old part exchanged, and what of it has stayed."""
    by_words = {_folded(old): new for old, new in swaps.items()}
    parts = sorted(by_words, key=len, reverse=True)
    pattern = re.compile(
        "|".join(
            rf"(?<![^\W_]){_flexible(part)}(?:['’]?s)?(?![^\W_])" if part.isascii() else _flexible(part)
            for part in parts
        ),
        re.IGNORECASE,
    )

    def exchange(found: re.Match[str]) -> str:
        said = _folded(found.group())
        return next((by_words[part] for part in parts if said.startswith(part)), found.group())

    return pattern.sub(exchange, text), " ".join(pattern.split(text))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _flexible(part: str) -> str:
    return r"\s+".join(map(re.escape, part.split()))


def _words(text: str) -> set[str]:
    """What a text names: numbers, and words that say something, without the ending of the plural."""
    shape = shape_of(text)
    said = re.findall(r"\d+(?:[.,]\d+)*|[^\W\d_]{2,}", " ".join(shape.slots).casefold())
    return {
        word if word.isdigit() else word.removesuffix("s")
        for word in said
        if len(word) >= _SAYS_LITTLE or word.isdigit()
    }
