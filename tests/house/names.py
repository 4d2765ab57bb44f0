"""Tests that are gone: `python -m tests.house.names LIST`, where `LIST` has the ids of an earlier version's tests.

Such a list is what `python -m pytest --collect-only -q -m ""` prints there. Tests are compared by the name of their
function, since files move: what is printed are names that no test has any more, and names that have fewer cases.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.house.figures import ids_of_tests
from tests.house.tracked import ROOT


def functions(ids: Iterable[str]) -> Counter[str]:
    """How many cases each test function has."""
    return Counter(one.split("::", 1)[1].split("[", 1)[0] for one in ids if "::" in one)


def main() -> None:
    """Print the comparison."""
    before = functions(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())
    after = functions(ids_of_tests(ROOT))
    print(f"before {before.total()} tests of {len(before)} names, now {after.total()} of {len(after)}")
    for name in sorted(before - after):
        print(f"{name}: {before[name]} -> {after[name]}")


if __name__ == "__main__":
    main()
