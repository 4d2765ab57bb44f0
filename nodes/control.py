"""Control: the run is paused, or in a human's hands. One interrupt, until somebody lets it go on."""

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from nodes.approve import take_answers
from nodes.policy.answers import GO_ON, LOOK_AT_SIGNALS, RESUME, is_go_on
from nodes.policy.approvals import open_questions
from nodes.policy.takeover import takeover_context
from nodes.runtime.audit import steered
from nodes.runtime.context import Node, open_context
from nodes.runtime.execution import catch_up, resumed_execution
from nodes.runtime.services import Services
from state.channels import control_of, records_of
from state.run import Phase
from state.signal import Control, Resume
from state.supervisor import SupervisorState, Update
from state.text import Json


def make_control(services: Services) -> Node:
    """The node."""

    async def control(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Wait; only what says so lets the run go on. An answer to an open question is kept for when it does."""
        said = interrupt(payload(state))
        run = open_context(services, state, runtime, Phase(state["phase"]))
        execution = await resumed_execution(run, state)
        unread = ""
        if said == LOOK_AT_SIGNALS or run.outer:  # a nested one is driven by the run around it
            pass
        elif is_go_on(said):
            go_on = Resume(door=services.door or RESUME)
            async with run.audit.sealing(steered(go_on, services.clock.now())) as rows:
                row = execution.signals.set_control(Control())
                await run.emit("control_changed", also=[row, *rows], **Control(by=go_on.by).model_dump())
        else:
            known = len(execution.signals.decisions)
            unread = await take_answers(execution, open_questions(state), said)
            if len(execution.signals.decisions) == known:
                unread = unread or "it answers no open question, and does not say `resume`"
        return {**await catch_up(execution, state), "unread": unread}

    return control


def payload(state: SupervisorState) -> Json:
    """What a human sees who has the wheel: chapter 15.12.4, `TakeoverContext`."""
    is_paused = control_of(state).driving == "paused"  # also right behind a hand-back, before that was taken up
    driving = "paused" if is_paused or state["phase"] != Phase.handed_over else "handed_over"
    asked: Json = {
        "control": driving,
        "context": takeover_context(records_of(state), control_of(state)),
        "go_on": GO_ON,
    }
    unread = state.get("unread")
    return {**asked, "error": f"The last answer could not be read: {unread}"} if unread else asked
