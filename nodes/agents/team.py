"""A team: the agents a run may use, from a YAML file, from Python, or built in."""

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from nodes.agents.teamfile import parse_team
from nodes.tools.toolbox import TOOL_NAMES
from state.agent import AgentSpec
from state.errors import TeamInvalid
from state.team import Team


def open_team(team: Team | str | Path | Iterable[AgentSpec] | None = None) -> Team:
    """A team from what a caller has: nothing (the built-in seven), a YAML file, or specs."""
    if isinstance(team, Team):
        return team
    if team is None:
        return parse_team(files("nodes.agents").joinpath("builtin.yaml").read_text("utf-8"), "the built-in team")
    if isinstance(team, str | Path):
        return load_team(Path(team))
    return _with_known_tools(Team(team))


def load_team(path: Path) -> Team:
    """A team from a YAML file with `agents: [{name, role, …}]`.

    Raises:
        TeamInvalid: the file is missing, is not YAML, or is not a team.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TeamInvalid(f"team file {path} cannot be read: {_why(error)}; give a YAML file with `agents:`") from error
    return parse_team(text, f"team file {path}", path.parent)


def _with_known_tools(team: Team) -> Team:
    """The team, if every tool it names exists.

    Raises:
        TeamInvalid: naming each tool that does not.
    """
    unknown = [
        f"{spec.name}: there is no tool {tool!r}"
        for spec in team
        for tool in spec.tools
        if isinstance(tool, str) and tool not in TOOL_NAMES
    ]
    if unknown:
        raise TeamInvalid(f"the team cannot be used: {'; '.join(unknown)}; there are {', '.join(TOOL_NAMES)}")
    return team


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
