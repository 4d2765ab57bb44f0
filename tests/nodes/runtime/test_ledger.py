"""The ledger of side effects: intent before, outcome after, and another process reads both."""

from langgraph.store.memory import InMemoryStore

from graph.testing import HeldClock
from nodes.runtime.ledger import SideEffectLedger
from state.side_effect import Effect


def effect(name: str = "a") -> Effect:
    return Effect(id=name, task_id="t", agent="ada", tool="send", args={"to": "bob"})


def ledger(store: InMemoryStore, clock: HeldClock | None = None) -> SideEffectLedger:
    return SideEffectLedger(store, "t", clock or HeldClock())


async def test_what_was_begun_is_known_to_whoever_comes_next() -> None:
    store, clock = InMemoryStore(), HeldClock(start=5.0)
    await ledger(store, clock).begin(effect())
    found = await ledger(store).find("a")

    assert found is not None
    assert (found.status, found.number, found.tries, found.at, found.args) == ("intended", 1, 1, 5.0, {"to": "bob"})
    assert await ledger(store).find("b") is None


async def test_what_came_of_it_takes_its_place() -> None:
    store = InMemoryStore()
    first = ledger(store)
    begun = await first.begin(effect())
    await first.settle(begun, "done", reply="sent")
    found = await ledger(store).find("a")

    assert found is not None
    assert (found.status, found.reply) == ("done", "sent")


async def test_a_second_begin_of_what_has_an_end_takes_its_place() -> None:
    store = InMemoryStore()
    first = ledger(store)
    await first.settle(await first.begin(effect("a")), "failed")
    await first.begin(effect("b"))
    again = await ledger(store).begin(effect("a"))

    assert (again.number, again.tries) == (1, 2)
    assert [found.id for found in await ledger(store).newest_first()] == ["b", "a"]


async def test_a_begin_that_has_no_end_stays_on_the_ledger_when_it_is_begun_again() -> None:
    store = InMemoryStore()
    await ledger(store).begin(effect("a"))
    await ledger(store).begin(effect("b"))
    for name in ("eve", "zoe"):
        await ledger(store).begin(effect("a").model_copy(update={"args": {"to": name}}))
    found = await ledger(store).newest_first()

    assert [(one.id, one.number, one.tries, one.args["to"]) for one in found] == [
        ("a", 4, 3, "zoe"),
        ("a#2", 3, 2, "eve"),
        ("b", 2, 1, "bob"),
        ("a#1", 1, 1, "bob"),
    ]
    assert {one.status for one in found} == {"intended"}
    assert await ledger(store).find("a") == found[0]


async def test_effects_are_listed_newest_first() -> None:
    store = InMemoryStore()
    first = ledger(store)
    for name in ("z", "a", "m"):
        await first.begin(effect(name))

    assert [found.id for found in await ledger(store).newest_first()] == ["m", "a", "z"]
