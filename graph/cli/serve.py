"""`baton serve`: LangGraph's server with the control room, as one command."""

import json
import logging
import os
import socket
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from graph.cli.options import AsJson, Db
from graph.cli.screen import print_out, put_json
from state.errors import BadInput, ExtraMissing

UP_WITHIN_S = 120.0


def serve(
    host: Annotated[str, typer.Option("--host", metavar="NAME", help="Where to listen")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="Where to listen")] = 2024,
    in_browser: Annotated[bool, typer.Option("--open", help="Open the control room in a browser")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Serve the control room, and the graph to Studio, chat pages and programs, until Ctrl-C.

    Examples:
      baton serve
      baton serve --db runs.db --port 8000 --open
    """
    try:
        from langgraph_cli.cli import cli  # noqa: PLC0415 # an extra
    except ModuleNotFoundError as missing:
        raise ExtraMissing("served runs", "server") from missing
    if db is not None:
        os.environ["BATON_DB"] = str(db.absolute()) if isinstance(db, Path) else db.uri
    _refuse_taken(host, port)
    address = f"http://{host}:{port}/"
    with TemporaryDirectory(prefix="baton-serve-") as folder:
        config = Path(folder) / "langgraph.json"
        config.write_text(json.dumps(_config()), encoding="utf-8")
        threading.Thread(
            target=_tell_when_up, args=(address,), kwargs={"in_browser": in_browser, "as_json": as_json}, daemon=True
        ).start()
        where = ["--host", host, "--port", str(port), "--config", str(config)]
        cli(["dev", "--no-browser", "--no-reload", "--n-jobs-per-worker", "8", *where], standalone_mode=False)
    return 0


def _refuse_taken(host: str, port: int) -> None:
    """Another server there would answer for this one.

    Raises:
        BadInput: nothing can listen there.
    """
    try:
        with socket.create_server((host, port)):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        raise BadInput(f"{host}:{port} cannot be listened to ({why}); give another one: --port N") from error


def _config() -> dict[str, Any]:
    """What langgraph.json says, for wherever the package lies.

    Raises:
        BadInput: it is not there.
    """
    package = Path(__file__).parents[1]
    for file in (package / "langgraph.json", package.parent / "langgraph.json"):
        if file.is_file():
            said: dict[str, Any] = json.loads(
                file.read_text(encoding="utf-8").replace('"./graph/', f'"{package.as_posix()}/')
            )
            del said["env"]  # the settings read `.env` themselves
            return said
    raise BadInput(f"there is no langgraph.json beside {package}; install Baton again")


def _tell_when_up(address: str, *, in_browser: bool, as_json: bool) -> None:
    until = time.monotonic() + UP_WITHIN_S
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"{address}ok", timeout=2).close()  # nosec B310 # noqa: S310 # our own address
        except urllib.error.HTTPError:
            pass  # it wants the token: it is up
        except OSError:
            time.sleep(0.2)
            continue
        put_json({"url": address}) if as_json else print_out(f"control room: {address}")
        if in_browser and not webbrowser.open(address):
            logging.getLogger("baton").warning("no browser could be opened")
        return
