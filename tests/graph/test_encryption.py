"""Checkpoints at rest: encrypted when there is a key, older ones still read, and a wrong key told in one line."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from graph.cli import main
from state.agent import Brief
from state.errors import DatabaseUnusable, SettingsInvalid
from tests.runs import agent, opened, plan

KEY, ANOTHER = "0123456789abcdef", "fedcba9876543210"
SECRET = "The word is xyzzy."


async def asks(brief: Brief, desk: Any) -> str:
    return f"{brief.task.id}: {(await desk.ask('launch')).type}"


async def started(thread: str = "t") -> None:
    async with opened(agent(asks)) as sup:
        await sup.start(SECRET, thread_id=thread, plan=plan("a"))


def stored(thread: str = "t") -> tuple[set[str], bytes]:
    """The kinds of a thread's checkpoints and writes, and all their bytes."""
    with closing(sqlite3.connect("runs.db")) as file:
        rows = file.execute("SELECT type, checkpoint FROM checkpoints WHERE thread_id = ?", [thread]).fetchall()
        rows += file.execute("SELECT type, value FROM writes WHERE thread_id = ?", [thread]).fetchall()
    return {kind for kind, value in rows if value}, b"".join(value or b"" for _, value in rows)


@pytest.mark.of_files
async def test_with_a_key_nothing_can_be_read_in_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    await started("open")
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEY)
    await started("closed")

    assert SECRET.encode() in stored("open")[1]
    kinds, content = stored("closed")
    assert {kind.partition("+")[2] for kind in kinds} == {"aes"}
    assert SECRET.encode() not in content


@pytest.mark.of_files
async def test_a_run_that_began_before_there_was_a_key_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    await started()
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEY)
    async with opened(agent(asks)) as sup:
        run = await sup.answer("t", True)

    assert (run.status, run.tasks[0].result) == ("complete", "a: approve")


@pytest.mark.of_files
@pytest.mark.parametrize(
    ("key", "told"), [(ANOTHER, "are encrypted with another key; set LANGGRAPH_AES_KEY"), ("", "are encrypted; set")]
)
async def test_without_the_right_key_one_line_says_so(monkeypatch: pytest.MonkeyPatch, key: str, told: str) -> None:
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEY)
    await started()
    monkeypatch.setenv("LANGGRAPH_AES_KEY", key)
    async with opened(agent(asks)) as sup:
        for doing in (sup.view("t"), sup.resume("t"), sup.answer("t", True), sup.start("Q", thread_id="t")):
            with pytest.raises(DatabaseUnusable, match=told):
                await doing


@pytest.mark.of_files
def test_the_command_line_says_so_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEY)
    assert main(["run", "Tea?", "--model", "offline", "--thread", "t", "--db", "runs.db"]) in (0, 1, 3, 6)
    monkeypatch.setenv("LANGGRAPH_AES_KEY", ANOTHER)
    capsys.readouterr()

    for command in (["status", "t"], ["runs"], ["resume", "t"]):
        code = main([*command, "--db", "runs.db"])
        lines = capsys.readouterr().err.splitlines()
        assert (code, len(lines)) == (2, 1), (command, lines)
        assert "LANGGRAPH_AES_KEY" in lines[0]


@pytest.mark.of_files
async def test_a_key_that_is_none_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "short")
    with pytest.raises(SettingsInvalid, match="LANGGRAPH_AES_KEY has 5 bytes; give 16, 24 or 32"):
        await started()
