"""Runs whose sources, artifacts and uploads are at an address instead of in a folder of this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from graph.pruning import ENDS, find_old
from graph.pruning import prune as forget
from graph.queue import shared_sources
from graph.reading import tell_damaged
from nodes.tools.files import store
from nodes.tools.storage import RemotePath, location
from state.agent import Brief
from state.errors import BadInput, SourcesInvalid
from tests.runs import agent, opened, plan

FILES = RemotePath("memory://box/baton")
ARTIFACTS = FILES / "artifacts"


@pytest.fixture(autouse=True)
def _files_in_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("BATON_FILES", str(FILES))
    (FILES / "docs/pump.md").write_bytes(b"# Pump\n\nIt delivers 40 litres a minute.\n")
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


async def writes(brief: Brief, desk: Any) -> dict[str, Any]:
    made = store(ARTIFACTS / "t", "notes/summary.md", "# Summary\n\nForty litres.\n", brief.task.id)
    return {"result": "L" * 120_000, "artifacts": [made]}


async def test_what_a_run_writes_is_read_by_the_next_and_goes_with_it() -> None:
    seen: list[Brief] = []

    async def reads(brief: Brief, desk: Any) -> str:
        seen.append(brief)
        return "So."

    async with opened(agent(writes)) as sup:
        run = await sup.start("Q", ["memory://box/baton/docs"], "t", plan=plan("a"))
    assert [(one.name, one.path) for one in run.artifacts] == [
        ("notes/summary.md", f"{ARTIFACTS}/t/notes/summary.md"),
        ("results/a.txt", f"{ARTIFACTS}/t/results/a.txt"),
    ]
    async with opened(agent(reads)) as sup:
        await sup.start("And now?", thread_id="t", plan=plan("b"))
        assert [line.partition(":")[0] for line in seen[0].sources] == ["pump.md", "summary.md", "a.txt"]
        old = await find_old(sup._runs, 1e12, sorted(ENDS), tell_damaged)
        assert [gone async for _, gone in forget(sup._runs, old, with_audit=True, artifacts=ARTIFACTS)] == [True]
    assert [name for name in MemoryFileSystem.store if "/artifacts/" in name] == []


def test_sources_of_a_queued_run_are_where_every_worker_reaches_them(tmp_path: Path) -> None:
    shared = ["s3://bucket/docs", "https://example.org/a"]
    assert shared_sources(shared, None) == shared
    assert shared_sources([tmp_path / "a"], location(f"file://{tmp_path}")) == [str(tmp_path / "a")]
    for source, root in ((str(tmp_path), FILES), ("memory://box/docs", None)):
        with pytest.raises(BadInput, match="a worker may run on another machine; put the sources of a queued run"):
            shared_sources([source], root)
    with pytest.raises(SourcesInvalid, match="is not below a folder that clients may name sources in"):
        shared_sources(["s3://bucket/docs"], FILES, (tmp_path, FILES))
