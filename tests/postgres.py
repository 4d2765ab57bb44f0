"""A PostgreSQL server for tests: made in a folder of their own, on a socket that nobody else has, a database each."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

QUICK = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=100"
USER = "baton"


def programs() -> Path | None:
    """Where Debian and others keep `initdb`; None where there is no PostgreSQL."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@contextmanager
def server() -> Iterator[str]:
    """The address of a server without a database's name. It listens on a Unix socket alone: no port can be taken."""
    bins = programs()
    assert bins, "PostgreSQL is missing: apt-get install postgresql"
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path has to be short
    owner = "postgres" if os.getuid() == 0 else None  # initdb refuses root
    if owner:
        shutil.chown(folder, owner)
    data = folder / "data"

    def run(program: str, *args: str) -> None:
        done = subprocess.run(
            [str(bins / program), *args], cwd=folder, capture_output=True, text=True, check=False, user=owner
        )
        assert done.returncode == 0, done.stderr + done.stdout

    try:
        run("initdb", "-D", str(data), "-A", "trust", "-U", USER, "-E", "UTF8", "--no-sync", "--locale=C")
        options = f"-c listen_addresses='' -k {folder} {QUICK}"
        run("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://{USER}@{quote(str(folder), safe='')}"
        finally:
            run("pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_database(address: str, name: str) -> str:
    """The address of a new, empty database on the server."""
    with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return f"{address}/{name}"
