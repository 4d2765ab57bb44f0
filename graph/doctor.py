"""The doctor: what is wrong with a database, with a set-up, and with a `langgraph.json`, and what to do about it.

Nothing is changed, and no thread's work is gone on with. A key is never shown.
"""

import ast
import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import Request, urlopen

from graph.address import Address, PostgresAddress
from graph.database import open_database
from graph.reading import Reading
from graph.settings import Settings, beside
from graph.sqlite.connection import connected_read_only, is_writable
from graph.sqlite.lease import Leases
from graph.sqlite.salvage import Saved, faults_of, save, threads_in
from graph.team_file import open_team
from nodes.llm.choose import OPENAI_URL, make_models
from nodes.runtime.audit import Seals
from nodes.runtime.clock import Clock
from nodes.tools.storage import RemotePath
from state.errors import BadInput, BatonError, DatabaseUnusable, ThreadUnknown
from state.text import as_unicode, counted

EXTRAS = {
    "mcp": ("langchain_mcp_adapters", "tools of MCP servers"),
    "postgres": ("psycopg", "databases on PostgreSQL"),
    "files": ("fsspec", "files at addresses such as s3://bucket"),
    "notify": ("apprise", "messages to people"),
    "server": ("langgraph_api", "`langgraph dev`"),
}
"""The package that each extra brings, and what it is for."""
REACH_S = 5.0
"""Seconds to wait for a model's server."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    about: str
    """`database`, `thread x`, `model` …"""
    is_well: bool
    says: str
    """What it is like, and what to do where something is wrong."""


async def check_database(address: Address, clock: Clock, seals: Seals) -> AsyncIterator[Finding]:
    """The database, its tables, and every thread in it."""
    checked = _check_file(address, clock, seals) if isinstance(address, Path) else _check_server(address, clock, seals)
    async for one in checked:
        yield one


async def _check_server(address: PostgresAddress, clock: Clock, seals: Seals) -> AsyncIterator[Finding]:
    missing: list[str] | None = []
    try:
        missing = await import_module("graph.postgres.database").missing_in(address)
        if missing is None:
            says = (
                f"{address} is empty, with no tables of Baton's yet; `baton migrate` makes them, or the first run does"
            )
            yield Finding("database", True, says)
            return
        if missing:
            lost = ", ".join(missing)
            yield Finding("database", False, f"{address} has lost {lost}; restore the database from a backup")
        async with open_database(address, read_only=True) as database:
            reading = Reading(database, database.leases(clock), clock, [], seals)
            threads = [row.thread_id for row in await reading.listed()]
            wrong = [one async for one in _wrong_threads(reading, threads)]
    except DatabaseUnusable as error:
        if not missing:
            yield Finding("database", False, str(error))
        return
    for one in wrong:
        yield one
    yield _counted(address, len(threads), len(wrong))


async def _wrong_threads(reading: Reading, threads: Sequence[str]) -> AsyncIterator[Finding]:
    for thread_id in threads:
        if why := await _fault_of(reading, thread_id):
            yield Finding(f"thread {thread_id}", False, why)


def _counted(address: Address, threads: int, wrong: int) -> Finding:
    damaged = f", {wrong} damaged" if wrong else ""
    return Finding("database", True, f"{address}: {counted(threads, 'thread')}{damaged}")


async def _check_file(path: Path, clock: Clock, seals: Seals) -> AsyncIterator[Finding]:
    if not_there := await asyncio.to_thread(_not_there, path):
        yield not_there
        return
    faults = await asyncio.to_thread(_faults_in, path)
    for fault in faults:
        yield Finding("database", False, f"{fault}; `baton doctor --save COPY` keeps what can be read")
    if not is_writable(path):
        yield Finding("database", True, f"{path} can be looked at and not be written to")
    try:
        async with open_database(path, read_only=True) as database:
            threads = await asyncio.to_thread(threads_in, database.connection.sqlite)
            reading = Reading(database, Leases(database.connection, clock), clock, [], seals)
            wrong = 0
            async for one in _wrong_threads(reading, threads):
                wrong += 1
                yield one
    except DatabaseUnusable as error:
        if not faults:
            yield Finding("database", False, str(error))
        return
    if not faults:
        yield _counted(path, len(threads), wrong)


def _not_there(path: Path) -> Finding | None:
    if path.is_dir():
        return Finding("database", False, f"{path} is a folder; give a file with --db")
    return None if path.exists() else Finding("database", True, f"there is none at {path} yet; `baton run` makes it")


def _faults_in(path: Path) -> list[str]:
    try:
        with closing(connected_read_only(path)) as file:
            return list(faults_of(file))
    except sqlite3.Error as error:
        return [f"{path} cannot be opened: {error}"]


async def _fault_of(reading: Reading, thread_id: str) -> str:
    try:
        await reading.view(thread_id)
        await reading.events(thread_id)
        _, broken = await reading.audit(thread_id)
    except ThreadUnknown:
        return ""
    except BatonError as error:
        return str(error)
    return f"its record of approvals cannot be trusted: {broken}" if broken else ""


async def save_copy(path: Path, copy: Path) -> dict[str, Saved]:
    """Copy what can be read of a database into a new one; by table.

    Raises:
        BadInput: the copy exists already, or there is nothing to copy.
    """
    await asyncio.to_thread(_check_copy, path, copy)
    with closing(connected_read_only(path)) as damaged:
        async with open_database(copy) as database:
            return await database.connection.do(save, damaged, database.connection)


def _check_copy(path: Path, copy: Path) -> None:
    if copy.exists():
        raise BadInput(f"{copy} exists already; give a new file with --save")
    if not path.is_file():
        raise BadInput(f"there is no database {path}")


async def check_setup(settings: Settings) -> AsyncIterator[Finding]:
    """The team, the model with its key, the folders and addresses of files, and the extras."""
    try:
        members = await asyncio.to_thread(open_team, settings.team)
        named = f"{settings.team}: " if settings.team else "the built-in one: "
        yield Finding("team", True, named + ", ".join(member.name for member in members))
    except BatonError as error:
        yield Finding("team", False, str(error))
    try:
        models = make_models(
            api_key=settings.openai_api_key, base_url=settings.openai_base_url, model=settings.model, timeout_s=REACH_S
        )
    except BatonError as error:
        yield Finding("model", False, str(error))
    else:
        if models.is_offline:
            yield Finding("model", True, "offline: no key is needed; with OPENAI_API_KEY set a language model thinks")
        elif (settings.model or "").partition(":")[0] in ("openai", settings.model or ""):
            yield await asyncio.to_thread(_reached, settings, models.name)
        else:
            yield Finding("model", True, f"{models.name}; whether it can be reached is not looked at")
    folder = settings.files if isinstance(settings.files, Path) else beside(settings.db, Path())
    is_there = folder.is_dir() and os.access(folder, os.W_OK)
    yield Finding("folder", is_there, f"{folder} can {'' if is_there else 'not '}be written to")
    addresses = [at for at in (settings.files, *settings.sources, *settings.source_roots) if isinstance(at, RemotePath)]
    for address in dict.fromkeys(addresses):
        yield await asyncio.to_thread(_listed, address)
    wanted_extras = {"notify": settings.notify or settings.notify_next, "files": addresses}
    for extra, (package, purpose) in EXTRAS.items():
        wanted = bool(wanted_extras.get(extra))
        if find_spec(package):
            yield Finding(f"extra {extra}", True, "installed")
        else:
            yield Finding(f"extra {extra}", not wanted, f"not installed; {purpose}: pip install 'baton[{extra}]'")


def _listed(address: RemotePath) -> Finding:
    """Whether files at an address can be looked at; nothing is written there."""
    try:
        is_new = not address.exists()
    except BadInput as error:
        return Finding("files", False, str(error))
    return Finding("files", True, f"{address} can be looked at{', and has nothing yet' if is_new else ''}")


def _reached(settings: Settings, name: str) -> Finding:
    """Whether the model's server answers, and takes the key; asks for its list of models, which costs nothing."""
    url = urlsplit((settings.openai_base_url or OPENAI_URL).rstrip("/"))
    base = urlunsplit(url._replace(netloc=url.netloc.rpartition("@")[2]))  # without a password
    key = settings.openai_api_key.get_secret_value().strip() if settings.openai_api_key else ""
    request = Request(f"{base}/models", headers={"Authorization": f"Bearer {key}"} if key else {})  # noqa: S310
    try:
        with urlopen(request, timeout=REACH_S) as reply:  # noqa: S310 # `make_models` takes http and https only
            return Finding("model", True, f"{name}: {base} answers ({reply.status})")
    except HTTPError as error:
        if error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return Finding("model", False, f"{name}: {base} refuses the key ({error.code}); check OPENAI_API_KEY")
        return Finding("model", True, f"{name}: {base} answers ({error.code})")
    except (OSError, ValueError) as error:
        why = str(getattr(error, "reason", "") or error)
        return Finding("model", False, f"{name}: {base} cannot be reached ({why}); check the network, OPENAI_BASE_URL")


