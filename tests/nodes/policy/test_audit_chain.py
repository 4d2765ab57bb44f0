"""The audit chain: whatever is done to a record of it is found, and the record named."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from nodes.policy.audit_chain import Sealer, break_in, unrecorded
from state.approval import Entry


def chain(*names: str, args: dict[str, JsonValue] | None = None) -> list[Entry]:
    made: list[Entry] = []
    for number, name in enumerate(names, 1):
        entry = Entry(at=float(number), kind="requested", approval=name, args=args or {})
        made.append(Sealer().sealed(entry, number, made[-1].seal if made else ""))
    return made


def found(entries: list[Entry], of: list[Entry]) -> str:
    return break_in(entries, len(of), of[-1].seal)


WHOLE = chain("q1", "q2", "q3")
CHANGED = WHOLE[1].model_copy(update={"by": "eve"})
RESEALED = CHANGED.model_copy(update={"seal": Sealer().seal_of(CHANGED, is_keyed=False)})
FOREIGN = Sealer().sealed(Entry(at=9.0, kind="requested", approval="q9"), 2, "f" * 64)


def test_a_chain_that_nobody_touched_holds() -> None:
    assert found(WHOLE, WHOLE) == ""
    assert break_in([], 0, "") == ""
    assert all(later.before == earlier.seal for earlier, later in pairwise(WHOLE))


@pytest.mark.parametrize(
    ("tampered", "named"),
    [
        ([WHOLE[0], CHANGED, WHOLE[2]], "record 2 (requested q2) was changed"),
        ([WHOLE[0], RESEALED, WHOLE[2]], "record 3 (requested q3) does not follow"),
        ([WHOLE[0], FOREIGN, WHOLE[2]], "record 2 (requested q9) does not follow"),
        ([WHOLE[0], WHOLE[2]], "record 2 is missing or out of order"),
        (WHOLE[1:], "record 1 is missing or out of order"),
        ([WHOLE[1], WHOLE[0], WHOLE[2]], "record 1 is missing or out of order"),
        (WHOLE[:2], "record 3 is missing: 3 were written, 2 are there"),
        ([], "record 1 is missing: 3 were written, 0 are there"),
        (chain("q1", "q2", "q3", "q4"), "record 4 was replaced or added"),
        (chain("q1", "q2", "other"), "record 3 was replaced or added"),
    ],
)
def test_a_changed_missing_or_moved_record_is_named(tampered: list[Entry], named: str) -> None:
    assert found(tampered, WHOLE).startswith(named)


CHANGES: list[Callable[[Entry], Entry]] = [
    lambda entry: entry.model_copy(update={"at": entry.at + 1}),
    lambda entry: entry.model_copy(update={"args": {"to": "eve"}}),
    lambda entry: entry.model_copy(update={"args_after": {}}),
    lambda entry: entry.model_copy(update={"decision": "approve"}),
    lambda entry: entry.model_copy(update={"door": "window"}),
    lambda entry: entry.model_copy(update={"before": "0" * 64}),
]


@given(st.integers(0, 4), st.sampled_from(CHANGES))
def test_any_change_of_any_record_is_found(place: int, change: Callable[[Entry], Entry]) -> None:
    whole = chain("a", "b", "c", "d", "e", args={"to": "bob"})
    tampered = [change(entry) if number == place else entry for number, entry in enumerate(whole)]

    assert f"record {place + 1} " in found(tampered, whole)


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none()))
def test_a_seal_survives_being_stored_as_json(args: dict[str, JsonValue]) -> None:
    [entry] = chain("q", args=args)

    assert break_in([Entry.model_validate_json(entry.model_dump_json())], 1, entry.seal) == ""


def test_an_answer_counts_by_its_place_whatever_the_clock_said_when_it_was_asked() -> None:
    asked = Entry(at=4600.0, kind="requested", approval="q1")
    answered = Entry(at=1000.0, kind="answered", approval="q1")

    assert unrecorded([asked, answered], {"q1": 4600.0}, ["q1"]) == ""
    assert unrecorded([answered, asked], {"q1": 4600.0}, ["q1"]) == "the record of the answer to question q1 is missing"
    assert unrecorded([asked], {"q1": 4600.0}, ["q1"]) == "the record of the answer to question q1 is missing"
    assert unrecorded([asked, answered], {"q1": 5000.0}, ["q1"]) == "the record of question q1 is missing"
