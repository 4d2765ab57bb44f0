"""A PostgreSQL server for tests: made in a folder of their own, on a socket that nobody else has, a database each.

With `DATABASE=postgres` every file that a test names as its database is one there instead, in its own process and in
those that it starts: so a story that is told of files is told of PostgreSQL.
"""

import asyncio
import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import errors, sql

from graph import address

# Nothing has to outlast the tests; autovacuum would visit each of many databases again and again.
QUICK = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=100 -c autovacuum=off"
USER = "baton"
COPIES = 150_000
"""PostgreSQL 15, as the server numbers it, makes a database by copying files: of a small one, the fastest way."""


def programs() -> Path | None:
    """Where Debian and others keep `initdb`; None where there is no PostgreSQL."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@dataclass(frozen=True)
class Server:
    """A server in a folder, which listens on a Unix socket there alone: no port can be taken."""

    folder: Path
    options: str = QUICK

    @property
    def address(self) -> str:
        """Without a database's name."""
        return f"postgresql://{USER}@{quote(str(self.folder), safe='')}"

    def make(self) -> None:
        """Make what it keeps; everybody may come in, but `guarded` needs a password."""
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", USER, "-E", "UTF8", "--no-sync", "--locale=C")
        rules = Path(self._data) / "pg_hba.conf"
        rules.write_text(f"local all guarded scram-sha-256\n{rules.read_text()}")

    def start(self) -> None:
        """Start it, and wait until it is up."""
        options = f"-c listen_addresses='' -k {self.folder} {self.options}"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """End it, whoever is connected; `immediate` forgets the last moment, `fast` nothing."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, program: str, *args: str) -> None:
        bins = programs()
        assert bins, "PostgreSQL is missing: apt-get install postgresql"
        command = [str(bins / program), *args]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, user=owner())
        assert done.returncode == 0, done.stderr + done.stdout


def owner() -> str | None:
    """Whose a server has to be, if not this user's: none of its programs does anything for root."""
    return "postgres" if os.getuid() == 0 else None


@contextmanager
def own_server(folder: Path | None = None, options: str = QUICK) -> Iterator[Server]:
    """A server for as long as it is needed, in a new folder unless one is given."""
    folder = folder or Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path has to be short
    if name := owner():
        shutil.chown(folder, name)
    made = Server(folder, options)
    try:
        made.make()
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server() -> Iterator[str]:
    """The address of a server without a database's name."""
    with own_server() as made:
        yield made.address


INSTEAD = "TESTS_POSTGRES"
"""The variable that says where databases are instead of in files: a server's address, and what their names begin with.

Processes that tests start inherit it.
"""
TEMPLATE = "template_of_tests"
FREE = "free"
"""What the names of databases begin with that have the tables, nothing in them, and nobody who uses them."""
_RENAME = sql.SQL("ALTER DATABASE {} RENAME TO {}")
_EMPTIED = """
SET session_replication_role = replica;
DO $$ BEGIN
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    EXECUTE (SELECT string_agg(format('DELETE FROM %I', tablename), ';') FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'baton' AND tablename !~ '_migrations$');
END $$
"""


@contextmanager
def instead_of_files(server: str, group: str) -> Iterator[None]:
    """While inside, a file that is named as a database is one on the server; they are emptied for others afterwards."""
    os.environ[INSTEAD] = f"{server} {group}"
    os.environ["BATON_DB"] = "baton.db"  # the default, but read like any other
    try:
        yield
    finally:
        del os.environ[INSTEAD]
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            named = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
            for (name,) in connection.execute(named, [group]).fetchall():
                _give_back(connection, server, name)


def _give_back(connection: psycopg.Connection, server: str, name: str) -> None:
    """Empty a database for others: a new one takes ten times as long. One that can't be had for it is dropped."""
    try:
        with psycopg.connect(f"{server}/{name}", autocommit=True) as inside:
            inside.execute(_EMPTIED)
        connection.execute(_RENAME.format(sql.Identifier(name), sql.Identifier(f"{FREE}{name}"[:63])))
    except psycopg.Error:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def make_template(server: str) -> None:
    """Make the database that others are copied from."""
    from graph.database import open_database  # noqa: PLC0415 # what reads addresses is imported after `install`

    made = address.PostgresAddress(new_database(server, TEMPLATE))

    async def migrated() -> None:
        async with open_database(made):
            pass

    asyncio.run(migrated())


def install() -> None:
    """Have addresses be read so, in this process. A second call changes nothing."""
    if getattr(address, "is_read_for_tests", False):
        return
    read = address.address_of

    def on_server(given: object) -> address.Address:
        found = read(given)
        where = os.environ.get(INSTEAD)
        return (
            address.PostgresAddress(_made(found.absolute(), *where.split()))
            if where and isinstance(found, Path)
            else found
        )

    setattr(address, "address_of", on_server)  # noqa: B010
    setattr(address, "is_read_for_tests", True)  # noqa: B010


@cache
def _made(file: Path, server: str, group: str) -> str:
    """The address of the database that stands for a file; it is made where it is missing."""
    name = f"{group}{hashlib.sha256(str(file).encode()).hexdigest()[:16]}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        while not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            free = connection.execute(
                "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [FREE]
            ).fetchone()
            with suppress(errors.DuplicateDatabase, errors.UniqueViolation, errors.InvalidCatalogName):
                # Another process of the test may be faster, or one of another test.
                if free:
                    connection.execute(_RENAME.format(sql.Identifier(free[0]), sql.Identifier(name)))
                else:
                    new_database(server, name, TEMPLATE)
    return f"{server}/{name}"


def change(db: str, statement: str) -> int:
    """Change rows of a database as somebody else would; how many were. `statement` is in SQLite's words."""
    where = address.address_of(db)
    if isinstance(where, Path):
        with closing(sqlite3.connect(where)) as file, file:
            return file.execute(statement).rowcount
    for theirs, ours in _WORDS.items():
        statement = statement.replace(theirs, ours)
    statement = re.sub(r"(?s)SET value = (.*) WHERE (?!.* WHERE )", r"SET value = (\1)::jsonb WHERE ", statement)
    with psycopg.connect(where.uri) as connection:
        return connection.execute(statement).rowcount


def count(db: str, statement: str, *given: str) -> int:
    """The number that a question in SQLite's words is answered with."""
    where = address.address_of(db)
    if isinstance(where, Path):
        with closing(sqlite3.connect(where)) as file:
            return int(file.execute(statement, given).fetchone()[0])
    statement = statement.replace("%", "%%").replace("?", "%s").replace("FROM writes", "FROM checkpoint_writes")
    with psycopg.connect(where.uri) as connection:
        (found,) = connection.execute(statement, given).fetchone() or (0,)
        return int(found)


_WORDS = {
    "replace(value,": "replace(value::text,",
    "json_object(": "jsonb_build_object(",
    "json_extract(value, '$.seal')": "value -> 'seal'",
    "datetime(json_extract(value, '$.finished_at'), 'unixepoch')": "to_timestamp((value ->> 'finished_at')::float8)",
}


def bring(file: Path) -> None:
    """Have the runs of a file that is there be where a database of its name is."""
    from graph.moving import move  # noqa: PLC0415 # what reads addresses is imported after `install`

    where = address.address_of(file)
    if not isinstance(where, Path):
        asyncio.run(move(file, where))


def new_database(server: str, name: str, template: str = "template1") -> str:
    """The address of a new database on the server."""
    making = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        if connection.info.server_version >= COPIES:
            making += sql.SQL(" STRATEGY FILE_COPY")
        connection.execute(making)
    return f"{server}/{name}"
