"""A mailbox is bounded: on overflow the older half goes, and the loss is counted."""

from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.mail import CAPACITY, Mailbox
from state.agent import Mail


def mails(first: int, count: int) -> list[Mail]:
    return [Mail(id=f"m{n}", sender="ann", to="bob", text=str(n)) for n in range(first, first + count)]


def texts(found: list[Mail]) -> list[int]:
    return [int(mail.text) for mail in found]


def test_one_message_too_many_leaves_the_newer_half() -> None:
    full = Mailbox().add(mails(0, CAPACITY))
    assert (len(full.messages), full.lost) == (CAPACITY, 0)
    over = full.add(mails(CAPACITY, 1))
    assert texts(list(over.messages)) == list(range(CAPACITY // 2 + 1, CAPACITY + 1))
    assert over.lost == CAPACITY // 2 + 1


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 9))
def test_nothing_is_unaccounted_for_and_the_newest_is_always_there(sizes: list[int], capacity: int) -> None:
    box, sent = Mailbox(), 0
    for size in sizes:
        box, sent = box.add(mails(sent, size), capacity), sent + size
        assert len(box.messages) <= capacity
        assert (box.received, len(box.messages) + box.lost) == (sent, sent)
    assert texts(list(box.messages)) == list(range(sent - len(box.messages), sent))


def test_a_message_that_is_sent_again_is_there_once() -> None:
    box = Mailbox().add(mails(0, 3)).add(mails(1, 3))
    assert texts(list(box.messages)) == [0, 1, 2, 3]
    assert box.received == 4


def test_one_that_was_dropped_does_not_come_back_when_it_is_sent_again() -> None:
    box = Mailbox().add(mails(0, 20), capacity=4)
    assert box.add(mails(0, 20), capacity=4) is box


def test_messages_without_an_id_are_all_kept() -> None:
    same = Mail(sender="ann", to="bob", text="1")
    assert Mailbox().add([same, same]).received == 2


@given(st.integers(0, 40), st.integers(0, 40))
def test_a_reader_gets_what_came_after_what_it_has_read_as_far_as_it_is_there(before: int, after: int) -> None:
    box = Mailbox().add(mails(0, before), capacity=10)
    read = box.received
    box = box.add(mails(before, after), capacity=10)
    found = texts(box.since(read))
    assert found == list(range(before + after - len(found), before + after))
    assert len(found) == min(after, len(box.messages))


def test_a_reader_cannot_change_what_is_in_the_box() -> None:
    box = Mailbox().add(mails(0, 1))
    box.since(0)[0].text = "9"
    assert texts(box.since(0)) == [0]
