"""The three packages: ours (the names are generic, so others may bring the same), and quiet when imported."""

import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.tracked import PACKAGES, ROOT, modules, shown

PROBE = """
import json, os, sys
seen = []
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "sqlite3.connect", "subprocess.Popen", "os.mkdir"):
        seen.append(f"{event}: {args[0]}")
    if event == "open" and isinstance(args[0], (str, bytes)):
        path, mode, flags = os.path.abspath(os.fsdecode(args[0])), args[1] or "", args[2] or 0
        writes = any(letter in mode for letter in "wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes or path.startswith(here):
            seen.append(f"open: {path}")
here = os.path.join(os.getcwd(), "")
sys.addaudithook(watch)
import importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
json.dump(seen, sys.stderr)
"""
"""Imports the named modules and writes to stderr, as JSON, what they touched: files of the working directory, files
opened for writing anywhere, connections, databases, processes."""


ASKED_BY_CRONITER = {"open: /dev/null", "subprocess.Popen: file"}
"""What a library of the queue's library asks the system: how wide this Python's pointers are."""


def probe(cwd: Path, *names: str, path: Path = ROOT) -> tuple[str, list[str]]:
    """What importing `names` in `cwd` printed and touched."""
    command = [sys.executable, "-B", "-W", "error", "-c", PROBE, *names]
    done = subprocess.run(command, cwd=cwd, env={"PYTHONPATH": str(path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(done.stderr)


@pytest.mark.parametrize("name", PACKAGES)
def test_the_package_that_is_imported_is_this_repositorys(name: str) -> None:
    module = importlib.import_module(name)
    assert Path(str(module.__file__)) == ROOT / name / "__init__.py"


def test_the_wheel_holds_exactly_the_three_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == sorted(PACKAGES)
    assert "Private :: Do Not Upload" in project["project"]["classifiers"]


def test_importing_every_module_prints_nothing_and_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=not-read\n", encoding="utf-8")
    names = [shown(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in modules()]
    printed, touched = probe(tmp_path, *names)
    assert (printed, set(touched) - ASKED_BY_CRONITER) == ("", set())
    assert [path.name for path in tmp_path.iterdir()] == [".env"]


@pytest.mark.parametrize(
    ("code", "touched"),
    [
        ("open('.env').close()", "open: "),
        ("open('new.txt', 'w').close()", "open: "),
        ("import sqlite3; sqlite3.connect('x.db').close()", "sqlite3.connect: "),
        ("import os; os.mkdir('made')", "os.mkdir: "),
    ],
)
def test_a_module_that_touches_something_would_be_found(tmp_path: Path, code: str, touched: str) -> None:
    (tmp_path / ".env").write_text("", encoding="utf-8")
    library = tmp_path.parent / f"{tmp_path.name}-library"
    library.mkdir()
    (library / "nosy.py").write_text(f"print('hello')\n{code}\n", encoding="utf-8")
    printed, seen = probe(tmp_path, "nosy", path=library)
    assert printed == "hello\n"
    assert len(seen) == 1
    assert seen[0].startswith(touched)
