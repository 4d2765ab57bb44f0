"""Control: the run is paused, or in a human's hands. One interrupt, until somebody lets it go on."""

from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from nodes.policy.answers import LOOK_AT_SIGNALS
from nodes.policy.takeover import takeover_context
from nodes.runtime.context import Node, open_context
from nodes.runtime.services import Services
from nodes.runtime.signals import SignalState
from state.record import TaskRecord
from state.run import Phase
from state.signal import Control
from state.supervisor import SupervisorState
from state.text import Json

Goto = Command[Literal["execute"]]


def make_control(services: Services) -> Node:
    """The node."""

    async def control(state: SupervisorState, runtime: Runtime[None]) -> Goto:
        """Wait; any answer but `LOOK_AT_SIGNALS` lets the run go on."""
        said = interrupt(payload(state))
        if said != LOOK_AT_SIGNALS:
            run = open_context(services, state, runtime, Phase.executing)
            row = SignalState(run.store, run.thread_id).set_control(Control())
            await run.emit("control_changed", also=[row], **Control(by="human").model_dump())
        return Command(update={"phase": Phase.executing.value}, goto="execute")

    return control


def payload(state: SupervisorState) -> Json:
    """What a human sees who has the wheel: chapter 15.12.4, `TakeoverContext`."""
    records = [TaskRecord.model_validate(task) for task in state["tasks"]]
    driving = "handed_over" if state["phase"] == Phase.handed_over else "paused"
    return {"control": driving, "context": takeover_context(records)}
