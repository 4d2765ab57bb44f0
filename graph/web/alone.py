"""The control room on a port of this machine, without LangGraph's server around it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from graph.runs import Runs
from nodes.tools.storage import Location
from state.errors import BadInput, ExtraMissing

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware

    from graph.access import Gate
    from graph.web.routes import HANDLERS, ROUTES, opened_room
except ModuleNotFoundError as missing:
    raise ExtraMissing("the control room", "server") from missing


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield


@asynccontextmanager
async def served_room(runs: Runs, port: int, uploads: Location, files: Location | None = None) -> AsyncIterator[str]:
    """The address of a control room that shows and drives these runs while inside, behind the server's gate.

    Raises:
        BadInput: the port is taken.
    """
    app = Starlette(routes=ROUTES, exception_handlers=HANDLERS, middleware=[Middleware(Gate)])
    server = _Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, lifespan="off"))
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            raise BadInput(f"port {port} is taken; give another one: --port N") from error
        async with opened_room(app, runs, uploads, files):
            serving = asyncio.create_task(server.serve([listening]))
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
            finally:
                server.should_exit = True
                await serving
