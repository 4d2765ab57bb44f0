"""Route: an agent for every task, with all scores kept."""

from langgraph.runtime import Runtime

from nodes.policy import routing
from nodes.policy.scope import marks_of
from nodes.runtime.context import RunContext, open_context
from nodes.runtime.node import Node
from nodes.runtime.services import Services
from state.phase import Phase
from state.record import Route, TaskRecord
from state.supervisor import SupervisorState, Update


def make_route(services: Services) -> Node:
    """The node."""

    async def route(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Assign every task that has nobody."""
        run = open_context(services, state, runtime, Phase.routing)
        await run.enter()
        records = [TaskRecord.model_validate(task) for task in state["tasks"]]
        routed = [
            record if record.route else marked(record, routing.route(record.task, services.team.specs), services, run)
            for record in records
        ]
        return {"tasks": [record.model_dump(mode="json") for record in routed], "phase": Phase.executing.value}

    return route


def marked(record: TaskRecord, route: Route, services: Services, run: RunContext) -> TaskRecord:
    """The task with its agent, and with what speaks for asking a human before it runs."""
    marks = marks_of(record.task, route, services.team.agent(route.agent), run.policy)
    return record.model_copy(update={"route": route, "marks": marks})
