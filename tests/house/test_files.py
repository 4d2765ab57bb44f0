"""What tracked files may hold."""

import re
import tomllib
from itertools import chain

import pytest

from tests.house.tracked import ROOT, shown, tracked_files

PLACES = re.compile(
    r"pypi\.(?:org)|files\.(?:pythonhosted)|registry\.(?:npmjs|yarnpkg)|extra-(?:index)-url"  # package registries
    r"|(?<![\w.])/(?:home|root|Users|work|opt)/\w|[A-Z]:\\Users\\"  # folders of one machine
)
PIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+_-]+")


def places_in(text: str) -> list[str]:
    """Addresses of registries and folders of machines that `text` names."""
    return [match.group() for match in PLACES.finditer(text)]


def normal(name: str) -> str:
    """A distribution's name as constraints and requirements may be compared by (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_no_tracked_file_names_a_registry_or_a_machines_folder() -> None:
    texts = {shown(path): path.read_text(encoding="utf-8", errors="replace") for path in tracked_files()}
    assert len(texts) > 50
    assert {name: found for name, text in texts.items() if (found := places_in(text))} == {}


@pytest.mark.parametrize(
    "parts",
    [
        ("see https://pypi", ".", "org/simple"),
        ("/", "home", "/ana/baton"),
        ("'/", "root", "/x'"),
        ("/", "Users", "/ana"),
        ("C:", "\\Users\\", "ana"),
        ("(/", "work", "/it)"),
    ],
    ids=["registry", "home", "root", "mac", "windows", "work"],
)
def test_such_a_place_would_be_found(parts: tuple[str, ...]) -> None:
    assert places_in("".join(parts))  # in parts, so that this file may be looked at too


@pytest.mark.parametrize(
    "parts",
    [("docs/home/page",), ("https://example.com/", "work", "/it"), ("the root/leaf",), ("pip install .",)],
    ids=["a folder", "an address", "words", "a command"],
)
def test_other_paths_are_let_through(parts: tuple[str, ...]) -> None:
    assert not places_in("".join(parts))


def test_constraints_are_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not PIN.fullmatch(line)] == []


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    names = {normal(re.split(r"[\[<>=!~; ]", requirement)[0]) for requirement in wanted} - {"baton"}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert names - {normal(line.split("==")[0]) for line in lines} == set()
