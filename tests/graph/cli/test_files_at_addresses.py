"""The command line with files at an address: what is read and written there, pruned, looked at, and refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from nodes.tools.storage import RemotePath
from tests.graph.cli.conftest import Baton

FILES = RemotePath("memory://box/baton")
ARTIFACTS = FILES / "artifacts"


@pytest.fixture(autouse=True)
def _files_in_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("BATON_FILES", str(FILES))
    (FILES / "docs/pump.md").write_bytes(b"# Pump\n\nIt delivers 40 litres a minute.\n")
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def test_the_command_line_reads_and_writes_there_and_the_doctor_looks(
    baton: Baton, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["How much does the pump deliver?", "--sources", f"{FILES}/docs", "--oversight", "on_the_loop"]
    said = baton("run", *asked, "--thread", "t", "--model", "offline")
    assert (said.code, said.out.splitlines()[-1]) == (0, f"{ARTIFACTS}/t/report.md")
    assert b"40 litres" in (ARTIFACTS / "t/report.md").read_bytes()

    assert f"below {ARTIFACTS} stay" in baton("prune", "--keep-days", "0", "--dry-run").err
    assert baton("prune", "--keep-days", "0", "--files").code == 0
    assert not (ARTIFACTS / "t/report.md").exists()
    assert not Path("artifacts").exists()

    looked = {one["about"]: one for one in baton("doctor", "--json").lines[0]}
    assert (looked["files"]["ok"], looked["files"]["says"]) == (True, f"{FILES} can be looked at")
    monkeypatch.setenv("BATON_FILES", "nope://box")
    looked = {one["about"]: one for one in baton("doctor", "--json").lines[0]}
    assert (looked["files"]["ok"], looked["files"]["says"].partition(";")[0]) == (
        False,
        "nope:// is no protocol of fsspec's",
    )
    monkeypatch.setenv("BATON_FILES", "s3://key:cr3t@box")
    refused = baton("run", "Q?")
    assert (refused.code, "BATON_FILES" in refused.err, "cr3t" in refused.err) == (2, True, False)
