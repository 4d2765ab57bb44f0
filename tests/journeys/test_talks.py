"""Conversations on the command line: each request on the thread of the one before, sources given once."""

from pathlib import Path

import pytest

from tests.graph.cli.conftest import Baton, baton  # noqa: F401 - a fixture
from tests.journeys.talks import TALKS, Say, check, written
from tests.journeys.turns import thinned


@pytest.mark.parametrize("talk", thinned((talk,) for talk in TALKS.values()), ids=TALKS.keys())
def test_a_follow_up_is_answered_as_what_it_means(talk: tuple[Say, ...], baton: Baton, tmp_path: Path) -> None:  # noqa: F811
    sources = ["--sources", str(written(tmp_path / "docs"))]
    for number, say in enumerate(talk):
        code = baton("run", say.request, "--thread", "talk", *(sources if number == 0 else [])).code
        run = baton("status", "talk", "--json").lines[0]
        assert (code, run["status"]) == (0, "complete")
        check(say, run["report"], [task["description"] for task in run["tasks"]])
