"""`baton tools`: what agents can use, where it comes from, how risky it is, and why one is off."""

from collections.abc import Iterable
from pathlib import Path

from langchain_core.tools import BaseTool
from pydantic import JsonValue

from graph.cli.console import out, table
from graph.cli.options import AsJson, TeamFile
from graph.cli.screen import one_line, put_json
from graph.composition import compose
from graph.settings import read_settings
from nodes.policy.oversight import is_sensitive
from nodes.runtime.services import Services
from nodes.tools.pages import Web
from nodes.tools.sandbox import missing
from nodes.tools.toolbox import TOOL_NAMES, build_tools
from nodes.tools.web import Outside

COLUMNS = ("name", "from", "risk", "asks", "agents", "off", "about")


def tools(team: TeamFile = None, as_json: AsJson = False) -> int:
    """List the tools there are: the built-in ones, those of the team, and servers of tools.

    Examples:
      baton tools
      baton tools --team team.yaml --json
    """
    services = compose(read_settings(), team=team, model="offline")
    found = [*_built_in(services), *_own(services), *_servers(services)]
    if as_json:
        put_json([*found])
        return 0
    listed = table(*COLUMNS)
    for tool in found:
        listed.add_row(*(_cell(tool[column]) for column in COLUMNS))
    out().print(listed)
    return 0


def _built_in(services: Services) -> list[dict[str, JsonValue]]:
    outside = Outside(Web(is_open=services.fetches_inside), services.search, services.clock.now)
    off = {
        "python": missing(),
        "web_search": "" if services.search else "no search service is set up (BATON_SEARCH)",
    }
    made = build_tools(TOOL_NAMES, None, Path(), "", outside)
    return [_described(tool, "built in", services, _who(services, tool.name), off.get(tool.name, "")) for tool in made]


def _own(services: Services) -> list[dict[str, JsonValue]]:
    own = {tool.name: tool for agent in services.team for tool in agent.tools if isinstance(tool, BaseTool)}
    return [_described(tool, "team", services, _who(services, name), "") for name, tool in own.items()]


def _servers(services: Services) -> list[dict[str, JsonValue]]:
    """Servers of tools; what each has is known when an agent calls it."""
    found: dict[str, list[str]] = {}
    for agent in services.team:
        for name in agent.mcp:
            found.setdefault(name, []).append(agent.name)
    about = "an MCP server; what it has is asked when an agent starts"
    return [
        {"name": name, "from": "mcp", "risk": "", "asks": False, "agents": [*who], "off": "", "about": about}
        for name, who in found.items()
    ]


def _described(
    tool: BaseTool, origin: str, services: Services, agents: Iterable[str], off: str
) -> dict[str, JsonValue]:
    marks = tool.metadata or {}
    asks = bool(marks.get("sensitive")) or is_sensitive(tool.name, services.policy)
    return {
        "name": tool.name,
        "from": origin,
        "risk": str(marks.get("risk") or ("high" if asks else "low")),
        "asks": asks,
        "agents": [*agents],
        "off": off,
        "about": one_line(tool.description),
    }


def _who(services: Services, tool: str) -> list[str]:
    return [agent.name for agent in services.team if tool in {getattr(one, "name", one) for one in agent.tools}]


def _cell(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "a human" if value else ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")
