"""What failing means (chapter 15.5): which failures are tried again, when, and when a run gives up."""

import math
from collections import Counter
from collections.abc import Iterable

from state.errors import FailureClass, ModelFailed, ModelUnavailable, ServerUnusable
from state.policy import Policy
from state.record import TaskRecord


def time_for_try(own_s: float, policy: Policy) -> float:
    """Seconds that one try may take: the agent's own limit, or what the policy gives it to come to a decision."""
    return own_s if policy.decision_timeout_s is None else min(own_s, policy.decision_timeout_s)


RETRIED: frozenset[FailureClass] = frozenset({"transient", "declared", "invalid"})
"""Classes that another try may cure. `permanent` is not, `limit` is not, `server` is not for now."""


def is_retried(kind: FailureClass, *, is_same: bool) -> bool:
    """Whether the same agent tries again. A model that ran out of time is not asked the same again (`is_same`)."""
    return kind in RETRIED or (kind == "timeout" and not is_same)


def failure_of(error: ModelFailed) -> FailureClass:
    """The class of an agent's failure whose model could not be used."""
    if isinstance(error, ServerUnusable):
        return "server"
    return "transient" if isinstance(error, ModelUnavailable) else "rejected"


FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0


def retry_delay(attempt: int, jitter: float) -> float:
    """Seconds to wait after the `attempt`-th try (from 1): 0.5, 1, 2 … up to 30, times 0.5 to 1.5 by `jitter`."""
    return min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(attempt - 1, 10)) * (0.5 + jitter)


def most_failures(count: int, share: float) -> int:
    """Failures at which `count` tasks of a kind count as lost: floor(count x share) + 1 (15.5: 6 at 0.5 give 4)."""
    return math.floor(count * share + 1e-9) + 1


def abort_reason(records: Iterable[TaskRecord], policy: Policy) -> str | None:
    """Why the run cannot go on, or None. Kinds without a threshold of their own count together."""
    records = list(records)
    known = policy.failure_threshold
    buckets = [record.task.kind if record.task.kind in known else "default" for record in records]
    totals = Counter(buckets)
    failed = Counter(bucket for record, bucket in zip(records, buckets, strict=True) if _has_failed(record))
    for bucket, count in failed.items():
        share = policy.failure_threshold[bucket]
        limit = most_failures(totals[bucket], share)
        if count >= limit:
            what = "tasks" if bucket == "default" else f"{bucket} tasks"
            return f"{count} of {totals[bucket]} {what} failed; at {limit} the run stops (threshold {share:.0%})"
    return None


def _has_failed(record: TaskRecord) -> bool:
    """A task that a limit of the run stopped says nothing about the others: the limit ends the run by itself."""
    failure = record.outcome.failure if record.outcome else None
    return record.status == "failed" and not (failure and failure.kind == "limit")


def failures_in_a_row(records: Iterable[TaskRecord], agent: str, now: TaskRecord | None = None) -> int:
    """Tasks that an agent has failed one after the other since it last delivered one, or tries of `now` (15.12.2).

    `now`: the task that it has just failed; all its tries count, whoever made them, unless it is one to be skipped.
    A failure that waits for a human counts; what others kept it from does not. Tasks that it failed at the same time
    are one failure in the row: how many of them a run can bear is for the failure threshold to say (15.5).
    """
    outcomes = [r.outcome for r in records if r.outcome and r.outcome.agent == agent and r.outcome.attempts]
    ended = sorted((o for o in outcomes if o.failure or o.status == "done"), key=lambda outcome: outcome.finished_at)
    row, began = 0, math.inf
    for outcome in reversed(ended):
        if not outcome.failure:
            break
        if outcome.finished_at < began:
            row, began = row + 1, outcome.started_at
    tries = now.outcome.attempts if now and now.outcome and now.task.required else 0
    return max(row, tries)
