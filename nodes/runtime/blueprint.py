"""The wiring of a supervisor graph together with what it was built from.

A compiled graph keeps what it was compiled from as its `builder`. So whoever has a nested supervisor as an agent can
find that one's team: to undo what was done in it, in a process where it has not run.
"""

from langgraph.graph import StateGraph

from nodes.runtime.services import Services
from state.supervisor import SupervisorInput, SupervisorOutput, SupervisorState


class Blueprint(StateGraph[SupervisorState, None, SupervisorInput, SupervisorOutput]):
    """A supervisor graph before it is compiled."""

    def __init__(self, services: Services) -> None:
        super().__init__(SupervisorState, input_schema=SupervisorInput, output_schema=SupervisorOutput)
        self.services = services
