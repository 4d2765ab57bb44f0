"""Teams: the agents a run may use, from a YAML file, from Python, or built in.

A file is read as a whole, and all that is wrong is said at once, each with its line. `package.module:name` under `run:`
makes anything an agent that Python can import, also from modules beside the file, and in `tools:` anything a tool.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from langchain_core.tools import BaseTool, tool
from pydantic import ValidationError

from graph.policy_text import checked
from nodes.tools.toolbox import TOOL_NAMES
from state.agent import AgentSpec, Team, faults
from state.errors import PolicyInvalid, TeamInvalid
from state.text import Json, in_words

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one of libyaml, where PyYAML has it, is ten times as fast."""

PARTS = ("agents", "policy")
PARTS_SAID = "`agents:` and may have `policy:`"
Problem = tuple[int, str]
"""A line, from 1, and what is wrong there."""


def parse_team(text: str, name: str, folder: Path | None = None) -> Team:
    """A team from YAML text; `name` stands in error messages, `folder` is where the modules of `run:` may be.

    Raises:
        TeamInvalid: it is not YAML, or not a team; says all that is wrong, with lines.
    """
    try:
        root = yaml.compose(text, Loader=LOADER)
        raw: Any = yaml.load(text, Loader=LOADER)  # noqa: S506 - one of the safe two
    except Exception as error:  # PyYAML raises whatever its constructors run into: `!!timestamp x`
        line = _line_of_error(error)
        raise TeamInvalid(f"{name} is not YAML: {' '.join(str(error).split())}", [(line, str(error))]) from error
    entries = raw.get("agents") if isinstance(raw, dict) else None
    if not isinstance(entries, list) or not entries:
        missing = "has no `agents:` list; see `baton team` for what one looks like"
        raise TeamInvalid(f"{name} {missing}", [(1, f"it {missing}")])
    file = _File(entries, root, folder)
    specs, problems = file.specs()
    policy, wrong = file.policy(raw)
    problems = sorted([*problems, *wrong])
    if problems:
        said = "; ".join(f"line {line}: {problem}" for line, problem in problems)
        raise TeamInvalid(f"{name} cannot be used: {' '.join(said.split())}", problems)
    return Team(specs, policy)


@dataclass(frozen=True)
class _File:
    """A parsed file beside its nodes, which know their lines."""

    entries: Sequence[Any]
    root: Any
    folder: Path | None

    def specs(self) -> tuple[list[AgentSpec], list[Problem]]:
        """The agents, and all that is wrong with them, by line."""
        specs: list[AgentSpec] = []
        problems = list(self._strays())
        for number, entry in enumerate(self.entries):
            spec, wrong = self._spec(number, entry)
            specs += [spec] if spec else []
            problems += wrong
        problems += self._between(specs)
        return specs, sorted(problems)

    def policy(self, raw: Mapping[str, Any]) -> tuple[Json, list[Problem]]:
        """The policy fields that runs of the team have, and what is wrong with them."""
        given = raw.get("policy")
        try:
            if given is not None and not isinstance(given, dict):
                raise PolicyInvalid("a policy is a mapping of its fields; write `oversight: in_command`")
            return checked(given or {}), []
        except PolicyInvalid as error:
            return {}, [(self._line("policy"), f"policy: {error}")]

    def _spec(self, number: int, entry: Any) -> tuple[AgentSpec | None, list[Problem]]:
        who = entry.get("name", f"agent {number + 1}") if isinstance(entry, dict) else f"agent {number + 1}"
        problems: list[Problem] = []
        if isinstance(entry, dict):
            entry, missing = self._imported(number, entry)
            problems += [(line, f"{who}: {said}") for line, said in missing]
        try:
            return AgentSpec.model_validate(entry), problems
        except ValidationError as error:
            faulty = {one["loc"][0] for one in error.errors() if one["loc"]}
            for one in error.errors():
                where = ".".join(map(str, one["loc"]))
                problems.append((self._line("agents", number, *one["loc"]), f"{who}: {where}: {one['msg']}"))
        with suppress(ValidationError, TypeError):  # what is right about it is compared with the others
            return AgentSpec.model_validate({key: entry[key] for key in entry if key not in faulty}), problems
        return None, problems

    def _imported(self, number: int, entry: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Problem]]:
        """The entry with what it names by `package.module:name` in its place; what cannot be imported is left out."""
        problems: list[Problem] = []
        tools: list[Any] = []
        named = entry.get("tools")
        for place, given in enumerate(named if isinstance(named, list) else []):
            try:
                tools.append(_tool(given, self.folder))
            except TeamInvalid as error:
                problems.append((self._line("agents", number, "tools", place), str(error)))
        entry = {**entry, "tools": tools} if isinstance(named, list) else entry
        if "run" not in entry:
            return entry, problems
        try:
            return {**entry, "run": imported(entry["run"], self.folder)}, problems
        except TeamInvalid as error:
            problems.append((self._line("agents", number, "run"), f"run: {error}"))
            return {key: value for key, value in entry.items() if key != "run"}, problems

    def _between(self, specs: Sequence[AgentSpec]) -> Iterator[Problem]:
        """What is wrong between agents."""
        names = [entry.get("name") if isinstance(entry, dict) else None for entry in self.entries]
        for agent, fault in faults(specs, [name for name in names if isinstance(name, str)]):
            last = max((n for n, name in enumerate(names) if name == agent), default=0)
            yield self._line("agents", last), fault

    def _strays(self) -> Iterator[Problem]:
        """Keys that mean nothing, and keys that are there twice: YAML itself would take the last and say nothing."""
        for key, _ in self.root.value:
            if key.value not in PARTS:
                yield key.start_mark.line + 1, f"{key.value} is no part of a team file, which has {PARTS_SAID}"
        todo = [self.root]
        while todo:
            node = todo.pop()
            if isinstance(node, yaml.SequenceNode):
                todo += node.value
            if isinstance(node, yaml.MappingNode):
                seen: set[str] = set()
                for key, value in node.value:
                    if key.value in seen:
                        yield key.start_mark.line + 1, f"{key.value} is there twice"
                    seen.add(key.value)
                    todo.append(value)

    def _line(self, *path: int | str) -> int:
        """The line of the innermost node on `path` that there is."""
        node, line = self.root, int(self.root.start_mark.line) + 1
        for step in path:
            found = _step(node, step)
            if found is None:
                break
            line, node = found
        return line


