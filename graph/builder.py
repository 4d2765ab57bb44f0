"""The wiring: which node comes after which. `baton graph` prints it."""

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from nodes.agents.worker.act import act, after_act, opening
from nodes.agents.worker.bench import Bench, WorkerState
from nodes.agents.worker.brief import brief
from nodes.agents.worker.conclude import conclude
from nodes.agents.worker.think import after_think, think
from nodes.approve import make_approve
from nodes.assemble import make_assemble
from nodes.control import make_control
from nodes.decompose import make_decompose
from nodes.execute import make_execute
from nodes.finish import make_finish
from nodes.intake import make_intake
from nodes.review import make_review
from nodes.route import make_route
from nodes.runtime.blueprint import Blueprint
from nodes.runtime.services import Services
from state.supervisor import SupervisorInput, SupervisorOutput, SupervisorState

Graph = CompiledStateGraph[SupervisorState, None, SupervisorInput, SupervisorOutput]


def build_worker() -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph that runs one agent on one task."""
    worker = StateGraph(WorkerState, context_schema=Bench)
    worker.add_node("brief", brief)
    worker.add_node("think", think)
    worker.add_node("act", act)
    worker.add_node("conclude", conclude)
    worker.add_conditional_edges(START, opening, ["brief", "act", "think"])
    worker.add_edge("brief", "think")
    worker.add_conditional_edges("think", after_think)
    worker.add_conditional_edges("act", after_act)
    worker.add_edge("conclude", END)
    return worker.compile(name="worker")


def build_graph(services: Services, *, checkpointer: Checkpointer = None, store: BaseStore | None = None) -> Graph:
    """The supervisor graph (design section 2)."""
    graph = Blueprint(services)
    graph.add_node("intake", make_intake(services))
    graph.add_node("decompose", make_decompose(services))
    graph.add_node("route", make_route(services))
    graph.add_node("execute", make_execute(services, build_worker()))
    graph.add_node("approve", make_approve(services))
    graph.add_node("control", make_control(services))
    graph.add_node("review", make_review(services))
    graph.add_node("assemble", make_assemble(services))
    graph.add_node("finish", make_finish(services))
    graph.add_edge(START, "intake")
    graph.add_edge("route", "execute")
    graph.add_edge("assemble", "finish")
    graph.add_edge("finish", END)
    return graph.compile(checkpointer=checkpointer, store=store, name="supervisor")
