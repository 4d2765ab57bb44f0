"""The house in figures: `python -m tests.house.figures [FOLDER]`, for another checkout as well as for this one.

Files, lines and their median; tests; the share of heads (module docstrings and imports); files that exactly one other
imports; the longest chain of imports; the files with a coroutine or a frame under way while a task's agent works.
"""

import ast
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("state", "nodes", "graph")

WAY = """
import asyncio, json, sys
from graph import AgentSpec, open_supervisor
async def main(db):
    async def agent(brief, desk):
        frame = sys._getframe()
        while frame is not None:
            files.append(frame.f_code.co_filename)
            frame = frame.f_back
        for task in asyncio.all_tasks():
            at = task.get_coro()
            while at is not None:
                code = getattr(at, "cr_code", None) or getattr(at, "ag_code", None)
                if code is not None:
                    files.append(code.co_filename)
                at = getattr(at, "cr_await", None) or getattr(at, "ag_await", None)
        return "done"
    files = []
    plan = {"tasks": [{"id": "a", "description": "Do a."}]}
    async with open_supervisor(db, [AgentSpec(name="ada", role="generalist", run=agent)], {"max_iterations": 0}) as sup:
        await sup.start("Q", plan=plan)
    print(json.dumps(sorted(set(files))))
asyncio.run(main(sys.argv[1]))
"""


def modules(root: Path) -> dict[str, Path]:
    """Every module of the three packages by its dotted name; packages by theirs."""
    paths = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    return {".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def head(path: Path) -> int:
    """The lines before the first definition."""
    tree = ast.parse(path.read_text("utf-8"))
    own = (node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr))
    return next((node.lineno - 1 for node in own), len(path.read_text("utf-8").splitlines()))


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of ours that a module imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & known.keys()
            yield from inner or {node.module} & known.keys()


def longest_chain(graph: dict[str, set[str]]) -> list[str]:
    """The longest chain of imports (there are no circles)."""

    known: dict[str, list[str]] = {}

    def below(name: str) -> list[str]:
        if name not in known:
            longest: list[str] = []
            for other in graph[name] - {name}:
                longest = max(longest, below(other), key=len)
            known[name] = [name, *longest]
        return known[name]

    return max([below(name) for name in graph], key=len)


def way_of_a_task(root: Path, scratch: Path) -> list[str]:
    """Files of ours that have a coroutine under way while an agent works, by a run of one task."""
    command = [sys.executable, "-c", WAY, str(scratch)]
    done = subprocess.run(command, cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True, check=True)
    paths = [Path(name) for name in json.loads(done.stdout.splitlines()[-1])]
    return [path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root / "nodes")]


def ids_of_tests(root: Path) -> list[str]:
    """All tests, those of campaigns included."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def main() -> None:
    """Print the figures."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    found = modules(root)
    sizes = {name: len(path.read_text("utf-8").splitlines()) for name, path in found.items()}
    plain = {name: path for name, path in found.items() if path.name != "__init__.py"}
    graph = {name: set(imports(name, path, found)) for name, path in found.items()}
    users = {name: [user for user, used in graph.items() if name in used and user != name] for name in plain}
    heads = sum(head(path) for path in found.values())
    chain = longest_chain(graph)
    print(f"files                            {len(found)}")
    print(f"lines                            {sum(sizes.values())}")
    print(f"median of a file                 {statistics.median(sizes[name] for name in plain):.0f}")
    print(f"tests                            {len(ids_of_tests(root))}")
    print(f"heads                            {heads / sum(sizes.values()):.1%} of all lines")
    print(f"imported by one other file only  {sum(len(by) == 1 for by in users.values())}")
    print(f"longest chain of imports         {len(chain)}: {' > '.join(chain)}")
    way = way_of_a_task(root, Path(sys.argv[2] if len(sys.argv) > 2 else ":memory:"))
    print(f"on the way of a task             {len(way)}: {', '.join(way)}")


if __name__ == "__main__":
    main()
