"""Route: an agent for every task, with all scores kept."""

from langgraph.runtime import Runtime

from nodes.policy import routing
from nodes.runtime.context import open_context
from nodes.runtime.node import Node
from nodes.runtime.services import Services
from state.phase import Phase
from state.record import TaskRecord
from state.supervisor import SupervisorState, Update


def make_route(services: Services) -> Node:
    """The node."""

    async def route(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Assign every task that has nobody."""
        run = open_context(services, state, runtime, Phase.routing)
        await run.enter()
        records = [TaskRecord.model_validate(task) for task in state["tasks"]]
        routed = [
            record if record.route else record.model_copy(update={"route": routing.route(record.task, team)})
            for team in [services.team.specs]
            for record in records
        ]
        return {"tasks": [record.model_dump(mode="json") for record in routed], "phase": Phase.executing.value}

    return route
