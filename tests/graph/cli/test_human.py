import asyncio
import io
import json
import sys
from typing import Any

import pytest
from pydantic import JsonValue

from graph.cli.ask import Asker
from graph.cli.launch import Launch
from graph.cli.session import Session
from nodes.policy.approvals import plan_question
from state.approval import Approval
from state.plan import Plan
from tests.graph.cli.conftest import Baton
from tests.runs import plan

ASK = "How much caffeine is in tea?"


def question(name: str = "q1") -> Approval:
    return Approval(id=name, task_id="t", agent="ada", action="publish", args={"name": "a.md"}, reason="it is public")


def typing(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_run_that_needs_a_human_ends_with_3_and_the_commands_to_answer(
    baton: Baton, tea: str, publishing: str
) -> None:
    said = baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")
    [question] = baton("inbox", "--json").lines[0]

    assert said.code == 3
    assert said.out == ""
    assert f"baton answer t {question['id']} approve" in said.err


@pytest.mark.of_files
def test_the_command_to_answer_names_the_database_that_is_used(baton: Baton, tea: str, publishing: str) -> None:
    said = baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t", "--db", "my runs.db")

    assert "approve --db 'my runs.db'" in said.err


def test_a_rejected_action_is_not_done_and_the_run_ends(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")
    [asked] = baton("inbox", "t", "--json").lines[0]

    said = baton("answer", "t", asked["id"], "reject", "--message", "not now", "--by", "ana", "--json")

    answered = next(event for event in said.lines if event.get("kind") == "approval_answered")
    assert answered["data"] == {"id": asked["id"], "decision": "reject", "by": "ana", "message": "not now"}
    assert baton("inbox", "t", "--json").lines == [[]]


def test_a_waiting_run_can_be_resumed_and_still_waits(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")

    assert baton("resume", "t").code == 3


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["nonsense", "approve"], "no open question is called 'nonsense'"),
        (["REQUEST", "edit"], "an edit, and only an edit, has new arguments"),
        (["REQUEST", "approve", "--args", "{}"], "an edit, and only an edit, has new arguments"),
        (["REQUEST", "edit", "--args", "{name"], "--args is not JSON"),
        (["REQUEST", "edit", "--args", "[1]"], "--args is not a JSON object"),
        (["REQUEST", "maybe"], "'maybe' is not one of"),
    ],
)
def test_an_answer_that_cannot_be_read_is_refused_and_the_question_stays_open(
    baton: Baton, tea: str, publishing: str, words: list[str], wrong: str
) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")
    [asked] = baton("inbox", "t", "--json").lines[0]

    said = baton("answer", "t", *[word.replace("REQUEST", asked["id"]) for word in words])

    assert said.code == 2
    assert wrong in said.err
    assert said.err.count("\n") == 1
    assert baton("inbox", "t", "--json").lines == [[asked]]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("approve\n", {"type": "approve", "message": ""}),
        ("y looks good\n", {"type": "approve", "message": "looks good"}),
        ("reject: too early\n", {"type": "reject", "message": "too early"}),
        ('edit {"name": "b.md"}\n', {"type": "edit", "args": {"name": "b.md"}}),
        ('edit\n{"name": "b.md"}\n', {"type": "edit", "args": {"name": "b.md"}}),
        ("edit {name\napprove\n", {"type": "approve", "message": ""}),
        ("edit [1]\nno\n", {"type": "reject", "message": ""}),
        ("perhaps\nok\n", {"type": "approve", "message": ""}),
    ],
)
def test_what_is_typed_is_an_answer(monkeypatch: pytest.MonkeyPatch, typed: str, answer: object) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    typing(monkeypatch, typed)

    assert asyncio.run(Asker().ask([question()])) == {"q1": answer}


EDITORS = {
    "kept": ("sed -i s/a.md/b.md/", "edit\n", {"type": "edit", "args": {"name": "b.md"}}),
    "broken": ("sed -i s/name:/[/", 'edit\n{"name": "c.md"}\n', {"type": "edit", "args": {"name": "c.md"}}),
    "left": ("false", "edit\n\nno\n", {"type": "reject", "message": ""}),
    "missing": ("no-such-editor", "edit\n\nno\n", {"type": "reject", "message": ""}),
}


