"""The graph that `langgraph.json` serves, and the way to build one's own."""

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, cast

from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from graph.builder import Graph, build_graph
from graph.composition import ModelLike, PolicyLike, TeamLike, compose
from graph.guard import LeaseGuard
from graph.runs import SERVER
from graph.settings import read_settings, uploads_of
from graph.team_file import open_team
from nodes.policy.strictness import stricter
from nodes.runtime.services import Choice, Services


def build_supervisor(
    team: TeamLike = None,
    *,
    policy: PolicyLike = None,
    model: ModelLike = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
) -> Graph:
    """A supervisor as a compiled LangGraph: `invoke`, `stream`, `batch`, `get_state`, `Command(resume=…)`, and async.

        with SqliteSaver.from_conn_string("runs.db") as saver:
            graph = build_supervisor(checkpointer=saver)
            config = {"configurable": {"thread_id": "1"}}
            out = graph.invoke({"query": "…", "sources": ["docs"]}, config)
            if "__interrupt__" in out:  # a question to a human
                out = graph.invoke(Command(resume="yes"), config)
            print(out["report"])

    `graph.invoke(None, config)` goes on after a kill or Ctrl-C: what was finished is not done again, a task that was in
    flight starts again. The input is `query` or `messages` (the last human one is the request), optionally `sources`
    (files and folders), `plan`, `policy` and `schema` (a JSON Schema for `data`); the output has `report`, `messages`,
    `tasks`, `artifacts`, `data`, `fields`, `phase` and `usage`.
    No lease is held: one process at a time is to run a thread. `open_supervisor` sees to that, and to a database.

    Args:
        team: Agents, or the path of a team file; None: `BATON_TEAM`, or the built-in seven.
        policy: What a run may do, as `Policy` or some of its fields; the input's `policy` changes fields for one run.
        model: A chat model or its name; None: `BATON_MODEL`, or what `OPENAI_…` name, or the offline model.
        checkpointer: Any saver. With a sync one (SqliteSaver, PostgresSaver) the sync and the async methods work; with
            one that belongs to an event loop (AsyncSqliteSaver) the async ones on that loop, `invoke` in other threads.
            Without one nothing can be resumed.
        store: Any Store, likewise. Events, signals, deadlines, trust and the ledger of side effects are its rows:
            without one they last as long as the process, and `desk.once` may repeat after a kill what was in flight.

    Raises:
        BadInput: a setting, team, policy or model that cannot be used.
    """
    services = compose(read_settings(), team=team, policy=policy, model=model)
    return build_graph(services, checkpointer=checkpointer, store=store)


@cache
def served() -> Services:
    """What the served graph is built from, read from the settings once, when it is first needed."""
    settings = read_settings()
    roots = (*settings.source_roots, uploads_of(settings, settings.db))
    own = replace(compose(settings), door=SERVER, source_roots=roots, sources=tuple(map(str, settings.sources)))
    models = {"": own.models} | {name: compose(settings, model=name).models for name in settings.models}
    teams = {"": own.team} | {file.stem: open_team(file) for file in settings.teams}
    offers = {
        Choice(model, team): replace(
            own, models=models[model], team=teams[team], policy=stricter(own.policy, teams[team].policy)[0]
        )
        for model, team in product(models, teams)
        if model or team
    }
    return replace(own, offers=offers)


class _Deferred:
    """Stands for the services while the graph is wired, when nothing may be read yet.

    LangGraph looks into what nodes close over for subgraphs, so until then it has no attributes at all.
    """

    is_wired = False

    def __getattr__(self, name: str) -> Any:
        if not self.is_wired or name.startswith("_"):
            raise AttributeError(name)
        return getattr(served(), name)


_services = _Deferred()
guard = LeaseGuard()
"""Around every node of the served graph."""
supervisor: Graph = build_graph(cast(Services, _services), guard=guard)
"""No checkpointer and no store of its own: the server brings both."""
_services.is_wired = True
