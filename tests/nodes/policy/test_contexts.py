"""What an agent gets to know, and no more (row M20)."""

from nodes.policy.readiness import RECENT_MAIL, assemble_brief
from state.agent import Mail
from tests.builders import make_outcome, make_record


def test_an_agent_gets_the_results_it_depends_on_and_nothing_else() -> None:
    brief = assemble_brief(
        "Q", make_record("c <- a b"), {"a": make_outcome("a", "A!"), "b": make_outcome("b", {"n": 1})}
    )

    assert brief.inputs == {"a": "A!", "b": {"n": 1}}
    assert (brief.query, brief.task.id, brief.missing, brief.feedback, brief.previous) == ("Q", "c", [], "", "")


def test_inputs_that_did_not_come_are_named() -> None:
    inputs = {
        "a": make_outcome("a", "A!"),
        "b": make_outcome("b", failure="broke"),
        "c": make_outcome("c", "half", status="skipped"),
    }
    brief = assemble_brief("Q", make_record("d <- a b c"), inputs)

    assert brief.inputs == {"a": "A!"}
    assert brief.missing == ["b", "c"]


def test_only_the_latest_mail_goes_in() -> None:
    mail = [Mail(sender="bo", to="ada", text=str(n)) for n in range(RECENT_MAIL + 5)]
    brief = assemble_brief("Q", make_record("a"), {}, mail=mail)

    assert [one.text for one in brief.mail] == [str(n) for n in range(5, RECENT_MAIL + 5)]


def test_who_does_it_again_sees_the_last_version_and_what_was_said_to_it() -> None:
    record = make_record("a", outcome=make_outcome("a", "First."))
    again = assemble_brief("Q", record.model_copy(update={"feedback": "Longer."}), {}, iteration=1)
    stale = assemble_brief("Q", record, {}, iteration=1)

    assert (again.feedback, again.previous, again.iteration) == ("Longer.", "First.", 1)
    assert stale.previous == ""


def test_the_run_is_described_by_a_count_and_the_names_of_files() -> None:
    brief = assemble_brief("Q", make_record("a"), {}, artifacts=3, sources=["a.md: text, 3 lines"])

    assert (brief.artifacts, brief.sources) == (3, ["a.md: text, 3 lines"])
