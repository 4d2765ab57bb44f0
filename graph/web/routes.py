"""The control room's routes: the page, and below `/api` its runs, their events and the verbs of the facade.

Who may reach them is decided before (`graph.access`). What can be sent and what comes back is in `/api/openapi.json`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ExceptionHandler, Receive, Scope, Send

from graph.runs import Runs
from graph.supervisor import Supervisor
from graph.web.mcp_tools import McpTools
from graph.web.openapi import document
from graph.web.page import HEADERS, PAGE_FILES, read_file
from graph.web.passages import passage
from graph.web.problems import Problem, in_one_line, on_error, on_problem, read_body
from graph.web.shared import Shared
from graph.web.uploads import keep_upload
from graph.web.verbs import VERBS, Driving, StartBody, Verb
from graph.web.views import in_full, in_short, needs_human
from nodes.tools.storage import Location
from state.errors import BatonError, ThreadDamaged
from state.text import Json

Body = TypeVar("Body", bound=BaseModel)
MOST = 200
"""Runs on a page at most."""
LOOK_EVERY_S = 0.25
"""Seconds between two looks for new events of a run: another process may write them."""
NOT_KEPT = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Room:
    """What the routes work with while the application is up."""

    def __init__(self, runs: Runs, uploads: Location | None, files: Location | None) -> None:
        self.runs = runs
        self.uploads = uploads
        self.sup = Supervisor(runs, files)
        self.driving = Driving(self.sup)
        self.tools = McpTools(self.sup, self.driving)
        self.lists = Shared[tuple[int, int], Json]()


@asynccontextmanager
async def opened_room(
    app: Starlette, runs: Runs, uploads: Location | None = None, files: Location | None = None
) -> AsyncIterator[None]:
    """While inside, the application's routes show and drive these runs.

    `uploads`: the folder for files that people give; none are taken without. `files`: the one that workers share.
    """
    app.state.room = Room(runs, uploads, files)
    try:
        async with app.state.room.tools.opened():
            yield
    finally:
        await app.state.room.lists.close()
        await app.state.room.driving.close()


def _room(request: Request) -> Room:
    room: Room = request.app.state.room
    return room


async def _list(request: Request) -> Response:
    """All runs that are open, those that need a human first, and a page of the last ones that have ended."""
    room, limit, offset = _room(request), _number(request, "limit", 50), _number(request, "offset", 0)
    told = await room.lists.get((limit, offset), lambda: _listed(room, limit, offset))
    return JSONResponse(told, headers=NOT_KEPT)


async def _listed(room: Room, limit: int, offset: int) -> Json:
    sup, damaged = room.sup, list[ThreadDamaged]()
    going = await sup.runs(only_open=True, on_damaged=damaged.append)
    page = await sup.runs(limit=min(limit, MOST), offset=offset, on_damaged=damaged.append) if limit else []
    return {
        "needs_you": [in_short(run) for run in going if needs_human(run)],
        "running": [in_short(run) for run in going if not needs_human(run)],
        "ended": [in_short(run) for run in page if run.has_ended],
        "next": offset + min(limit, MOST) if limit and len(page) == min(limit, MOST) else None,
        "damaged": [*sorted({str(error) for error in damaged})],
        "now": room.runs.clock.now(),
    }


async def _show(request: Request) -> Response:
    room = _room(request)
    after = _number(request, "after", 0) if "after" in request.query_params else None
    run = await room.sup.view(request.path_params["thread"])
    return JSONResponse(await in_full(room.runs, run, after), headers=NOT_KEPT)


async def _source(request: Request) -> Response:
    """A place in one of the run's sources, with what stands around it."""
    room, query = _room(request), request.query_params
    most = room.runs.services.max_source_bytes
    told = await passage(room.runs, request.path_params["thread"], query.get("file", ""), query.get("place", ""), most)
    return JSONResponse(told, headers=NOT_KEPT)


async def _team(request: Request) -> Response:
    sup = _room(request).sup
    members, trust = await sup.team(request.path_params["thread"]), await sup.trust()
    told = [
        {
            **member.model_dump(mode="json"),
            "trust": trust[member.agent].model_dump(mode="json") if member.agent in trust else None,
        }
        for member in members
    ]
    return JSONResponse({"team": told}, headers=NOT_KEPT)


