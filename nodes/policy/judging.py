"""Review that comes with the answer: whoever writes it from others' results says what they lack, in the same call.

The agent of the only final task has read every result that counts, so it is asked for a verdict on each, and for what
no task was given; then no reviewer is asked besides. Where the policy names a reviewer, that one looks instead; where
the agent says nothing, or not of each, the reviewing model is asked as ever.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from nodes.policy.quality import is_decided
from nodes.policy.report import sinks
from state.policy import Policy
from state.record import TaskRecord
from state.replies import Gap, Review, Verdict
from state.run import Mode

_GOOD = re.compile(r"\W*(?:good|ok(?:ay)?|fine|accepted|accept|yes|complete|nothing|none)\b\W*\Z", re.IGNORECASE)
_NOTHING = re.compile(r"\W*(?:nothing|none|no|n/?a|-)?\W*\Z", re.IGNORECASE)
_INPUT = re.compile(
    r"^[\s>*_#`•-]*input[\s>*_`\"'“(:]+(?P<id>[\w.'-]+?)[*_`\"'”)]*\s*[:=–—][*_`]*\s*(?P<said>.*)$", re.IGNORECASE
)
_MISSING = re.compile(r"^[\s>*_#`•-]*missing[*_`]*\s*[:=–—][*_`]*\s*(?P<said>.*)$", re.IGNORECASE)


def judged_by(
    record: TaskRecord,
    records: Mapping[str, TaskRecord],
    dependents_of: Callable[[str], Collection[str]],
    *,
    mode: Mode,
    policy: Policy,
) -> dict[str, str]:
    """Tasks on whose results the agent of `record` is to give its opinion: descriptions by id; none where it is not.

    It is where the results are reviewed at all, by no agent of the policy's, and the task is the only one that nothing
    builds on.
    """
    is_asked = mode.review_rounds and not policy.reviewer and record.task.depends_on and not record.task.action
    if not is_asked or dependents_of(record.id) or any(one != record.id and not dependents_of(one) for one in records):
        return {}
    return {other: records[other].task.description for other in record.task.depends_on}


def split_review(text: str, ids: Collection[str]) -> tuple[str, Review | None]:
    """An answer without its lines about the inputs, and what they say; None where they do not say it of each of `ids`.

    A line is `Input ID: good`, `Input ID: what is wrong`, or, below the first of those, `Missing: what no task has`.
    """
    verdicts: dict[str, Verdict] = {}
    gaps, kept = list[Gap](), list[str]()
    for line in text.splitlines():
        said = _INPUT.match(line)
        if said and said["id"] in ids:
            is_good = bool(_GOOD.match(said["said"]))
            why = "" if is_good else said["said"].strip()
            verdicts[said["id"]] = Verdict(task_id=said["id"], accept=is_good, feedback=why)
        elif verdicts and (missed := _MISSING.match(line)):
            gaps += [] if _NOTHING.match(missed["said"]) else [Gap(description=missed["said"].strip())]
        else:
            kept.append(line)
    if not verdicts:
        return text, None
    is_whole = verdicts.keys() >= set(ids)
    return "\n".join(kept).strip(), Review(verdicts=[*verdicts.values()], gaps=gaps) if is_whole else None


def opinion_in(records: Sequence[TaskRecord], iteration: int) -> Review | None:
    """What the agent of the final task has said of the results in this round, of those that nobody has decided."""
    last = sinks(records)
    made = last[0].outcome if len(last) == 1 else None
    if made is None or made.review is None or made.iteration != iteration:
        return None
    open_ids = {record.id for record in records if record.status == "done" and not is_decided(record)}
    heard = [one for one in made.review.verdicts if one.task_id in open_ids & {*last[0].task.depends_on}]
    return made.review.model_copy(update={"verdicts": heard})