@pytest.mark.parametrize(("command", "typed", "answer"), EDITORS.values(), ids=EDITORS.keys())
def test_an_edit_opens_the_editor_that_somebody_has_chosen(
    monkeypatch: pytest.MonkeyPatch, command: str, typed: str, answer: object
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", command)
    typing(monkeypatch, typed)

    assert asyncio.run(Asker().ask([question()])) == {"q1": answer}


def test_a_plan_is_edited_as_lines_with_a_task_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i -e s/prices/terms/ -e '/Sum/d'")
    typing(monkeypatch, "edit\n")
    given = plan(
        {"id": "a", "description": "Compare the prices."}, {"id": "b", "description": "Sum it up.", "depends_on": ["a"]}
    )

    said: Any = asyncio.run(Asker().ask([plan_question(Plan.model_validate(given), 0)]))

    assert [task["description"] for task in said["plan.0"]["args"]["tasks"]] == ["Compare the terms."]


def test_an_empty_line_leaves_a_question_open_and_it_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    typing(monkeypatch, "\napprove\napprove\n")
    asker = Asker()

    assert asyncio.run(asker.ask([question("q1"), question("q2")])) == {"q2": {"type": "approve", "message": ""}}
    assert asyncio.run(asker.ask([question("q1")])) == {}


def test_an_answer_that_nobody_could_take_is_given_again_until_somebody_does(monkeypatch: pytest.MonkeyPatch) -> None:
    typing(monkeypatch, "approve at last\n")
    asker, answered = Asker(), {"q1": {"type": "approve", "message": "at last"}}

    assert asyncio.run(asker.ask([question()])) == answered
    assert asyncio.run(asker.ask(asker.new([question()]))) == answered  # whoever had it was cancelled
    asker.took(answered)
    assert asker.new([question()]) == []


def test_after_the_end_of_input_nothing_more_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typing(monkeypatch, "")

    assert asyncio.run(Asker().ask([question("q1"), question("q2")])) == {}
    assert "Question 2" not in capsys.readouterr().err


def test_a_question_cannot_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typing(monkeypatch, "")
    sly = question().model_copy(update={"args": {"name": "\x1b[2Jclean"}, "description": "\x1b]0;title\x07 [bold]x"})

    asyncio.run(Asker().ask([sly]))

    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert "[bold]x" in shown


def test_text_of_several_lines_is_shown_as_it_stands_below_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typing(monkeypatch, "")
    asked = question().model_copy(update={"args": {"name": "a.md", "content": "# Tea\n\nIt is hot.", "copies": 2}})
    asyncio.run(Asker().ask([asked]))

    assert "With:\n  name: a.md\n  content:\n    # Tea\n\n    It is hot.\n  copies: 2\n" in capsys.readouterr().err


def test_new_arguments_that_the_tool_cannot_take_are_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"count": {"type": "integer"}}}
    strict = question().model_copy(update={"args_schema": {**schema, "required": ["count"]}})
    typing(monkeypatch, 'edit {"name": "b"}\nedit {"count": "many"}\nedit {"count": "3"}\n')

    assert asyncio.run(Asker().ask([strict])) == {"q1": {"type": "edit", "args": {"count": 3}}}
    said = capsys.readouterr().err
    assert said.count("these arguments cannot be used") == 2
    assert "'count' is a required property" in said
    assert "count: 'many' is not of type 'integer'" in said


@pytest.fixture
def planned(baton: Baton, tea: str, publishing: str) -> str:
    """A run whose plan waits; the id of that question."""
    words = ["--sources", tea, "--plan", publishing, "--thread", "t", "--oversight", "in_command"]
    assert baton("run", ASK, *words).code == 3
    [asked] = baton("inbox", "t", "--json").lines[0]
    assert asked["subject"] == "plan"
    return str(asked["id"])


def tasks_of(baton: Baton) -> list[str]:
    return [task["id"] for task in baton("status", "t", "--json").lines[0]["tasks"]]


def test_a_plan_is_answered_with_a_whole_plan(baton: Baton, planned: str) -> None:
    other = {"tasks": [{"id": "only", "description": "Find how much caffeine tea has", "role": "researcher"}]}
    said = baton("answer", "t", planned, "edit", "--args", json.dumps(other), "--by", "ana")
    [asked] = baton("inbox", "t", "--json").lines[0]

    assert (said.code, tasks_of(baton)) == (3, ["only"])
    assert (asked["subject"], asked["task_id"]) == ("task", "only")


@pytest.mark.parametrize(
    ("args", "wrong"),
    [
        ({"tasks": []}, "the plan cannot be used: tasks: List should have at least 1 item"),
        ({"tasks": [{"id": "a", "description": "x", "depends_on": ["b"]}]}, "task 'a' depends on unknown task 'b'"),
        ({"description": "a shorter one"}, "the plan cannot be used: tasks: Field required"),
    ],
)
def test_a_plan_that_cannot_be_used_is_refused_in_a_line_and_the_question_stays_open(
    baton: Baton, planned: str, args: object, wrong: str
) -> None:
    said = baton("answer", "t", planned, "edit", "--args", json.dumps(args))

    assert (said.code, said.err.count("\n")) == (2, 1)
    assert wrong in said.err
    assert [asked["id"] for asked in baton("inbox", "t", "--json").lines[0]] == [planned]


def test_a_plan_that_waits_is_in_the_inbox_while_the_run_is_paused(baton: Baton, planned: str) -> None:
    baton("pause", "t")
    assert [asked["id"] for asked in baton("inbox", "t", "--json").lines[0]] == [planned]

    assert baton("answer", "t", planned, "approve").code == 3
    assert baton("inbox", "t", "--json").lines == [[]]
    assert baton("resume", "t").code == 3
    assert [asked["subject"] for asked in baton("inbox", "t", "--json").lines[0]] == ["task"]


def test_what_is_asked_is_shown_with_its_arguments(baton: Baton, tea: str, publishing: str) -> None:
    waiting = baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")

    for shown in (waiting.err, baton("inbox").out, baton("status", "t").out):
        assert "Publish report-" in shown
        assert '{"name": ' in shown


def test_a_run_that_is_paused_still_shows_what_it_asks(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")
    baton("pause", "t")

    shown = baton("status", "t").out
    assert "open: Publish report-" in shown
    assert "go on with: baton resume t" in shown


def test_at_the_terminal_only_the_answer_that_came_second_is_lost(baton: Baton, tea: str, publishing: str) -> None:
    baton("run", ASK, "--sources", tea, "--plan", publishing, "--thread", "t")
    [asked] = baton("inbox", "t", "--json").lines[0]
    launch = Launch()
    answers: dict[str, JsonValue] = {asked["id"]: {"type": "approve"}, "gone": {"type": "approve"}}

    job = Session("t", None, launch)
    run, _ = asyncio.run(job._go(job._answering(answers)))

    assert run.status == "complete"
