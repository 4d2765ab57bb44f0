"""What is kept in view of earlier runs of a thread: the last answers, the newest in most detail, within a bound.

A new thread has none. Whatever an answer says, it is material for the next run; what that is to do says its request.
"""

import re
from collections.abc import Iterable, Sequence

from nodes.policy.report import joined, sinks
from state.channels import RunState, is_over, records_of
from state.conversation import Turn
from state.record import Artifact

MOST_TURNS = 8
MOST_BYTES = 12_000
"""Of all questions and answers in view: about 3,000 tokens, at four bytes each (`nodes.llm.tokens`)."""
QUESTION_BYTES = 400
MOST_COMPUTED = 20
MOST_ARTIFACTS = 20
"""Files of one run that are kept in view."""

_ABOUT_ITSELF = re.compile(r"^## (?:How this was made|Sources|What is missing|Rolled back)\s*$", re.MULTILINE)


def turns_before(state: RunState, messages: Sequence[tuple[str, str]]) -> list[Turn]:
    """What was said on the thread of a run that starts now, oldest first, within the bounds.

    `state`: as the run before has left it, if there was one. `messages`: who said what (`human`, `ai`), without the
    request itself; they tell of what versions before, or whoever sends a whole conversation, have not kept elsewhere.
    """
    kept = [Turn.model_validate(turn) for turn in state.get("earlier") or []]
    known = kept or list(_said(messages))
    if not is_over(state):
        return bounded(known)
    last = _turn(state)
    return bounded([*(known if kept else known[:-1]), last])


def bounded(turns: Sequence[Turn]) -> list[Turn]:
    """The last turns, as much of each as there is room for, the newest first."""
    left, found = MOST_BYTES, list[Turn]()
    for turn in reversed(turns[-MOST_TURNS:]):
        query = cut(turn.query, QUESTION_BYTES)
        left -= len(query.encode())
        if left < 0:
            break
        answer = cut(turn.answer, left * 3 // 4)  # what is older has a quarter of the room at least
        left -= len(answer.encode())
        found.append(turn.model_copy(update={"query": query, "answer": answer}))
    return found[::-1]


def cut(text: str, most: int) -> str:
    """The beginning of a text, at most so many bytes of UTF-8, and how much is missing."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return text
    note = f"\n… (the beginning of {len(text)} characters)"
    room = most - len(note.encode())
    return (data[:room].decode("utf-8", "ignore") + note) if room > 0 else ""


def _turn(state: RunState) -> Turn:
    """The run that has ended."""
    records = records_of(state)
    answer = joined(sinks(records)) or _body(state.get("report") or "")
    error = state.get("error")
    said = f"{answer}\n\nIt was stopped: {error}" if error and error not in answer else answer
    artifacts = [Artifact.model_validate(one) for one in state.get("artifacts") or []]
    claims = [claim for record in records if record.outcome for claim in record.outcome.claims]
    computed = [claim for claim in claims if any(one.place == "table" and one.quote for one in claim.citations)]
    return Turn(
        computed=computed[:MOST_COMPUTED],
        query=state.get("goal") or "",
        answer=said.strip(),
        status=state.get("phase") or "",
        artifacts=list({artifact.path: artifact for artifact in artifacts}.values())[-MOST_ARTIFACTS:],
    )


def _body(report: str) -> str:
    """What a report answers: without its title, and what it says about itself."""
    return re.sub(r"\A# [^\n]*\n", "", _ABOUT_ITSELF.split(report)[0]).strip()


def _said(messages: Iterable[tuple[str, str]]) -> Iterable[Turn]:
    """Questions with what was answered to each."""
    query, answers = "", list[str]()
    for who, text in messages:
        if who == "human":
            if query:
                yield Turn(query=query, answer="\n\n".join(answers))
            query, answers = text, []
        elif who == "ai" and text.strip():
            answers.append(_body(text))
    if query:
        yield Turn(query=query, answer="\n\n".join(answers))
