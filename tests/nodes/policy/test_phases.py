"""Where a run goes next is a table of what its state says; each node leads only where it is drawn to lead."""

from itertools import product
from typing import Any, get_args

import pytest

from nodes.policy.phases import END, EXITS, Facts, NodeName, Place, next_node, way_out
from state.run import ENDS, Phase
from state.signal import Driving

ENDED = sorted(ENDS)
BUSY = [phase for phase in Phase if phase not in ENDS]
AT_WORK: dict[Phase, Place] = {
    Phase.decomposing: "decompose",
    Phase.routing: "route",
    Phase.executing: "execute",
    Phase.reviewing: "review",
    Phase.assembling: "assemble",
}
FLAGS = ("plan_waits", "gave_up", "can_work", "has_open_tasks", "reported", "is_over")
EVERYTHING = [
    Facts(phase, driving, **dict(zip(FLAGS, flags, strict=True)))
    for phase in (None, *Phase)
    for driving in get_args(Driving)
    for flags in product((False, True), repeat=len(FLAGS))
]
STOPPED: list[Driving] = ["paused", "handed_over"]

TABLE: list[tuple[dict[str, Any], Place]] = [
    *(({"phase": phase, "is_over": True}, END) for phase in ENDED),
    *(({"phase": phase, "is_over": True, "driving": driving}, END) for phase in ENDED for driving in STOPPED),
    *(({"phase": phase, "reported": True}, "finish") for phase in ENDED),
    *(({"phase": phase, "driving": "cancelled"}, "assemble") for phase in ENDED),
    ({"phase": None}, "intake"),
    ({"phase": Phase.assembling, "reported": True}, "finish"),
    ({"phase": Phase.assembling, "reported": True, "driving": "paused"}, "finish"),
    *(({"phase": phase, "driving": "cancelled"}, "assemble") for phase in BUSY),
    ({"phase": Phase.executing, "driving": "cancelled", "has_open_tasks": True}, "execute"),
    ({"phase": Phase.decomposing, "driving": "cancelled", "has_open_tasks": True, "plan_waits": True}, "execute"),
    ({"phase": Phase.assembling, "driving": "cancelled", "has_open_tasks": True}, "assemble"),
    *(({"phase": phase, "driving": driving}, "control") for phase in BUSY for driving in STOPPED),
    *(({"phase": phase, "driving": "paused", "plan_waits": True}, "control") for phase in BUSY),
    ({"phase": Phase.assembling, "driving": "paused", "gave_up": True}, "assemble"),
    ({"phase": Phase.handed_over}, "control"),
    *(({"phase": phase, "plan_waits": True}, "approve") for phase in (Phase.decomposing, Phase.executing)),
    ({"phase": Phase.assembling, "plan_waits": True}, "assemble"),
    ({"phase": Phase.executing, "can_work": False, "has_open_tasks": True}, "approve"),
    ({"phase": Phase.executing, "has_open_tasks": True}, "execute"),
    ({"phase": Phase.reviewing, "can_work": False}, "review"),
    *(({"phase": phase}, place) for phase, place in AT_WORK.items()),
]


@pytest.mark.parametrize(("facts", "place"), TABLE, ids=[str(row) for row in TABLE])
def test_the_next_node_follows_from_the_phase_from_who_drives_and_from_what_is_open(
    facts: dict[str, Any], place: Place
) -> None:
    assert next_node(Facts(**facts)) == place


def test_whatever_the_state_says_there_is_a_next_node_and_the_drawing_has_the_way_to_it() -> None:
    for facts in EVERYTHING:
        assert next_node(facts) in EXITS["intake"]
        assert all(way_out(node, facts) in EXITS[node] for node in EXITS)


def test_every_node_that_is_no_end_has_its_exits_and_what_is_rare_goes_by_way_of_intake() -> None:
    assert {*EXITS, "finish"} == set(get_args(NodeName))
    assert all("intake" in exits for exits in EXITS.values())


LEADS: list[tuple[NodeName, dict[str, Any]]] = [
    ("intake", {"phase": Phase.decomposing}),
    *(("intake", {"phase": phase}) for phase in AT_WORK),
    *(("intake", {"phase": Phase.executing, "driving": driving}) for driving in STOPPED),
    ("intake", {"phase": Phase.decomposing, "plan_waits": True}),
    ("decompose", {"phase": Phase.routing}),
    ("decompose", {"phase": Phase.decomposing, "plan_waits": True}),
    ("route", {"phase": Phase.executing}),
    *(("execute", {"phase": phase}) for phase in AT_WORK if phase != Phase.routing),
    ("execute", {"phase": Phase.executing, "can_work": False, "has_open_tasks": True}),
    ("execute", {"phase": Phase.assembling, "driving": "cancelled", "has_open_tasks": True}),
    *(("execute", {"phase": Phase.executing, "driving": driving}) for driving in STOPPED),
    *(("approve", {"phase": phase}) for phase in (Phase.decomposing, Phase.routing, Phase.executing)),
    ("approve", {"phase": Phase.decomposing, "plan_waits": True}),
    ("approve", {"phase": Phase.executing, "driving": "cancelled", "has_open_tasks": True}),
    *(("control", {"phase": Phase.executing, "driving": driving}) for driving in STOPPED),
    *(("review", {"phase": Phase.reviewing, "driving": driving}) for driving in (*STOPPED, "cancelled")),
    *(("review", {"phase": phase}) for phase in (Phase.executing, Phase.assembling)),
    *(("assemble", {"phase": Phase.assembling, "driving": driving}) for driving in STOPPED),
    ("assemble", {"phase": Phase.assembling, "reported": True}),
]


@pytest.mark.parametrize(("node", "facts"), LEADS, ids=[str(row) for row in LEADS])
def test_what_is_usual_goes_straight_from_node_to_node(node: NodeName, facts: dict[str, Any]) -> None:
    assert way_out(node, Facts(**facts)) == next_node(Facts(**facts))


@pytest.mark.parametrize(
    ("node", "facts"),
    [
        ("control", {"phase": Phase.reviewing}),
        ("approve", {"phase": Phase.decomposing, "driving": "paused"}),
        ("assemble", {"phase": Phase.executing}),
        ("route", {"phase": Phase.assembling}),
        ("execute", {"phase": Phase.routing}),
    ],
)
def test_what_is_rare_goes_by_way_of_intake(node: NodeName, facts: dict[str, Any]) -> None:
    assert way_out(node, Facts(**facts)) == "intake"
