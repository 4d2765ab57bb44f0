"""Route: an agent for every task, with all scores kept."""

from langgraph.runtime import Runtime

from nodes.policy import routing
from nodes.policy.phases import is_routed
from nodes.runtime.context import open_context
from nodes.runtime.node import Node
from nodes.runtime.services import Services
from state.errors import TeamInvalid
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
        team = services.team.specs
        routed = [r if r.route else r.model_copy(update={"route": routing.route(r.task, team)}) for r in records]
        if not is_routed(routed):
            raise TeamInvalid("a task has nobody to do it; give a team with at least one agent")
        return {"tasks": [record.model_dump(mode="json") for record in routed], "phase": Phase.executing.value}

    return route
