"""A field of the policy that nothing reads would promise what nobody keeps."""

import ast

import pytest

from state.policy import Policy
from tests.house.tracked import ROOT, modules, parsed, shown


def read_in(tree: ast.AST) -> set[str]:
    """Names of attributes that are read."""
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}


def set_in(tree: ast.AST) -> set[str]:
    """Names that are given a value: as keywords, as keys of a dict, as what tests are parametrised with."""
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    return keywords | {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}


@pytest.fixture(scope="module")
def read() -> set[str]:
    """What is read outside the policy itself."""
    return set().union(*(read_in(parsed(path)) for path in modules() if shown(path) != "state/policy.py"))


@pytest.fixture(scope="module")
def tried() -> set[str]:
    """What tests set."""
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if path.name != "test_policy_fields.py"]
    return set().union(*(set_in(parsed(path)) for path in tests))


@pytest.mark.parametrize("field", Policy.model_fields)
def test_every_field_of_the_policy_is_read_and_a_test_sets_it(field: str, read: set[str], tried: set[str]) -> None:
    assert field in read
    assert field in tried


def test_a_field_that_nobody_reads_would_be_found() -> None:
    assert read_in(ast.parse("policy.mood = 1\nprint(policy.max_attempts)")) == {"max_attempts"}
    assert set_in(ast.parse("opened(mood=x)\nd = {'other': x}")) == {"mood", "other"}
