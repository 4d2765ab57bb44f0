"""Rows of the Store: every kind is listed with how long it is kept, and what belongs to a run goes with it."""

import ast
from collections.abc import Iterator

import pytest

from nodes.runtime.rows import KINDS, space
from state.agent import Brief
from state.signal import Recruit, Retire, SendMail
from tests.house.tracked import modules, parsed, shown
from tests.runs import agent, all_approved, opened, plan

TAKES_A_KIND = {"space": 0, "kept": 0}
"""Functions that are given the kind of a row, and where."""


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""), node


def kinds_in(tree: ast.Module) -> set[str]:
    """Kinds of rows that a module names: where one is taken, or as a constant that is given there."""
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    given = [call.args[TAKES_A_KIND[name]] for name, call in calls(tree) if name in TAKES_A_KIND and call.args]
    named = {str(constants.get(one.id)) for one in given if isinstance(one, ast.Name) and one.id in constants}
    return named | {str(one.value) for one in given if isinstance(one, ast.Constant)}


def places_by_hand(tree: ast.AST) -> list[int]:
    """Lines where a namespace is written down instead of made by `space`."""
    writes = {"PutOp": 0, "GetOp": 0, "SearchOp": 0, "aput": 0, "aget": 0}
    found = (call.args[writes[name]] for name, call in calls(tree) if name in writes and call.args)
    return [place.lineno for place in found if isinstance(place, ast.Tuple)]


def test_a_kind_that_is_not_listed_has_no_place() -> None:
    with pytest.raises(ValueError, match="no kind of row called 'moods'; list it in KINDS"):
        space("moods", "t")


def test_every_kind_that_the_code_names_is_listed_and_every_listed_one_is_used() -> None:
    named = {kind: shown(path) for path in modules() for kind in kinds_in(parsed(path))}
    text = "\n".join(path.read_text(encoding="utf-8") for path in modules() if shown(path) != "nodes/runtime/rows.py")

    assert {kind: where for kind, where in named.items() if kind not in KINDS} == {}
    assert [kind for kind in KINDS if f'"{kind}"' not in text] == []


def test_no_module_writes_a_place_down_by_itself() -> None:
    found = {shown(path): places_by_hand(parsed(path)) for path in modules()}

    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("code", "kinds", "lines"),
    [
        ('space("moods", t)', {"moods"}, []),
        ('_KIND = "moods"\nspace(_KIND, t)', {"moods"}, []),
        ('journal.kept("moods", k, v)', {"moods"}, []),
        ('PutOp(("moods", t), k, v)', set(), [1]),
        ('await store.aput(("moods", t), k, v)', set(), [1]),
    ],
)
def test_such_a_kind_would_be_found(code: str, kinds: set[str], lines: list[int]) -> None:
    tree = ast.parse(code)
    assert (kinds_in(tree), places_by_hand(tree)) == (kinds, lines)


async def test_the_next_run_on_a_thread_finds_nothing_that_belonged_to_the_last_one() -> None:
    async with opened() as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))
        store = sup.graph.store
        assert store is not None
        for kind in KINDS:
            await store.aput(space(kind, "t"), "left over", {"from": "the run before"})
            await store.aput(space(kind, "u"), "of another", {"from": "a thread beside it"})
        await sup.start("Q", thread_id="t", plan=plan("a"))
        left = {kind: await store.aget(space(kind, "t"), "left over") for kind in KINDS}
        others = {kind: await store.aget(space(kind, "u"), "of another") for kind in KINDS}

    assert {kind for kind, row in left.items() if row} == {
        kind for kind, kept in KINDS.items() if kept in ("thread", "always")
    }
    assert all(others.values())


async def test_a_run_with_everything_in_it_writes_rows_of_listed_kinds_only() -> None:
    async def work(brief: Brief, desk: object) -> str:
        return str((await desk.ask("launch")).type)  # type: ignore[attr-defined]

    async with opened(agent(work), agent(name="hal", role="helper")) as sup:
        waiting = await sup.start("Q", thread_id="t", plan=plan("a"))
        for sent in (SendMail(to="ada", text="hello"), Recruit(role="helper", task="more"), Retire(agent="hal")):
            waiting = await sup.signal("t", sent)
        await all_approved(sup, waiting)
        store = sup.graph.store
        assert store is not None
        places = await store.alist_namespaces(limit=10_000)

    assert len({place[0] for place in places}) > 8
    assert {place[0] for place in places} <= {*KINDS, "runs", "ended", "open", "index"}
