"""`baton doctor`: what is wrong with a database, a set-up and a `langgraph.json`, and what can be saved."""

import asyncio
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from nodes.runtime.clock import SystemClock
from tests.graph.cli.conftest import Baton, Said
from tests.runs import agent, opened, plan


def filled(*threads: str, db: str = "runs.db") -> None:
    async def fill() -> None:
        async with opened(agent(), db=db, clock=SystemClock()) as sup:
            for thread in threads:
                await sup.start("Q", thread_id=thread, plan=plan("a", "b <- a"))

    asyncio.run(fill())


def execute(*statements: str, db: str = "runs.db") -> None:
    with closing(sqlite3.connect(db)) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()


def wrong(said: Said) -> dict[str, str]:
    """What is wrong, by what it is about."""
    assert (said.err, said.code) == ("", 1 if any(not one["ok"] for one in said.lines[0]) else 0)
    return {one["about"]: one["says"] for one in said.lines[0] if not one["ok"]}


@pytest.mark.of_files
def test_nothing_is_wrong_with_a_machine_on_which_nothing_was_done_yet(baton: Baton) -> None:
    said = baton("doctor", "--json")

    assert wrong(said) == {}
    says = {one["about"]: one["says"] for one in said.lines[0]}
    assert says["database"] == "there is none at baton.db yet; `baton run` makes it"
    assert says["model"].startswith("offline: no key is needed")
    assert "analyst" in says["team"]
    assert not Path("baton.db").exists()


@pytest.mark.of_files
def test_a_damaged_thread_is_named_and_the_others_counted(baton: Baton) -> None:
    filled("good", "bad")
    execute("UPDATE checkpoints SET checkpoint = x'00ff' WHERE thread_id = 'bad'")

    said = baton("doctor", "--db", "runs.db", "--json")
    assert wrong(said).keys() == {"thread bad"}
    assert "cannot be read" in wrong(said)["thread bad"]
    assert {"about": "database", "ok": True, "says": "runs.db: 2 threads, 1 damaged"} in said.lines[0]
    assert "WRONG" in baton("doctor", "--db", "runs.db").out


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("DROP TABLE writes", "the table writes is not as it should be: it is missing"),
        ("ALTER TABLE store DROP COLUMN updated_at", "its columns updated_at are missing"),
    ],
)
@pytest.mark.of_files
def test_a_database_of_somebody_else_is_told_from_a_damaged_one(baton: Baton, statement: str, says: str) -> None:
    filled("t")
    execute(statement)

    assert says in wrong(baton("doctor", "--db", "runs.db", "--json"))["database"]


@pytest.mark.of_files
def test_what_can_be_read_of_a_damaged_file_is_saved_and_goes_on(baton: Baton) -> None:
    filled("good", "bad", *(f"more {n}" for n in range(20)))
    execute(
        "UPDATE checkpoints SET checkpoint = x'00ff' WHERE thread_id = 'bad'",
        "UPDATE store SET value = '{' WHERE prefix = 'events.bad'",
    )
    with closing(sqlite3.connect("runs.db")) as file:
        root = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'store'").fetchone()[0]
    raw = bytearray(Path("runs.db").read_bytes())
    for page in range(len(raw) // 4096 - 6, len(raw) // 4096 - 2):
        if page != root - 1:
            raw[page * 4096 : (page + 1) * 4096] = bytes(4096)
    Path("runs.db").write_bytes(raw)

    said = baton("doctor", "--db", "runs.db", "--save", "saved.db")
    assert said.code == 1
    assert said.err.startswith("saved ")
    assert "damaged row" in said.err
    assert "bad" in said.err
    assert wrong(baton("doctor", "--db", "saved.db", "--json")) == {}
    assert baton("status", "good", "--db", "saved.db").code == 0
    assert baton("status", "bad", "--db", "saved.db").code == 2
    assert "exists already" in baton("doctor", "--db", "runs.db", "--save", "saved.db").err


@pytest.mark.of_files
def test_all_rows_around_a_gap_of_many_pages_are_saved(baton: Baton) -> None:
    filled("t")
    with closing(sqlite3.connect("runs.db")) as file:
        rows = [("far", f"key-{n}", json.dumps({"n": n})) for n in range(20_000)]
        file.executemany("INSERT INTO store (prefix, key, value) VALUES (?, ?, ?)", rows)
        file.commit()
    raw = Path("runs.db").read_bytes()
    pages = [raw[at : at + 4096] for at in range(0, len(raw), 4096)]
    full = [number for number, page in enumerate(pages) if b'{"n"' in page]
    for number in (*full[40:140], full[-1]):  # more rows in a row than it looks for one by one; and the last ones
        pages[number] = bytes(4096)
    Path("runs.db").write_bytes(b"".join(pages))

    assert baton("doctor", "--db", "runs.db", "--save", "saved.db").err.startswith("saved ")
    with closing(sqlite3.connect("saved.db")) as file:
        saved = {key for (key,) in file.execute("SELECT key FROM store WHERE prefix = 'far'")}
    there = {f"key-{found.decode()}" for found in re.findall(rb'{"n": (\d+)}', b"".join(pages))}
    assert len(there) < 19_000
    assert saved == there


@pytest.fixture
def server() -> Iterator[str]:
    """A server of models that knows one key."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.headers.get("Authorization") == "Bearer sk-right" else 401)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/v1"
        running.shutdown()


def test_a_model_is_reached_with_its_key_which_is_never_shown(
    baton: Baton, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server)
    for key, expected in [("sk-right", ""), ("sk-wrong", "refuses the key (401)"), ("sk-two words", "OPENAI_API_KEY")]:
        monkeypatch.setenv("OPENAI_API_KEY", key)
        said = baton("doctor", "--json")
        assert expected in wrong(said).get("model", "")
        assert bool(expected) == ("model" in wrong(said))
        assert key not in said.out
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert "cannot be reached" in wrong(baton("doctor", "--json"))["model"]


def test_a_variable_or_a_team_that_cannot_be_understood_is_named(baton: Baton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_TEAM", "none.yaml")
    assert "none.yaml" in wrong(baton("doctor", "--json"))["team"]
    monkeypatch.setenv("BATON_MODEL_TIMEOUT_S", "soon")
    assert "BATON_MODEL_TIMEOUT_S" in wrong(baton("doctor", "--json"))["environment"]


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("{", "it cannot be read"),
        ("[]", "it is no JSON object"),
        ({"graphs": {}}, "it names no graph"),
        ({"graphs": {"s": "graph.app:nobody"}}, "graph s: graph.app has no nobody"),
        ({"graphs": {"s": "./none.py:graph"}}, "graph s: ./none.py cannot be read"),
        ({"graphs": {"s": 7}}, "graph s: '7' names nothing"),
        ({"graphs": {"s": "graph.app:supervisor"}, "http": {"app": "./none.py:app"}}, "http: ./none.py cannot be read"),
        ({"graphs": {"s": "graph.app:supervisor"}, "env": "none.env"}, "env: there is no file none.env"),
    ],
)
def test_what_a_langgraph_json_names_has_to_be_there(baton: Baton, config: object, says: str) -> None:
    Path("langgraph.json").write_text(config if isinstance(config, str) else json.dumps(config))

    assert says in wrong(baton("doctor", "--json"))["langgraph.json"]


def test_our_own_langgraph_json_is_well(baton: Baton, root: Path) -> None:
    said = baton("doctor", "--config", str(root / "langgraph.json"), "--json")

    assert {"about": "langgraph.json", "ok": True, "says": "graphs: supervisor"} in said.lines[0]
