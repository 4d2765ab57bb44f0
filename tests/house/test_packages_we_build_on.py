"""The pinned packages: licences that go with ours, and no version that is known to be bad. Offline.

`known_bad.txt` is kept by hand: a line for each package, the first version that is good again, and why. Where there is
a network, `pip-audit -r constraints.txt` says what is new; what it finds belongs there.
"""

import re
from fnmatch import fnmatch
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata

import pytest
from packaging.requirements import Requirement

from tests.house.tracked import ROOT

PERMISSIVE = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Unlicense|0BSD|HPND|CNRI|public domain", re.IGNORECASE
)
OTHERS = {
    # Weak copyleft, by file: used as they are.
    "certifi": "MPL",
    "hypothesis": "MPL",
    "pathspec": "MPL",
    # MIT by the file in it, and says nothing; the axe-core that it brings has the MPL.
    "axe-playwright-python": "",
    # By library, only with the extra `postgres`: imported as they are.
    "psycopg": "LGPL",
    "psycopg-binary": "LGPL",
    "psycopg-pool": "LGPL",
    # LangGraph's server, only with the extra `server`: may not be sold as a service to others.
    "langgraph-api": "Elastic",
    "langgraph-runtime-inmem": "Elastic",
}
"""Packages whose licences are others, and what these are; each was looked at."""
PINS = dict(
    line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line
)
BAD = (ROOT / "tests" / "house" / "known_bad.txt").read_text(encoding="utf-8").splitlines()


def licence_of(found: PackageMetadata) -> str:
    """What a package says of its licence, in whichever of three fields."""
    classifiers = [one for one in found.get_all("Classifier") or [] if one.startswith("License ::")]
    said = [*(found.get_all("License-Expression") or []), *classifiers]
    return " ".join([*said, *(one[:60] for one in found.get_all("License") or [])])


@pytest.mark.parametrize("name", PINS)
def test_every_licence_goes_with_ours(name: str) -> None:
    try:
        said = licence_of(metadata(name))
    except PackageNotFoundError:
        pytest.skip("not installed with the extras of the tests")
    assert OTHERS[name] in said if name in OTHERS else PERMISSIVE.search(said), said


def known_bad(pins: dict[str, str]) -> list[str]:
    """What is known of pinned versions that are bad."""
    named = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    rules = [(Requirement(line.split(" ", 1)[0]), line) for line in BAD]
    return [line for rule, line in rules if rule.name in named and rule.specifier.contains(named[rule.name], True)]


def test_no_version_that_is_known_to_be_bad_is_pinned() -> None:
    assert known_bad(PINS) == []
    assert {Requirement(line.split(" ", 1)[0]).name for line in BAD} <= {
        re.sub(r"[-_.]+", "-", name).lower() for name in PINS
    }


def test_such_a_version_would_be_found() -> None:
    assert len(known_bad({**PINS, "langgraph-checkpoint": "2.1.2", "PyYAML": "5.3"})) == 2


DOCKER = [
    line
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def is_kept_out(path: str) -> bool:
    """Whether `docker build` leaves a file out: a pattern is for the top folder, or with `**/` for every one."""
    parts = path.split("/")
    anywhere = [pattern.removeprefix("**/") for pattern in DOCKER if pattern.startswith("**/")]
    return any(fnmatch(parts[0], pattern) for pattern in DOCKER) or any(
        fnmatch(part, pattern) for part in parts for pattern in anywhere
    )


INSIDE = ("langgraph.json", "graph/server.py", "nodes/intake.py", "pyproject.toml")
OUTSIDE = (
    *(".env", ".env.local", "examples/.env", "baton.db", "baton.db-wal", "x/runs.db", "x/runs.db-shm"),
    *("artifacts/t/r.md", "x/artifacts/t/r.md", "uploads/a.md", ".git/config", ".venv/bin/python"),
)


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_key_and_nothing_of_a_run_goes_into_an_image(path: str) -> None:
    assert is_kept_out(path)


@pytest.mark.parametrize("path", INSIDE)
def test_the_program_does(path: str) -> None:
    assert not is_kept_out(path)