def _tool(named: Any, folder: Path | None) -> Any:
    """A built-in tool's name as it is, an imported tool by its place."""
    if not isinstance(named, str) or named in TOOL_NAMES:
        return named
    if ":" in named:
        return imported_tool(named, folder)
    raise TeamInvalid(f"there is no tool {named!r}; there are {', '.join(TOOL_NAMES)}, or package.module:name")


def _step(node: Any, step: int | str) -> tuple[int, Any] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step].start_mark.line + 1, node.value[step]
    if isinstance(node, yaml.MappingNode):
        pairs: Mapping[str, tuple[Any, Any]] = {key.value: (key, value) for key, value in node.value}
        if str(step) in pairs:
            key, value = pairs[str(step)]
            return key.start_mark.line + 1, value
    return None


def _line_of_error(error: Exception) -> int:
    mark = getattr(error, "problem_mark", None)
    return int(mark.line) + 1 if mark else 1


def open_team(team: Team | str | Path | Iterable[AgentSpec] | None = None) -> Team:
    """A team from what a caller has: nothing (the built-in seven), a YAML file, or specs."""
    if isinstance(team, Team):
        return team
    if team is None:
        return parse_team(files("graph").joinpath("builtin.yaml").read_text("utf-8"), "the built-in team")
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


def imported(where: Any, folder: Path | None) -> Any:
    """What `package.module:name` names.

    Raises:
        TeamInvalid: it has another form, or cannot be imported; whatever the import raises is in the message.
    """
    module, colon, name = str(where).partition(":")
    if not (colon and module and name and isinstance(where, str)):
        raise TeamInvalid(f"{where!r} is not of the form package.module:name")
    beside = str(folder.absolute()) if folder else ""
    if beside and beside not in sys.path:
        sys.path.append(beside)
    try:
        found = import_module(module)
    except SystemExit as error:
        raise TeamInvalid(f"{module} cannot be imported: it ends the process when it is imported") from error
    except Exception as error:
        raise TeamInvalid(f"{module} cannot be imported: {in_words(error)}") from error
    for part in name.split("."):
        found = getattr(found, part, None)  # type: ignore[assignment]
    if found is None:
        raise TeamInvalid(f"there is no {name!r} in {module}")
    return found


def imported_tool(where: str, folder: Path | None) -> BaseTool:
    """The LangChain tool of that name; a function with a docstring and typed arguments becomes one.

    Raises:
        TeamInvalid: it cannot be imported, or no tool can be made of it.
    """
    found = imported(where, folder)
    if isinstance(found, BaseTool):
        return found
    if not callable(found) or isinstance(found, type):
        raise TeamInvalid(f"{where} is no tool: it has to be a LangChain tool, or a function with a docstring")
    try:
        made: BaseTool = tool(found)
    except (TypeError, ValueError) as error:
        raise TeamInvalid(f"{where} is no tool: {error}") from error
    return made
