"""The chain of the audit log (row M14): each entry is sealed together with the seal of the one before it.

None can be changed, taken out or moved without the rest giving it away. Without a key anybody who can write the file
can seal all of it anew; with one (`BATON_AUDIT_KEY`) only who has the key. The key may be set later: what was sealed
before is vouched for by the first record that is sealed with it, and from then on every record has to be.
"""

import hmac
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf

from state.approval import Entry

KEYED = "hmac-sha256:"
"""How the seal of a record begins that was made with the key."""


@dataclass(frozen=True)
class Sealer:
    """Seals the records of one thread, and knows its seals again."""

    thread_id: str = ""
    """Goes into keyed seals: a record of another thread is none of this one."""
    key: bytes = field(default=b"", repr=False)
    """Empty: records are sealed without one, and those that have a keyed seal cannot be checked."""

    def sealed(self, entry: Entry, number: int, before: str) -> Entry:
        """The entry as it will be read again (JSON knows no infinity, for one), with its place in the chain."""
        plain = Entry.model_validate_json(entry.model_dump_json())
        placed = plain.model_copy(update={"number": number, "before": before, "seal": ""})
        return placed.model_copy(update={"seal": self.seal_of(placed, is_keyed=bool(self.key))})

    def seal_of(self, entry: Entry, *, is_keyed: bool) -> str:
        """SHA-256, in hex, of an entry without its seal, as JSON with sorted keys; or HMAC-SHA-256 (RFC 2104)."""
        body = json.dumps(entry.model_dump(mode="json", exclude={"seal"}), sort_keys=True, separators=(",", ":"))
        if not is_keyed:
            return sha256(body.encode()).hexdigest()
        text = json.dumps([self.thread_id, body]).encode()
        return KEYED + hmac.new(self.key, text, sha256).hexdigest()

    def problem(self, entry: Entry) -> str:
        """Why the seal is none of ours, or an empty string."""
        is_keyed = entry.seal.startswith(KEYED)
        if is_keyed and not self.key:
            return "is sealed with a key: set BATON_AUDIT_KEY to check it"
        if not hmac.compare_digest(entry.seal.encode(), self.seal_of(entry, is_keyed=is_keyed).encode()):
            return "was changed after it was written"
        return ""


def break_in(entries: Sequence[Entry], count: int, last: str, sealer: Sealer = Sealer()) -> str:
    """Where the chain is broken, in words that name the record; empty if it holds.

    `count` and `last`: how many there must be, and the seal of the last one: without them the end could be cut off.
    """
    before, was_keyed = "", False
    for number, entry in enumerate(entries, 1):
        if entry.number != number:
            return f"record {number} is missing or out of order: {_named(entry)} stands in its place"
        if problem := sealer.problem(entry):
            return f"{_named(entry)} {problem}"
        if entry.before != before:
            return f"{_named(entry)} does not follow the record before it: one was replaced"
        is_keyed = entry.seal.startswith(KEYED)
        if was_keyed and not is_keyed:
            return f"{_named(entry)} is sealed without the key, which the record before it was sealed with"
        before, was_keyed = entry.seal, is_keyed
    if len(entries) < count:
        return f"record {len(entries) + 1} is missing: {count} were written, {len(entries)} are there"
    if len(entries) > count or before != last:
        return f"record {len(entries)} was replaced or added: the log's head does not know it"
    if entries and sealer.key and not was_keyed:
        return "no record is sealed with the key: all are older than BATON_AUDIT_KEY, or all were replaced"
    return ""


def answers_on_record(entries: Sequence[Entry], since: int, sealer: Sealer) -> dict[str, Entry]:
    """The answer to each question that counts: it is sealed, and the question was not asked again after it.

    `since`: how many records there were before the run; theirs are answers to other questions of the same name.
    """
    found: dict[str, Entry] = {}
    for entry in _sealed(entries, sealer):
        if entry.number > since and entry.kind == "answered":
            found[entry.approval] = entry
        elif entry.kind == "requested":
            found.pop(entry.approval, None)
    return found


def _sealed(entries: Sequence[Entry], sealer: Sealer) -> Iterator[Entry]:
    """Those whose seal is right; from the first keyed one on only keyed ones. Without the key, those are believed."""
    was_keyed = False
    for entry in entries:
        is_keyed = entry.seal.startswith(KEYED)
        was_keyed = was_keyed or (is_keyed and bool(sealer.key))
        if is_keyed >= was_keyed and (not sealer.problem(entry) or (is_keyed and not sealer.key)):
            yield entry


def unrecorded(entries: Sequence[Entry], asked: Mapping[str, float], decided: Collection[str]) -> str:
    """What the log does not have of questions that are known from elsewhere, in words; empty if it has all.

    `asked`: the questions, with the seconds since the epoch when each was asked; what is older is of another run.
    `decided`: those that were answered.
    """
    newest: dict[tuple[bool, str], tuple[int, float]] = {}
    for number, entry in enumerate(entries):
        newest[entry.kind == "answered", entry.approval] = (number, entry.at)
    nowhere = (-1, -inf)
    for question, since in asked.items():
        if newest.get((False, question), nowhere)[1] < since:
            return f"the record of question {question} is missing"
    for question in sorted(decided):  # by their places: who answers may have another clock than who asked
        place, _ = newest.get((True, question), nowhere)
        if place < 0 or (question in asked and place < newest[False, question][0]):
            return f"the record of the answer to question {question} is missing"
    return ""


def unknown_to(entries: Sequence[Entry], witnessed: Collection[tuple[int, str]]) -> str:
    """What was written down elsewhere of the log and is not in it, in words. Each: a record's number and seal."""
    seals = {entry.number: entry.seal for entry in entries}
    for number, seal in sorted(witnessed):
        if seals.get(number) != seal:
            return f"record {number} is not the one whose seal was kept outside the database: it was replaced"
    return ""


def _named(entry: Entry) -> str:
    return f"record {entry.number} ({entry.kind} {entry.approval or entry.action})"
