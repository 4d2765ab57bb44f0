"""A team: the agents a run may use, by name."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from state.agent import HUMAN, AgentSpec
from state.errors import TeamInvalid


class Team:
    """Agents by name, in their order.

    Raises:
        TeamInvalid: no agents, a name twice, an unknown worker, or a limit that cannot be enforced.
    """

    def __init__(self, specs: Iterable[AgentSpec]) -> None:
        self.specs = tuple(specs)
        problems = [fault for _, fault in faults(self.specs)]
        if problems:
            raise TeamInvalid("the team cannot be used: " + "; ".join(problems))
        self._by_name = {spec.name: spec for spec in self.specs}

    def __iter__(self) -> Iterator[AgentSpec]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def agent(self, name: str) -> AgentSpec:
        """The agent of that name; TeamInvalid if there is none."""
        try:
            return self._by_name[name]
        except KeyError:
            known = ", ".join(self._by_name)
            raise TeamInvalid(f"there is no agent {name!r} in the team; there are: {known}") from None


def _named(spec: AgentSpec) -> Iterator[tuple[str, str]]:
    """The agents that an agent names, and as what."""
    yield from (("worker", name) for name in spec.workers)
    yield from (("handoff", name) for name in spec.handoffs)
    if spec.escalate_to and spec.escalate_to != HUMAN:
        yield "escalation target", spec.escalate_to


def faults(specs: Sequence[AgentSpec], also: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """All that keeps `specs` from being a team: the agent (empty for the team as a whole), and what is wrong.

    `also`: names of agents that are there, but cannot be looked at.
    """
    if not specs and not also:
        yield "", "it has no agents"
    names = [spec.name for spec in specs]
    for name in dict.fromkeys(n for n in names if names.count(n) > 1):
        yield name, f"agent {name!r} is there {names.count(name)} times"
    for spec in specs:
        yield from ((spec.name, f"{spec.name}: {fault}") for fault in _own_faults(spec, {*names, *also}))


def _own_faults(spec: AgentSpec, names: Collection[str]) -> Iterator[str]:
    if spec.name == HUMAN:
        yield f"no agent can be called {HUMAN!r}, that is whoever answers; give it another name"
    for what, name in _named(spec):
        if name not in names:
            yield f"{what} {name!r} is not in the team"
        elif name == spec.name:
            yield f"{what} {name!r} is the agent itself"
    if spec.run is None:
        return
    if not callable(spec.run) and not hasattr(spec.run, "ainvoke"):
        yield "`run` is neither a function nor something with `ainvoke`"
    if not _is_metered(spec.run):
        for limit in spec.limits.model_fields_set & {"iterations", "tokens"}:
            yield f"limits.{limit} cannot be enforced, `run` does its own thinking; use limits.timeout_s"


def _is_metered(run: Any) -> bool:
    """Whether its model calls are seen: what LangChain runs here, and is no supervisor with agents of its own."""
    schema = getattr(getattr(run, "builder", None), "state_schema", None)
    is_elsewhere = hasattr(run, "assistant_id")  # a RemoteGraph
    return hasattr(run, "ainvoke") and not is_elsewhere and getattr(schema, "__name__", "") != "SupervisorState"
