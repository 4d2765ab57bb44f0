"""A run whose sources are pages of the web."""

from pathlib import Path

import pytest

from tests.graph.cli.conftest import Baton
from tests.servers.site import serving


def test_a_run_answers_from_pages_and_names_their_address(
    baton: Baton, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BATON_FETCH_INSIDE", "1")
    with serving() as site:
        asked = ("run", "How far is station 21 from the coast?", "--sources", f"{site.address}/guide/")
        said = baton(*asked, "--thread", "far", "--oversight", "on_the_loop", "--db", str(tmp_path / "b.db"))
        again = baton("status", "far", "--db", str(tmp_path / "b.db"))

    assert said.code == 0, said.err
    report = Path(said.out.strip()).read_text(encoding="utf-8")
    assert "147 km" in report
    assert f"{site.address}/guide/21.html, read 20" in report
    assert again.code == 0


def test_a_page_that_cannot_be_had_is_one_line(baton: Baton, tmp_path: Path) -> None:
    with serving() as site:
        said = baton("run", "How far?", "--sources", f"{site.address}/guide/", "--db", str(tmp_path / "b.db"))

    assert said.code == 2
    assert "is an address inside this network, which is not fetched" in said.err
    assert len(said.err.splitlines()) == 1
