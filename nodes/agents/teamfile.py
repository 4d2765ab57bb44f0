"""Team files: read as a whole, and all that is wrong is said at once, each with its line.

`package.module:name` under `run:` makes anything an agent that Python can import, and in `tools:` anything a tool.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from nodes.agents.imports import imported, imported_tool
from nodes.tools.toolbox import TOOL_NAMES
from state.agent import AgentSpec
from state.errors import TeamInvalid
from state.team import Team, faults

Problem = tuple[int, str]
"""A line, from 1, and what is wrong there."""


def parse_team(text: str, name: str, folder: Path | None = None) -> Team:
    """A team from YAML text; `name` stands in error messages, `folder` is where the modules of `run:` may be.

    Raises:
        TeamInvalid: it is not YAML, or not a team; says all that is wrong, with lines.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        raw: Any = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = _line_of_error(error)
        raise TeamInvalid(f"{name} is not YAML: {' '.join(str(error).split())}", [(line, str(error))]) from error
    entries = raw.get("agents") if isinstance(raw, dict) else None
    if not isinstance(entries, list) or not entries:
        missing = "has no `agents:` list; see `baton team` for what one looks like"
        raise TeamInvalid(f"{name} {missing}", [(1, f"it {missing}")])
    file = _File(entries, root, folder)
    specs, problems = file.specs()
    if problems:
        said = "; ".join(f"line {line}: {problem}" for line, problem in problems)
        raise TeamInvalid(f"{name} cannot be used: {said}", problems)
    return Team(specs)


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
        for place, tool in enumerate(named if isinstance(named, list) else []):
            try:
                tools.append(_tool(tool, self.folder))
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
            if key.value != "agents":
                yield key.start_mark.line + 1, f"{key.value} is no part of a team file, which has only `agents:`"
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
