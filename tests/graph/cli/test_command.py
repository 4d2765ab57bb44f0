"""A human in command, from the command line: the inbox, trust, deadlines, the watch, the record of approvals."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from graph.address import address_of
from graph.database import open_database
from graph.supervisor import open_supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.rows import read_all, space
from state.text import Json
from tests import postgres
from tests.graph.cli.conftest import Baton
from tests.runs import plan

ASK = "How much caffeine is in tea?"
DAY = 86_400


def ask_to_publish(baton: Baton, tea: str, publishing: str, thread: str = "t") -> Json:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", thread)
    asked: Json = baton("inbox", thread, "--json").lines[0][0]
    return asked


def test_the_inbox_shows_the_most_urgent_first_and_how_long_there_is(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--thread", "plan", "--oversight", "in_command")
    ask_to_publish(baton, tea, publishing)

    said = baton("inbox")
    rows = said.out.splitlines()

    assert rows[1].split()[:3] == ["highest", "high", "Publish"]
    assert rows[2].split()[:3] == ["medium", "medium", "Carry"]
    assert "29m" in rows[1]


def test_a_question_that_was_answered_is_on_record_with_who_and_through_which_door(
    baton: Baton, tea: str, publishing: str
) -> None:
    asked = ask_to_publish(baton, tea, publishing)
    edited = {**asked["args"], "name": "tea-2.md"}  # type: ignore[dict-item]
    baton("answer", "t", str(asked["id"]), "edit", "--args", json.dumps(edited), "--by", "ana", "--message", "renamed")

    said = baton("log", "t", "--approvals", "--verify", "--json")
    requested, answered = said.lines

    assert (said.code, said.err) == (0, "the record holds: 2 entries, none changed, missing or moved\n")
    assert (requested["kind"], requested["args"], requested["reason"]) == (
        "requested",
        asked["args"],
        "sensitive operation requires approval: publish",
    )
    assert [answered[key] for key in ("kind", "decision", "by", "door", "args", "args_after", "message")] == [
        "answered",
        "edit",
        "ana",
        "command line",
        asked["args"],
        edited,
        "renamed",
    ]
    assert "edit by ana (command line)" in baton("log", "t", "--approvals").out


def tampered(sql: str) -> None:
    assert postgres.change("baton.db", sql) == 1


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        (
            "UPDATE store SET value = replace(value, 'ana', 'eve') WHERE prefix = 'audit.t' AND key LIKE '%2'",
            "record 2 (answered",
        ),
        ("DELETE FROM store WHERE prefix = 'audit.t' AND key LIKE '%1'", "record 1 is missing"),
        ("DELETE FROM store WHERE prefix = 'audit.t' AND key LIKE '%2'", "record 2 is missing"),
        ("UPDATE store SET key = '000000000009' WHERE prefix = 'audit.t' AND key LIKE '%1'", "record 1 is missing"),
    ],
)
def test_a_record_that_was_tampered_with_is_named(
    baton: Baton, tea: str, publishing: str, sql: str, named: str
) -> None:
    asked = ask_to_publish(baton, tea, publishing)
    baton("answer", "t", str(asked["id"]), "approve", "--by", "ana")
    assert baton("log", "t", "--approvals", "--verify").code == 0
    tampered(sql)

    said = baton("log", "t", "--approvals", "--verify")

    assert said.code == 1
    assert named in said.err
    assert baton("log", "t", "--approvals").code == 0


ALL, HEAD = "DELETE FROM store WHERE prefix = 'audit.t'", "DELETE FROM store WHERE prefix = 'audit_head.t'"
SET_BACK = """UPDATE store SET value = json_object('count', 1, 'seal', (
    SELECT json_extract(value, '$.seal') FROM store WHERE prefix = 'audit.t' AND key LIKE '%1'
)) WHERE prefix = 'audit_head.t'"""


@pytest.mark.parametrize(
    ("sql", "named", "left"),
    [
        (["UPDATE store SET value = '{}' WHERE prefix = 'audit.t' AND key LIKE '%2'"], "record 2 cannot be read", 1),
        pytest.param(
            ["UPDATE store SET value = 'x' WHERE prefix = 'audit.t' AND key LIKE '%1'"],
            "record 1 cannot be read",
            1,
            marks=pytest.mark.of_files,
        ),
        (["UPDATE store SET value = '[]' WHERE prefix = 'audit.t' AND key LIKE '%1'"], "record 1 cannot be read", 1),
        (["UPDATE store SET value = '{\"count\": []}' WHERE prefix = 'audit_head.t'"], "head cannot be read", 2),
        pytest.param(
            ["UPDATE store SET value = 'x' WHERE prefix = 'audit_head.t'"],
            "head cannot be read",
            2,
            marks=pytest.mark.of_files,
        ),
        ([HEAD], "record 2 was replaced or added", 2),
        ([ALL, HEAD], "the record of question tell.publish", 0),
        (["DELETE FROM store WHERE prefix = 'audit.t' AND key LIKE '%2'", SET_BACK], "the record of the answer to", 1),
    ],
)
def test_what_can_be_read_of_a_broken_record_is_shown_and_what_is_missing_named(
    baton: Baton, tea: str, publishing: str, sql: list[str], named: str, left: int
) -> None:
    asked = ask_to_publish(baton, tea, publishing)
    baton("answer", "t", str(asked["id"]), "approve", "--by", "ana")
    assert all(postgres.change("baton.db", one) for one in sql)

    said = baton("log", "t", "--approvals", "--verify", "--json")

    assert (said.code, len(said.lines)) == (1, left)
    assert named in said.err
    assert said.err.startswith("baton: the record of t cannot be trusted")


def test_a_record_whose_head_was_taken_away_goes_on_after_its_last_entry(
    baton: Baton, tea: str, publishing: str
) -> None:
    asked = ask_to_publish(baton, tea, publishing)
    tampered(HEAD)
    baton("answer", "t", str(asked["id"]), "approve", "--by", "ana")

    said = baton("log", "t", "--approvals", "--verify", "--json")

    assert (said.code, [(line["number"], line["kind"]) for line in said.lines]) == (
        0,
        [(1, "requested"), (2, "answered")],
    )


def test_trust_says_what_an_agent_has_done_and_what_is_missing(baton: Baton, tea: str, publishing: str) -> None:
    asked = ask_to_publish(baton, tea, publishing)
    baton("answer", "t", str(asked["id"]), "approve")

    by_name = {row["agent"]: row for row in baton("trust", "--json").lines[0]}
    said = baton("trust", "publisher")

    assert (by_name["publisher"]["tasks_completed"], by_name["coder"]["tasks_completed"]) == (1, 0)
    assert by_name["publisher"]["missing"] == ["1 of 50 tasks", "0 of 7 days"]
    assert " ".join(said.out.splitlines()[1].split()) == (
        "publisher novice in_command 1 100.0% 1 of 50 tasks, 0 of 7 days"
    )


def test_an_incident_is_reported_with_a_note_and_shown(baton: Baton, tea: str, publishing: str) -> None:
    ask_to_publish(baton, tea, publishing)

    said = baton("trust", "publisher", "--incident", "major", "--note", "it sent the wrong file")
    [row] = baton("trust", "publisher", "--json").lines[0]

    assert said.code == 0
    assert "major it sent the wrong file" in said.out
    assert (row["level"], row["incidents"][0]["severity"]) == ("novice", "major")
    assert "0 of 7 days without incident" in row["missing"]


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["trust", "zoe"], "there is no agent 'zoe'"),
        (["trust", "zoe", "--incident", "minor"], "there is no agent 'zoe'"),
        (["trust", "--incident", "minor"], "an incident is one agent's"),
        (["trust", "coder", "--note", "x"], "a note belongs to an incident"),
        (["log", "t", "--verify"], "add --approvals"),
        (["log", "nowhere", "--approvals"], "there is no thread 'nowhere'"),
    ],
)
def test_what_cannot_be_is_refused(baton: Baton, tea: str, publishing: str, words: list[str], wrong: str) -> None:
    ask_to_publish(baton, tea, publishing)

    said = baton(*words)

    assert (said.code, said.err.count("\n")) == (2, 1)
    assert wrong in said.err


def age(thread: str, seconds: float) -> None:
    """Make the questions of a thread older than they are."""

    async def back() -> None:
        async with open_database(address_of("baton.db")) as database:
            place = space("approvals", thread)
            for row in await read_all(database.store, place):
                await database.store.aput(place, row.key, {**row.value, "expires_at": time.time() - seconds})

    asyncio.run(back())


def test_the_watch_applies_a_deadline_and_goes_on_with_the_run(baton: Baton, tea: str, publishing: str) -> None:
    ask_to_publish(baton, tea, publishing)
    assert baton("watch", "--once").err == ""
    age("t", 1)

    said = baton("watch", "--once", "--json")
    entries = baton("log", "t", "--approvals", "--verify", "--json")

    assert (said.lines[0]["thread_id"], said.lines[0]["status"]) == ("t", "partial")  # nothing was published
    assert [(entry["decision"], entry["by"], entry["door"]) for entry in entries.lines][1:] == [
        ("reject", "policy", "deadline")
    ]
    assert entries.code == 0
    assert not list(Path().glob("artifacts/t/published/**/*.md"))


@pytest.mark.parametrize("words", [["status", "t"], ["runs"], ["inbox"], ["log", "t"]])
def test_whoever_looks_after_the_deadline_has_it_decided(
    baton: Baton, tea: str, publishing: str, words: list[str]
) -> None:
    ask_to_publish(baton, tea, publishing)
    age("t", 1)

    assert baton(*words).code == 0

    (question,) = baton("log", "t", "--approvals", "--json").lines[1:]
    assert (question["decision"], question["by"], question["door"]) == ("reject", "policy", "deadline")
    assert baton("inbox").err == "nothing waits for you\n"


def test_an_answer_after_the_deadline_is_told_so(baton: Baton, tea: str, publishing: str) -> None:
    asked = ask_to_publish(baton, tea, publishing)
    age("t", 1)

    said = baton("answer", "t", str(asked["id"]), "approve")

    assert said.code == 2
    assert "was answered before: policy said reject" in said.err
    assert baton("resume", "t").code == 6


def test_the_watch_takes_up_a_run_whose_process_is_gone(baton: Baton, tea: str) -> None:
    async def left_behind() -> None:
        async with open_supervisor("baton.db", model=ScriptedModel([]), clock=HeldClock()) as sup:
            asked = plan({"id": "a", "description": ASK})
            running = asyncio.create_task(sup.start(ASK, [tea], "gone", plan=asked))
            while not await sup.events("gone"):  # noqa: ASYNC110 # what is awaited is in the database
                await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait({running})

    asyncio.run(left_behind())
    assert baton("status", "gone").out.startswith("paused")

    said = baton("watch", "--once")

    assert "taking up gone" in said.err
    assert "complete: thread gone" in said.err


def test_the_watch_leaves_alone_what_somebody_paused(baton: Baton, tea: str, publishing: str) -> None:
    ask_to_publish(baton, tea, publishing)
    baton("pause", "t")
    age("t", 1)

    assert baton("watch", "--once").err == ""
    assert baton("status", "t", "--json").lines[0]["status"] == "paused"


def test_a_plan_shows_which_tasks_are_sensitive(baton: Baton, tea: str, publishing: str) -> None:
    ask_to_publish(baton, tea, publishing)

    assert "[sensitive operation requires approval: publish]" in baton("status", "t").out
    tasks = baton("status", "t", "--json").lines[0]["tasks"]
    assert [task["marks"] for task in tasks] == [[], ["sensitive operation requires approval: publish"]]
