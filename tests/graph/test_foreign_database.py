"""A database file is data: whoever looks at one runs no code that is in it."""

import asyncio
import sqlite3
from pathlib import Path

import ormsgpack
import pytest

from graph.cli import main
from tests.runs import agent, opened, plan


async def started() -> None:
    async with opened(agent()) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))


@pytest.mark.of_files
@pytest.mark.parametrize("code", [0, 1, 2])
@pytest.mark.parametrize("command", [["runs"], ["status", "t"]])
def test_looking_at_a_foreign_file_runs_no_code_that_is_in_it(code: int, command: list[str]) -> None:
    asyncio.run(started())
    value = ["mkdir-0", ["mkdir-0"], {"path": "mkdir-0"}][code]
    call = ormsgpack.packb(["os", "mkdir", value, "mkdir"])
    with sqlite3.connect("runs.db") as file:
        row = ormsgpack.packb({"v": 4, "id": "x", "ts": "", "channel_values": {"a": ormsgpack.Ext(code, call)}})
        file.execute("UPDATE checkpoints SET type = 'msgpack', checkpoint = ?", [row])
    file.close()

    main([*command, "--db", "runs.db"])

    assert not Path("mkdir-0").exists()
