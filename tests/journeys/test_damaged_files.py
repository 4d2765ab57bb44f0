"""Damaged files: each command says in one line what is wrong with one, and serves the other threads in it.

A campaign in its short form tries every 37th pair of a file and a command; a long one all of them.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from graph.cli import main
from tests.journeys.turns import LENGTH

EVERY = 1 if LENGTH == "long" else 37
PAGE = 4096
Damage = Callable[[bytes, Path], object]


def cut(change: Callable[[bytes], bytes]) -> Damage:
    return lambda raw, path: path.write_bytes(change(raw))


def page(number: int, content: bytes) -> Damage:
    return cut(lambda raw: raw[: number * PAGE] + content + raw[(number + 1) * PAGE :])


def sql(*statements: str) -> Damage:
    def change(raw: bytes, path: Path) -> None:
        path.write_bytes(raw)
        with closing(sqlite3.connect(path)) as file:
            for statement in statements:
                file.execute(statement)
            file.commit()

    return change


def checkpoint(change: str) -> Damage:
    return sql(f"UPDATE checkpoints SET {change} WHERE thread_id = 'bad'")


def rows(value: str) -> Damage:
    return sql(f"UPDATE store SET value = {value} WHERE prefix LIKE '%.bad'")


def with_log(log: Callable[[bytes], bytes]) -> Damage:
    """What a process left that was killed, cut or written over."""

    def change(raw: bytes, path: Path) -> None:
        path.write_bytes(raw)
        with closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA journal_mode=WAL")
            file.execute("UPDATE store SET value = value")
            file.commit()
            left, behind = path.read_bytes(), Path(f"{path}-wal").read_bytes()
        path.write_bytes(left)
        Path(f"{path}-wal").write_bytes(log(behind))

    return change


NOISE = bytes(n * 7 % 251 for n in range(PAGE))
WHOLE = {
    "cut after 10 bytes": cut(lambda raw: raw[:10]),
    "cut after its head": cut(lambda raw: raw[:100]),
    "cut after a page": cut(lambda raw: raw[:PAGE]),
    "cut in the middle": cut(lambda raw: raw[: len(raw) // 2]),
    "cut near its end": cut(lambda raw: raw[:-5000]),
    "nothing in it": cut(lambda raw: b""),
    "a text": cut(lambda raw: b"hello\n"),
    "zeros": cut(lambda raw: bytes(9000)),
    "a head and noise": cut(lambda raw: raw[:16] + b"\xff" * 5000),
    **{f"page {n} zeroed": page(n, bytes(PAGE)) for n in (1, 2, 3, 4, 6, 8, 10, 12, 14, 17, 20, 25)},
    **{f"page {n} noise": page(n, NOISE) for n in (3, 7, 11, 15)},
    "no checkpoints": sql("DROP TABLE checkpoints"),
    "no writes": sql("DROP TABLE writes"),
    "no rows": sql("DROP TABLE store"),
    "no migrations": sql("DROP TABLE store_migrations"),
    "other columns": sql("DROP TABLE store", "CREATE TABLE store (a, b)"),
    "other columns of checkpoints": sql("DROP TABLE checkpoints", "CREATE TABLE checkpoints (a, b)"),
    "a newer schema": sql("UPDATE store_migrations SET v = v + 1000"),
    "a newer column": sql("ALTER TABLE checkpoints ADD COLUMN extra TEXT NOT NULL DEFAULT ''"),
    "a newer file": sql("PRAGMA user_version = 99"),
    "a view": sql("DROP TABLE checkpoints", "CREATE VIEW checkpoints AS SELECT 1 AS thread_id"),
    "every write noise": sql("UPDATE writes SET value = x'c1'"),
    "the index noise": sql("UPDATE store SET value = x'ff' WHERE prefix IN ('runs', 'ended') OR prefix LIKE 'open.%'"),
    "trust of another shape": sql("UPDATE store SET value = '{\"a\": 1}' WHERE prefix LIKE 'trust%'"),
    "a lease of nobody": sql(
        "INSERT INTO store (prefix, key, value, created_at, updated_at)"
        " VALUES ('leases.bad', 'lease', '{}', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"
    ),
    "a database of somebody else": lambda raw, path: sql("CREATE TABLE notes (a)")(b"", path),
    "a folder": lambda raw, path: path.mkdir(),
    "a link to nowhere": lambda raw, path: path.symlink_to("/nonexistent/x"),
    "half of a log": with_log(lambda log: log[: len(log) // 2]),
    "a log of noise": with_log(lambda log: NOISE * 2),
}
OF_ONE_THREAD = {
    "a checkpoint of noise": checkpoint("checkpoint = x'00ff00ff'"),
    "a checkpoint of text": checkpoint("checkpoint = 'hello'"),
    "a checkpoint of nothing": checkpoint("checkpoint = NULL"),
    "a checkpoint that is a number": checkpoint("checkpoint = 7"),
    "a checkpoint that is a list": checkpoint("checkpoint = x'90'"),
    "an empty checkpoint": checkpoint("checkpoint = x'80'"),
    "an unknown format": checkpoint("type = 'pickle'"),
    "no format": checkpoint("type = NULL"),
    "metadata of noise": checkpoint("metadata = x'00ff'"),
    "no metadata": checkpoint("metadata = NULL"),
    "metadata that is a list": checkpoint("metadata = '[1]'"),
    "other ids": checkpoint("checkpoint_id = 'zzz' || rowid"),
    "writes of noise": sql("UPDATE writes SET value = x'c1' WHERE thread_id = 'bad'"),
    "writes of text": sql("UPDATE writes SET value = 'x', type = 'json' WHERE thread_id = 'bad'"),
    "a channel of noise": sql("UPDATE writes SET channel = x'ff' WHERE thread_id = 'bad'"),
    "half a row": rows("'{'"),
    "rows of noise": rows("x'00ff'"),
    "rows that are lists": rows("'[1]'"),
    "rows that are numbers": rows("'7'"),
    "empty rows": rows("'{}'"),
    "rows of other types": rows(
        "json_object('thread_id', json('[1]'), 'seq', 'x', 'kind', 7, 'at', 'y', 'approvals', 5)"
    ),
    "rows that are no text": rows("CAST(x'7b22ff227d' AS TEXT)"),
    "half a row of the index": sql("UPDATE store SET value = '{' WHERE key = 'bad' OR prefix = 'open.bad'"),
    "a row of the index of noise": sql("UPDATE store SET value = x'ff' WHERE prefix = 'runs' AND key = 'bad'"),
    "a row of the index of other types": sql(
        'UPDATE store SET value = \'{"started_at": "x", "thread_id": [1]}\''
        " WHERE key = 'bad' OR prefix = 'open.bad'"
    ),
}
COMMANDS = [
    line.split()
    for line in """runs|inbox|runs --json|inbox --json|status bad|status bad --plan|status good|inbox bad|log bad
    log bad --approvals --verify|team|team bad|trust|answer bad a.0.c1 approve|resume bad|pause bad|takeover bad
    cancel bad|hand-back bad|recruit bad --role r --task t|retire bad writer|mail bad --to writer hi|watch --once
    run Q --sources src --thread bad|run Q --sources src --thread fresh --yes|resume good|doctor|prune
    prune --keep-days 0 --dry-run|trust analyst --incident minor --note x""".replace("\n", "|").split("|")
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database with a run that is done, and two that wait for a human: `good` and `bad`."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "src").mkdir()
    (folder / "src" / "a.md").write_text("# A\n\nTea has 30 mg of caffeine.\n")
    plan = folder / "plan.yaml"
    plan.write_text("tasks:\n- {id: a, description: Publish it, action: publish, role: writer}\n")
    common = ["--sources", str(folder / "src"), "--db", str(folder / "whole.db"), "--json"]
    main(["run", "How much?", "--thread", "done", *common])
    for thread in ("good", "bad"):
        asked = main(["run", "Q", "--thread", thread, "--plan", str(plan), "--oversight", "in_the_loop", *common])
        assert asked == 3
    with closing(sqlite3.connect(folder / "whole.db")) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        file.execute("PRAGMA journal_mode=DELETE")
    return (folder / "whole.db").read_bytes()


def pairs() -> Iterator[tuple[str, list[str], str]]:
    """Files and commands: all in a long campaign, else some of each."""
    every = [(name, words, f"{n}.db") for name in (*WHOLE, *OF_ONE_THREAD) for n, words in enumerate(COMMANDS)]
    yield from every[::EVERY]


@pytest.mark.campaign
def test_every_command_says_in_one_line_what_is_wrong_with_a_file_and_serves_what_is_whole(
    whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.md").write_text("# A\n\nTea has 30 mg of caffeine.\n")
    wrong = []
    for name, words, file in pairs():
        path = tmp_path / file
        {**WHOLE, **OF_ONE_THREAD}[name](whole, path)
        capsys.readouterr()
        code = main([*words, "--db", str(path)])
        said = capsys.readouterr()
        lines = [line for line in said.err.splitlines() if line.startswith("baton: ")]
        is_raw = "this should not have happened" in said.err or "Traceback" in said.err + said.out
        is_refused = code == 2 or (code == 1 and words[0] not in ("run", "doctor", "log"))
        is_lost = name in OF_ONE_THREAD and (
            (words[0] in ("runs", "inbox") and "bad" not in words and "good" not in said.out)
            or (words[-1] == "good" and code not in (0, 3))
            or ("fresh" in words and code != 0)
        )
        if is_raw or is_lost or (is_refused and len(lines) != 1):
            wrong.append(f"{name}: baton {' '.join(words)}: {code} {said.err[-300:]}")
        for left in tmp_path.glob(f"{file}*"):
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
    assert wrong == []
