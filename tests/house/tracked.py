"""The repository's own files: what is tracked, or would be."""

import ast
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("graph", "nodes", "state")


def tracked_files() -> list[Path]:
    """Files that git tracks or would add, below `ROOT`; ignored ones are left out."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    paths = {ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name}
    return sorted(path for path in paths if path.is_file())


def modules() -> list[Path]:
    """The modules of the three packages."""
    return sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def shown(path: Path) -> str:
    """`path` as it is named in the repository."""
    return path.relative_to(ROOT).as_posix()
