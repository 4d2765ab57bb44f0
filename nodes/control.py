"""Control: the run is paused, or in a human's hands. One interrupt, until somebody lets it go on."""

from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from nodes.policy.handover import takeover_context
from nodes.runtime.context import open_context
from nodes.runtime.node import Node
from nodes.runtime.services import Services
from nodes.runtime.steering import Steering
from state.control import Control
from state.phase import Phase
from state.record import TaskRecord
from state.supervisor import Json, SupervisorState

LOOK: Json = {"type": "look"}
"""What a door resumes a waiting run with when there are signals to look at: it answers nothing by itself."""

Goto = Command[Literal["execute"]]


def make_control(services: Services) -> Node:
    """The node."""

    async def control(state: SupervisorState, runtime: Runtime[None]) -> Goto:
        """Wait; any answer but `LOOK` lets the run go on."""
        said = interrupt(payload(state))
        if said != LOOK:
            run = open_context(services, state, runtime, Phase.executing)
            row = Steering(run.store, run.thread_id).drive(Control())
            await run.emit("control_changed", also=[row], **Control(by="human").model_dump())
        return Command(update={"phase": Phase.executing.value}, goto="execute")

    return control


def payload(state: SupervisorState) -> Json:
    """What a human sees who has the wheel: chapter 15.12.4, `TakeoverContext`."""
    records = [TaskRecord.model_validate(task) for task in state["tasks"]]
    driving = "handed_over" if state["phase"] == Phase.handed_over else "paused"
    return {"control": driving, "context": takeover_context(records)}
