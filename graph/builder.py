"""The wiring: conditional edges by the one table of `nodes.policy.phases`. `baton graph` prints it."""

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any, TypeVar, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from graph.guard import LeaseGuard
from graph.invoke import invokable, with_async
from nodes.agents.worker.act import act, after_act, opening
from nodes.agents.worker.conclude import conclude
from nodes.agents.worker.context import WorkerContext, WorkerState
from nodes.agents.worker.think import after_think, brief, think
from nodes.approve import make_approve
from nodes.assemble import make_assemble
from nodes.control import make_control
from nodes.decompose import make_decompose
from nodes.execute import make_execute
from nodes.finish import make_finish
from nodes.intake import make_intake
from nodes.policy.phases import EXITS, Facts, NodeName, Place, is_assembled, next_node, way_out
from nodes.policy.readiness import goes_on
from nodes.review import make_review
from nodes.route import make_route
from nodes.runtime.context import Node
from nodes.runtime.services import OWN, Choice, Services, SupervisorGraph
from nodes.runtime.story import told
from state.channels import control_of, is_over, phase_of, records_of
from state.record import FINAL
from state.run import WAITING
from state.supervisor import SupervisorInput, SupervisorOutput, SupervisorState

Graph = CompiledStateGraph[SupervisorState, None, SupervisorInput, SupervisorOutput]


@cache
def build_worker() -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph that runs one agent on one task; one for all supervisors, as it holds nothing of any."""
    # No `context_schema`: the server makes a JSON schema of it for `/subgraphs`, which live objects do not have.
    worker: StateGraph[WorkerState, WorkerContext, WorkerState, WorkerState] = StateGraph(WorkerState)
    worker.add_node("brief", brief)
    worker.add_node("think", think)
    worker.add_node("act", act)
    worker.add_node("conclude", conclude)
    worker.add_conditional_edges(START, _Edge(opening), ["brief", "act", "think"])
    worker.add_edge("brief", "think")
    worker.add_conditional_edges("think", _Edge(after_think), ["think", "act", "conclude"])
    worker.add_conditional_edges("act", _Edge(after_act), ["think", "conclude"])
    worker.add_edge("conclude", END)
    return worker.compile(name="worker")


def build_graph(
    services: Services,
    *,
    guard: LeaseGuard | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
) -> Graph:
    """The supervisor graph (design section 2); `guard` where no door of ours drives it."""
    graph, worker = SupervisorGraph(services), build_worker()
    chosen = _Chosen(services, worker)
    for name, node in _nodes(services, worker).items():
        work = _standing(told(chosen.instead_of(name, node)))
        graph.add_node(name, guard.guarded(work, is_last=name == "finish") if guard else work)
    graph.add_edge(START, "intake")
    for name, exits in EXITS.items():
        graph.add_conditional_edges(name, _Edge(partial(_way_out, name)), list(exits))
    graph.add_edge("finish", END)
    return invokable(graph.compile(checkpointer=with_async(checkpointer), store=with_async(store), name="supervisor"))


def _nodes(services: Services, worker: CompiledStateGraph[Any, Any, Any, Any]) -> dict[NodeName, Node]:
    return {
        "intake": make_intake(services),
        "decompose": make_decompose(services),
        "route": make_route(services),
        "execute": make_execute(services, worker),
        "approve": make_approve(services),
        "control": make_control(services),
        "review": make_review(services),
        "assemble": make_assemble(services),
        "finish": make_finish(services),
    }


class _Chosen:
    """The nodes of runs whose assistant has chosen another model or team of the server's, each set made once."""

    def __init__(self, services: Services, worker: CompiledStateGraph[Any, Any, Any, Any]) -> None:
        self._services = services
        self._worker = worker
        self._made: dict[Choice, dict[NodeName, Node]] = {}

    def instead_of(self, name: NodeName, node: Node) -> Node:
        """The node, or where the run's terms name a choice the one that is made for it; intake chooses itself."""

        @wraps(node)
        async def fitting(state: SupervisorState, runtime: Runtime[None]) -> Any:
            terms = state.get("terms") or {}
            choice = Choice(str(terms.get("chosen_model") or ""), str(terms.get("chosen_team") or ""))
            if choice == OWN or name == "intake":
                return await node(state, runtime)
            if choice not in self._made:
                self._made[choice] = _nodes(self._services.chosen(choice), self._worker)
            return await self._made[choice][name](state, runtime)

        return fitting


def _standing(node: Node) -> Node:
    """The node, in the phase that goes on; after it the state says `waiting` where a human is asked next."""

    @wraps(node)
    async def standing(state: SupervisorState, runtime: Runtime[None]) -> Any:
        phase = phase_of(state)
        known: SupervisorState = {**state, "phase": phase.value} if phase else state
        update = await node(known, runtime)
        after = cast(SupervisorState, {**known, **update})
        may_wait = after.get("asked") or any(task["status"] == "parked" for task in after.get("tasks") or [])
        if may_wait and next_node(facts_of(after)) == "approve":
            return {**update, "phase": WAITING, "then": after["phase"]}
        return {**update, "phase": after["phase"]} if state.get("phase") == WAITING else update

    return standing


State = TypeVar("State")


class _Edge(Runnable[State, str]):
    """Where a node leads. LangGraph asks a plain function in a thread when the graph runs async.

    A run that is cancelled while it waits for that thread would keep what the node changed without where it leads, and
    going on would end it there: LangGraph saves what a cancelled step has written so far.
    """

    name = "edge"

    def __init__(self, way: Callable[[State], str]) -> None:
        self.way = way

    def invoke(self, input: State, config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002, ARG002 - LangChain's
        """The next node."""
        return self.way(input)

    async def ainvoke(self, input: State, config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002, ARG002
        """The next node, without a pause in which the run could be cancelled."""
        return self.way(input)


def _way_out(node: NodeName, state: SupervisorState) -> Place:
    return way_out(node, facts_of(state))


def facts_of(state: SupervisorState) -> Facts:
    """What the edges look at."""
    statuses = {task["status"] for task in state.get("tasks") or []}
    waits = "parked" in statuses and not goes_on(records_of(state), state.get("decisions") or {})
    return Facts(
        phase=phase_of(state),
        driving=control_of(state).driving,
        plan_waits=bool(state.get("asked")),
        gave_up=state.get("error") is not None,
        can_work=not waits,
        has_open_tasks=not statuses <= FINAL,
        reported=is_assembled(state.get("report")),
        is_over=is_over(state),
        turned_away=bool(state.get("turned_away")),
    )
