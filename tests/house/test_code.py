"""Rules of the code that linters don't know: where imports may stand."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.tracked import PACKAGES, ROOT, modules, parsed, shown

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def imported(node: ast.AST) -> list[str]:
    """The modules that an import statement names; none for any other node."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "."]
    return []


def hidden_imports(tree: ast.AST) -> list[str]:
    inner = (node for function in functions(tree) for node in ast.walk(function))
    return [name for node in inner for name in imported(node) if name.split(".")[0] in PACKAGES]


def whole_packages(tree: ast.AST) -> list[str]:
    """`import state` and the like: in every node, `state` is the parameter."""
    plain = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    return [name for node in plain for name in imported(node) if name.split(".")[0] in PACKAGES]


def test_there_are_modules_to_look_at() -> None:
    assert {shown(path).split("/")[0] for path in modules()} == set(PACKAGES)


def test_no_function_hides_an_import_of_our_own_code_but_those_of_the_command_line_which_starts_light() -> None:
    found = {shown(path): hidden_imports(parsed(path)) for path in modules() if path.parent != ROOT / "graph" / "cli"}
    assert {name: hidden for name, hidden in found.items() if hidden} == {}


def test_our_packages_are_never_imported_whole() -> None:
    found = {shown(path): whole_packages(parsed(path)) for path in modules()}
    assert {name: whole for name, whole in found.items() if whole} == {}


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "tests").rglob("*.py")}
    assert [shown(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_every_folder_of_the_packages_is_a_package() -> None:
    folders = {path.parent for path in modules()}
    assert [shown(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("statement", ["from state.plan import Plan", "import nodes.policy", "from graph import app"])
def test_a_hidden_import_would_be_found(statement: str) -> None:
    assert hidden_imports(ast.parse(f"def f():\n    if True:\n        {statement}\n"))
    assert not hidden_imports(ast.parse(f"{statement}\ndef f():\n    import json\n"))
