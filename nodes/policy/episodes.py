"""What is remembered of a run: decided from its state at the end, whatever the end is."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from nodes.policy.request_shape import shape_of
from nodes.policy.routing import MOST_LEARNED
from nodes.policy.trust import EXCUSED
from state.approval import POLICY
from state.channels import RunState
from state.episode import Correction, Episode
from state.record import HUMAN, TaskRecord, Usage
from state.text import Json

MOST_TASKS = 50
"""Tasks that are kept; a plan of more is not proposed again."""
LONGEST_REQUEST = 2_000
LONGEST_DESCRIPTION = 1_000
"""Characters kept; what is longer is cut, and not proposed again."""
QUOTED_FROM = 6
"""Words of a passage in a row that make a description a quotation of it."""
KEPT_EPISODES = 1_000
"""Episodes of a database; the oldest go first."""
LOOKED_AT = 100
"""The newest of them that are looked at, of those that ask for the same deed or for what agents have done: by the
fading of `nodes.policy.advice` the hundredth weighs nothing any more."""
PRIOR_TASKS = 8.0
"""Tasks of one kind that an agent is taken to have done before any is known, half of them well."""


def episode_of(
    state: RunState, records: Sequence[TaskRecord], thread_id: str, *, status: str, used: Usage, at: float
) -> Episode:
    """The run that ends now with that status. `at`: seconds since the epoch."""
    goal, is_follow_up = state.get("goal") or "", bool(state.get("earlier"))
    kept = records[:MOST_TASKS]
    cut = len(goal) > LONGEST_REQUEST or len(kept) < len(records)
    cut |= any(len(record.task.description) > LONGEST_DESCRIPTION for record in kept)
    quoting = _quoting(goal, records)
    cut |= bool(quoting)
    draft = state.get("draft") or {}
    refused = set(state.get("refused") or {})
    return Episode.model_validate(
        {
            "thread_id": thread_id,
            "started_at": state.get("started_at", at),
            "finished_at": at,
            "request": goal[:LONGEST_REQUEST],
            "asks": shape_of(goal[:LONGEST_REQUEST]).asks,
            "is_whole": not cut,
            "is_follow_up": is_follow_up,
            "status": status,
            "mode": (state.get("mode") or {}).get("name", ""),
            "iterations": state.get("iteration", 0),
            "tasks": [_remembered(record, refused, is_quoting=is_follow_up or record.id in quoting) for record in kept],
            **{name: draft[name] for name in ("complexity", "dynamic", "communicates") if name in draft},
            "corrections": _corrections(state, records),
            "advice": state.get("advice"),
            "tokens": used.total_tokens,
            "calls": used.calls,
            "cost": used.cost,
        }
    )


def _quoting(goal: str, records: Sequence[TaskRecord]) -> set[str]:
    """Ids of the tasks whose description repeats a passage of the sources: a reviewer may have found it in a result."""
    claims = [claim for record in records if record.outcome for claim in record.outcome.claims]
    passages = {run for claim in claims for citation in claim.citations for run in _runs(citation.quote)} - _runs(goal)
    return {record.id for record in records if passages and passages & _runs(record.task.description)}


def _runs(text: str) -> set[tuple[str, ...]]:
    """All runs of so many words that they are somebody's."""
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[n : n + QUOTED_FROM]) for n in range(len(words) - QUOTED_FROM + 1)}


def _remembered(record: TaskRecord, refused: set[str], *, is_quoting: bool) -> Json:
    """A task as it is kept. `is_quoting`: descriptions may repeat earlier answers."""
    outcome, is_recruited = record.outcome, record.recruited_by is not None
    said = "" if is_recruited or is_quoting else record.task.description[:LONGEST_DESCRIPTION]
    kept: Json = {
        "task": {**record.task.model_dump(mode="json", exclude_defaults=True), "description": said or "-"},
        "agent": (outcome.agent if outcome else None) or record.agent or "",
        "scores": [score.model_dump(mode="json") for score in record.route.scores] if record.route else [],
        "status": record.status,
        "is_refused": record.id in refused,
        "is_recruited": is_recruited,
    }
    if outcome:
        kept |= {
            "tried": [*outcome.tried],
            "attempts": outcome.attempts,
            "failure": outcome.failure.kind if outcome.failure else None,
            "iteration": outcome.iteration,
            "is_sent_back": bool(record.feedback) and outcome.iteration > 0,
            "is_spared": bool(outcome.answered_by),
            "confidence": outcome.confidence,
            "tokens": outcome.usage.total_tokens,
            "seconds": max(0.0, outcome.finished_at - outcome.started_at),
        }
    return kept


def _corrections(state: RunState, records: Sequence[TaskRecord]) -> list[Correction]:
    decisions = [(key, said) for key, said in (state.get("decisions") or {}).items() if said.get("by") != POLICY]
    plans = [said.get("type") for key, said in decisions if key.startswith("plan.")]
    others = [said.get("type") for key, said in decisions if not key.startswith("plan.")]
    made: dict[Correction, bool] = {
        "plan_edited": "edit" in plans,
        "plan_rejected": "reject" in plans,
        "result_rejected": "reject" in others or any(r.outcome is not None and r.outcome.returned for r in records),
        "result_given": any(record.outcome and record.outcome.agent == HUMAN for record in records),
        "took_over": bool(state.get("handed_back")),
    }
    return [correction for correction, is_made in made.items() if is_made]


def record_of(episodes: Iterable[Episode]) -> dict[tuple[str, str], float]:
    """What agents have earned, by name and kind of task: between -0.15, all failed, and 0.15, all done well.

    A task counts against whoever failed at it, and whoever was sent back; not where a limit or a human stopped it.
    """
    good, all_of = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for done in (done for episode in episodes for done in episode.tasks):
        failed = {name for name in done.tried if name != done.agent}
        if done.status == "failed" and done.failure not in EXCUSED:
            failed.add(done.agent)
        was_sent_back = done.iteration > 0 if done.is_sent_back is None else done.is_sent_back
        if done.is_spared:
            continue
        if done.status == "done" and (done.is_refused or was_sent_back):
            failed.add(done.agent)
        elif done.status == "done":
            good[done.agent, done.task.kind] += 1
            all_of[done.agent, done.task.kind] += 1
        all_of.update((name, done.task.kind) for name in failed)
    known = {who: (2 * good[who] - count) / (count + PRIOR_TASKS) for who, count in all_of.items()}
    return {who: round(MOST_LEARNED * share, 4) for who, share in known.items() if who[0] not in ("", HUMAN)}
