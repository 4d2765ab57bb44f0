"""A team: the agents a run may use, from a YAML file, from Python, or built in."""

from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from nodes.tools.toolbox import TOOL_NAMES
from state.agent import AgentSpec
from state.errors import TeamInvalid

TeamLike = "Team | str | Path | Iterable[AgentSpec] | None"


class Team:
    """Agents by name, in their order.

    Raises:
        TeamInvalid: no agents, a name twice, a tool or worker that does not exist.
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


def open_team(team: "Team | str | Path | Iterable[AgentSpec] | None" = None) -> Team:
    """A team from what a caller has: nothing (the built-in seven), a YAML file, or specs."""
    if isinstance(team, Team):
        return team
    if team is None:
        return parse_team(files("nodes.agents").joinpath("builtin.yaml").read_text("utf-8"), "the built-in team")
    if isinstance(team, str | Path):
        return load_team(Path(team))
    return Team(team)


def load_team(path: Path) -> Team:
    """A team from a YAML file with `agents: [{name, role, …}]`.

    Raises:
        TeamInvalid: the file is missing, is not YAML, or is not a team.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TeamInvalid(f"team file {path} cannot be read: {_why(error)}; give a YAML file with `agents:`") from error
    return parse_team(text, f"team file {path}")


def parse_team(text: str, name: str) -> Team:
    """A team from YAML text; `name` stands in error messages."""
    try:
        raw: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise TeamInvalid(f"{name} is not YAML: {' '.join(str(error).split())}") from error
    entries = raw.get("agents") if isinstance(raw, dict) else None
    if not isinstance(entries, list) or not entries:
        raise TeamInvalid(f"{name} has no `agents:` list; see `baton team` for what one looks like")
    specs, problems = [], []
    for number, entry in enumerate(entries, 1):
        try:
            specs.append(AgentSpec.model_validate(entry))
        except ValidationError as error:
            who = entry.get("name", f"agent {number}") if isinstance(entry, dict) else f"agent {number}"
            problems += [f"{who}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    if problems:
        raise TeamInvalid(f"{name} cannot be used: " + "; ".join(problems))
    return Team(specs)


def _faults(specs: tuple[AgentSpec, ...]) -> Iterator[str]:
    if not specs:
        yield "it has no agents"
    names = [spec.name for spec in specs]
    for name in dict.fromkeys(n for n in names if names.count(n) > 1):
        yield f"agent {name!r} is there {names.count(name)} times"
    for spec in specs:
        for tool in spec.tools:
            if isinstance(tool, str) and tool not in TOOL_NAMES:
                yield f"{spec.name}: there is no tool {tool!r}; there are {', '.join(TOOL_NAMES)}"
        for worker in spec.workers:
            if worker not in names:
                yield f"{spec.name}: worker {worker!r} is not in the team"
        if spec.run is not None and not callable(spec.run):
            yield f"{spec.name}: `run` is not callable"


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
