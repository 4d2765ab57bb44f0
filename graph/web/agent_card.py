"""What the server says of itself to agents that speak A2A: who works here, on what, and how to answer its questions.

LangGraph's server speaks the protocol, on a path of its own for each assistant; its own card would name the graph only.
"""

import asyncio
from importlib.metadata import version

from langgraph_sdk import get_client
from langgraph_sdk.errors import APIStatusError
from langgraph_sdk.schema import Assistant
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from graph.app import served
from graph.web.problems import Problem
from state.agent import AgentSpec
from state.text import Json

GRAPH = "supervisor"
"""What langgraph.json calls the served graph; its own assistant is meant where a client names none."""
ABOUT = (
    "Splits a request into tasks, gives each to the agent that fits, answers from the sources it has with citations, "
    "and asks a human before anything that matters. A task then is in state input-required: send a text message with "
    "its taskId and contextId, “yes” or “no, because …”; a data part {“resume”: …} answers several questions. "
    "A message with the contextId alone is a follow-up."
)
TAKES = ["text/plain", "application/json", "application/pdf", "text/markdown", "image/png", "image/jpeg"]
GIVES = ["text/plain", "text/markdown", "application/json"]
PROTOCOL = "0.3.0"
"""Of A2A: what LangGraph's server says when it streams by 1.0, clients of 1.0 cannot read (langgraph-api 0.16.7)."""
ANSWERS: Json = {
    "id": "answer",
    "name": "Answer a request from sources",
    "description": "Plans, works, checks, and writes one report that cites the sources it rests on.",
    "tags": ["planning", "research", "citations", "approvals"],
    "examples": ["Compare the frameworks in the sources, and say which one has durable execution."],
}


async def _card(request: Request) -> Response:
    assistant = await _assistant(request.path_params.get("assistant_id") or request.query_params.get("assistant_id"))
    services = await asyncio.to_thread(served)
    url = f"{str(request.base_url).rstrip('/')}/a2a/{assistant['assistant_id']}"
    told: Json = {
        "name": "Baton" if assistant["name"] == GRAPH else assistant["name"],
        "description": "\n".join(filter(None, [assistant.get("description"), ABOUT])),
        "version": version("baton"),
        "url": url,
        "preferredTransport": "JSONRPC",
        "protocolVersion": PROTOCOL,
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": PROTOCOL}],
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": [*TAKES],
        "defaultOutputModes": [*GIVES],
        "skills": [ANSWERS, *map(_skill, services.team.specs)],
    }
    return JSONResponse(told)


async def _assistant(asked: str | None) -> Assistant:
    """The assistant of that id; without one, that which the server has made of the graph."""
    assistants = get_client().assistants
    if not asked:
        [made] = await assistants.search(graph_id=GRAPH, metadata={"created_by": "system"}, limit=1)
        return made
    try:
        return await assistants.get(asked)
    except APIStatusError as error:
        raise Problem(
            error.status_code, f"there is no assistant {asked[:80]!r}; leave it out for Baton's own"
        ) from error


def _skill(agent: AgentSpec) -> Json:
    """What an agent of the team is there for."""
    return {
        "id": agent.name,
        "name": agent.name if agent.role == agent.name else f"{agent.name}, {agent.role}",
        "description": agent.specialty or f"What a {agent.role} does.",
        "tags": [*dict.fromkeys([agent.role, *agent.skills.kinds])],
    }


CARD_ROUTES = [
    Route("/.well-known/agent-card.json", _card),
    Route("/a2a/{assistant_id}/.well-known/agent-card.json", _card),
]
