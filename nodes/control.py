"""Control: the run is paused, or in a human's hands. One interrupt, until somebody lets it go on."""

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from nodes.policy.answers import LOOK_AT_SIGNALS
from nodes.policy.takeover import takeover_context
from nodes.runtime.context import Node, open_context
from nodes.runtime.execution import catch_up, resumed_execution
from nodes.runtime.services import Services
from state.run import Phase
from state.signal import Control
from state.supervisor import SupervisorState, Update, records_of
from state.text import Json


def make_control(services: Services) -> Node:
    """The node."""

    async def control(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Wait; any answer but `LOOK_AT_SIGNALS` lets the run go on."""
        said = interrupt(payload(state))
        run = open_context(services, state, runtime, Phase(state["phase"]))
        execution = await resumed_execution(run, state)
        if said != LOOK_AT_SIGNALS and not run.outer:  # a nested one is driven by the run around it
            row = execution.signals.set_control(Control())
            await run.emit("control_changed", also=[row], **Control(by="human").model_dump())
        return await catch_up(execution, state)

    return control


def payload(state: SupervisorState) -> Json:
    """What a human sees who has the wheel: chapter 15.12.4, `TakeoverContext`."""
    driving = "handed_over" if state["phase"] == Phase.handed_over else "paused"
    return {"control": driving, "context": takeover_context(records_of(state))}