async def _plan(request: Request) -> Response:
    return JSONResponse(await _room(request).sup.plan(request.path_params["thread"]), headers=NOT_KEPT)


async def _events(request: Request) -> Response:
    """Events after the last one that the client has, and then as they happen."""
    room, thread_id = _room(request), request.path_params["thread"]
    last = request.headers.get("last-event-id", "")
    after = int(last) if last.isascii() and last.isdigit() and len(last) < 10 else _number(request, "after", 0)
    await room.sup.view(thread_id)  # refuses a thread that is not there

    async def told() -> AsyncIterator[dict[str, str]]:
        seq = after
        while True:
            for event in await room.runs.events(thread_id, seq):
                seq = event.seq
                yield {"id": str(seq), "data": event.model_dump_json()}
            await asyncio.sleep(LOOK_EVERY_S)

    return EventSourceResponse(told(), headers=NOT_KEPT, ping=15)


async def _offers(request: Request) -> Response:
    """What a start form can choose from: teams and models, whether runs can be queued, and bytes of a file."""
    room = _room(request)
    own = room.runs.services
    teams = {choice.team: services.team.names for choice, services in own.offers.items() if choice.team}
    told = {
        "teams": [{"name": name, "agents": [*names]} for name, names in {"": own.team.names, **teams}.items()],
        "models": sorted({choice.model for choice in own.offers} - {""}),
        "queue": room.runs.database.queue is not None,
        "file_bytes": own.max_source_bytes if room.uploads else 0,
    }
    return JSONResponse(told, headers=NOT_KEPT)


async def _upload(request: Request) -> Response:
    room = _room(request)
    path = await keep_upload(request, room.uploads, room.runs.services.max_source_bytes)
    return JSONResponse({"path": path}, 201, headers=NOT_KEPT)


async def _start(request: Request) -> Response:
    thread_id = await _room(request).driving.start(_fitted(StartBody, await read_body(request)))
    return JSONResponse({"thread_id": thread_id}, 202, headers=NOT_KEPT)


def _does(verb: Verb) -> Callable[[Request], Awaitable[Response]]:
    async def do(request: Request) -> Response:
        room, thread_id = _room(request), request.path_params["thread"]
        await room.driving.do(verb, thread_id, _fitted(verb.body, await read_body(request)))
        return JSONResponse({"thread_id": thread_id}, 202, headers=NOT_KEPT)

    return do


def _fitted(model: type[Body], given: object) -> Body:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise Problem(422, in_one_line(error)) from error


def _number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name, str(default))
    if not (given.isascii() and given.isdigit() and len(given) < 11):
        raise Problem(422, f"{name} is {given[:40]!r}; give a whole number, 0 or more")
    return int(given)


async def _document(_: Request) -> Response:
    return JSONResponse(document(version("baton")), headers=NOT_KEPT)


def _file(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def file(_: Request) -> Response:
        media, text = PAGE_FILES[name], await asyncio.to_thread(read_file, name)
        return Response(text, media_type=media, headers=HEADERS)

    return file


class _Mcp:
    """The tools for other programs' models, as the ASGI application that the library has."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].state.room.tools.serve(scope, receive, send)


ROUTES = [
    Route("/", _file("index.html")),
    Route("/mcp", _Mcp(), methods=["POST"]),
    *(Route(f"/room/{name}", _file(name)) for name in PAGE_FILES if name != "index.html"),
    Route("/api/openapi.json", _document),
    Route("/api/offers", _offers),
    Route("/api/uploads", _upload, methods=["POST"]),
    Route("/api/runs", _list),
    Route("/api/runs", _start, methods=["POST"]),
    Route("/api/runs/{thread}", _show),
    Route("/api/runs/{thread}/team", _team),
    Route("/api/runs/{thread}/plan", _plan),
    Route("/api/runs/{thread}/source", _source),
    Route("/api/runs/{thread}/events", _events),
    *(Route(f"/api/runs/{{thread}}/{name}", _does(verb), methods=["POST"]) for name, verb in VERBS.items()),
]
HANDLERS: dict[type[Exception], ExceptionHandler] = {HTTPException: on_problem, BatonError: on_error}
"""What becomes of errors, for `exception_handlers` of the application."""
