"""A team: the agents a run may use, by name."""

from collections.abc import Iterable, Iterator

from state.agent import HUMAN, AgentSpec
from state.errors import TeamInvalid


class Team:
    """Agents by name, in their order.

    Raises:
        TeamInvalid: no agents, a name twice, an unknown worker, or a limit that cannot be enforced.
    """

    def __init__(self, specs: Iterable[AgentSpec]) -> None:
        self.specs = tuple(specs)
        problems = list(_faults(self.specs))
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


def _faults(specs: tuple[AgentSpec, ...]) -> Iterator[str]:
    if not specs:
        yield "it has no agents"
    names = [spec.name for spec in specs]
    for name in dict.fromkeys(n for n in names if names.count(n) > 1):
        yield f"agent {name!r} is there {names.count(name)} times"
    for spec in specs:
        for what, name in _named(spec):
            if name not in names:
                yield f"{spec.name}: {what} {name!r} is not in the team"
            elif name == spec.name:
                yield f"{spec.name}: {what} {name!r} is the agent itself"
        if spec.run is None:
            continue
        if not callable(spec.run) and not hasattr(spec.run, "ainvoke"):
            yield f"{spec.name}: `run` is neither a function nor something with `ainvoke`"
        for limit in spec.limits.model_fields_set & {"iterations", "tokens"}:
            yield f"{spec.name}: limits.{limit} cannot be enforced, `run` does its own thinking; use limits.timeout_s"