def check_config(path: Path) -> Iterator[Finding]:
    """A `langgraph.json`: whether it is one, and everything that it names is there. Nothing of it is imported."""
    about = path.name
    try:
        config = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        yield Finding(about, False, f"it cannot be read: {error}")
        return
    if not isinstance(config, dict):
        yield Finding(about, False, "it is no JSON object; see `langgraph.json` in LangGraph's reference")
        return
    wrong = [said for what, target in _targets(config) if (said := _missing(path.parent, what, target))]
    if not isinstance(config.get("graphs"), dict) or not config["graphs"]:
        wrong.append('it names no graph; add "graphs": {"supervisor": "graph.app:supervisor"}')
    env = config.get("env")
    if isinstance(env, str) and env != ".env" and not (path.parent / env).is_file():
        wrong.append(f"env: there is no file {env}")
    yield from (Finding(about, False, said) for said in wrong)
    if not wrong:
        yield Finding(about, True, f"graphs: {', '.join(config['graphs'])}")


def _targets(config: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Everything in it that says where something is."""
    graphs = config.get("graphs")
    for name, target in graphs.items() if isinstance(graphs, dict) else ():
        yield f"graph {name}", target.get("path") if isinstance(target, dict) else target
    for part, key in (("checkpointer", "path"), ("store", "path"), ("auth", "path"), ("http", "app")):
        inside = config.get(part)
        if isinstance(inside, dict) and key in inside:
            yield part, inside[key]


def _missing(folder: Path, what: str, target: object) -> str:
    """What is wrong with `module:name` or `file.py:name`; empty if it is there."""
    place, _, name = target.rpartition(":") if isinstance(target, str) else ("", "", "")
    if not place or not name:
        return f"{what}: {as_unicode(str(target))[:100]!r} names nothing; write module:name or ./file.py:name"
    is_file = "/" in place or place.endswith(".py")
    try:
        found = folder / place if is_file else Path(str(getattr(find_spec(place), "origin", "") or ""))
        tree = ast.parse(found.read_text("utf-8"))
    except (OSError, ImportError, ValueError, SyntaxError) as error:
        return f"{what}: {place} cannot be read ({type(error).__name__}: {error})"
    if name not in _names_in(tree):
        return f"{what}: {place} has no {name}"
    return ""


def _names_in(tree: ast.Module) -> set[str]:
    """What a module defines or imports at its head."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update(leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name))
    return found
