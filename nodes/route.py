"""Route: an agent for every task, with all scores kept."""

from langgraph.runtime import Runtime

from nodes.policy import routing
from nodes.policy.phases import is_routed
from nodes.policy.routing import marks_of
from nodes.runtime.context import Node, RunContext, open_context
from nodes.runtime.episodes import earned
from nodes.runtime.services import Services
from state.channels import dumped, records_of
from state.errors import TeamInvalid
from state.record import Route, TaskRecord
from state.run import Phase
from state.supervisor import SupervisorState, Update


def make_route(services: Services) -> Node:
    """The node."""

    async def route(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Assign every task that has nobody."""
        run = open_context(services, state, runtime, Phase.routing)
        await run.enter()
        team, record = services.team.specs, await earned(run)
        routed = [
            r if r.route else marked(r, routing.route(r.task, team, record), services, run) for r in records_of(state)
        ]
        if not is_routed(routed):
            raise TeamInvalid("a task has nobody to do it; give a team with at least one agent")
        return {"tasks": dumped(routed), "phase": Phase.executing.value}

    return route


def marked(record: TaskRecord, route: Route, services: Services, run: RunContext) -> TaskRecord:
    """The task with its agent, and with what speaks for asking a human before it runs."""
    marks = marks_of(record.task, route, services.team.agent(route.agent), run.policy)
    return record.model_copy(update={"route": route, "marks": marks})
