"""The chain of the audit log (row M14): each entry is sealed together with the seal of the one before it.

None can be changed, taken out or moved without the rest giving it away.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from math import inf

from state.approval import Entry


def sealed(entry: Entry, number: int, before: str) -> Entry:
    """The entry as it will be read again (JSON knows no infinity, for one), with its place in the chain."""
    plain = Entry.model_validate_json(entry.model_dump_json())
    placed = plain.model_copy(update={"number": number, "before": before, "seal": ""})
    return placed.model_copy(update={"seal": seal_of(placed)})


def seal_of(entry: Entry) -> str:
    """SHA-256, in hex, of an entry without its seal, as JSON with sorted keys."""
    body = entry.model_dump(mode="json", exclude={"seal"})
    return sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def break_in(entries: Sequence[Entry], count: int, last: str) -> str:
    """Where the chain is broken, in words that name the record; empty if it holds.

    `count` and `last`: how many there must be, and the seal of the last one: without them the end could be cut off.
    """
    before = ""
    for number, entry in enumerate(entries, 1):
        if entry.number != number:
            return f"record {number} is missing or out of order: {_named(entry)} stands in its place"
        if entry.seal != seal_of(entry):
            return f"{_named(entry)} was changed after it was written"
        if entry.before != before:
            return f"{_named(entry)} does not follow the record before it: one was replaced"
        before = entry.seal
    if len(entries) < count:
        return f"record {len(entries) + 1} is missing: {count} were written, {len(entries)} are there"
    if len(entries) > count or before != last:
        return f"record {len(entries)} was replaced or added: the log's head does not know it"
    return ""


def unrecorded(entries: Sequence[Entry], asked: Mapping[str, float], decided: Collection[str]) -> str:
    """What the log does not have of questions that are known from elsewhere, in words; empty if it has all.

    `asked`: the questions, with the seconds since the epoch when each was asked; what is older is of another run.
    `decided`: those that were answered.
    """
    newest: dict[tuple[bool, str], float] = {}
    for entry in entries:
        newest[entry.kind == "answered", entry.approval] = entry.at
    for question, since in asked.items():
        if newest.get((False, question), -inf) < since:
            return f"the record of question {question} is missing"
    for question in sorted(decided):
        if newest.get((True, question), -inf) < asked.get(question, -inf) or (True, question) not in newest:
            return f"the record of the answer to question {question} is missing"
    return ""


def _named(entry: Entry) -> str:
    return f"record {entry.number} ({entry.kind} {entry.approval})"
