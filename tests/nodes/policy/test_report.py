"""The report: numbered sources, to the letter, and honest about what is missing."""

import pytest

from nodes.policy.report import MOST_FINDINGS, joined, sinks, write_report
from nodes.policy.wording import progress
from state.citation import Citation, Claim
from state.record import ModelUsed, TaskRecord, TaskStatus, Usage
from state.run import Mode
from tests.builders import make_outcome, make_record, make_task

MODE = Mode(name="dag", reason="a fixed plan of 2 tasks", complexity=0.4, review_rounds=1)


def cited(text: str, place: str, quote: str, file: str = "a.md") -> Claim:
    return Claim(text=text, citations=[Citation(file=file, place=place, quote=quote)])


def done(task_id: str, *claims: Claim, text: str = "Said.", after: str = "", calls: int = 1) -> TaskRecord:
    outcome = make_outcome(task_id, text, usage=Usage(calls=calls)).model_copy(update={"claims": list(claims)})
    return make_record(f"{task_id} <- {after}", "done", outcome=outcome)


def unfinished(task_id: str, status: TaskStatus, why: str = "") -> TaskRecord:
    outcome = make_outcome(task_id, failure=why) if why else None
    return make_record(make_task(task_id, description=f"Look into {task_id}."), status, outcome=outcome)


def write(answer: str, *records: TaskRecord, model: str = "gpt-4o-mini", query: str = "Q?", **more: object) -> str:
    return write_report(query, answer, records, mode=MODE, models=[model], **more)  # type: ignore[arg-type]


def section(report: str, title: str) -> str:
    return report.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0].strip()


def test_labels_become_numbers_in_the_order_of_the_text_each_place_once() -> None:
    record = done("a", cited("Two.", "L5-L6", "two"), cited("One.", "L1", "one"))
    report = write("One [a.md#L1]. Two [a.md#L5-L6]. One again [a.md#L1].", record)

    assert "One [1]. Two [2]. One again [1]." in report
    assert section(report, "Sources").splitlines() == ['1. a.md, line 1: "one"', '2. a.md, lines 5-6: "two"']


@pytest.mark.parametrize(
    ("place", "words"), [("L3", "line 3"), ("L3-L3", "line 3"), ("p3", "page 3"), ("r2-r9", "rows 2-9")]
)
def test_places_are_said_in_words(place: str, words: str) -> None:
    report = write(f"So [a.md#{place}].", done("a", cited("So.", place, "so")))

    assert f'1. a.md, {words}: "so"' in report


def test_a_quote_stands_in_the_list_to_the_letter() -> None:
    quote = 'He said  "no":\n  twice'
    report = write("He refused [a.md#L1].", done("a", cited("He refused.", "L1", quote)))

    assert f'"{quote}"' in section(report, "Sources")


def test_a_quote_that_the_answer_shows_whole_is_not_said_again() -> None:
    kept, ends = cited("Steps are kept.", "L1-L2", "Steps\nare kept"), cited("It ends.", "L5", "It ends")
    record = done("a", kept, ends, cited("So.", "L9", "so it is"))
    report = write('> Steps are\n> kept.\n[a.md#L1-L2]\n\nSo it is so [a.md#L9].\n\n- "It ends." [a.md#L5]', record)

    listed = ["1. a.md, lines 1-2", '2. a.md, line 9: "so it is"', "3. a.md, line 5"]
    assert section(report, "Sources").splitlines() == listed


def test_a_figure_says_how_it_was_computed() -> None:
    report = write("It is 7 [x.csv#table].", done("a", cited("It is 7.", "table", "SELECT\n  avg(p) FROM x", "x.csv")))

    assert section(report, "Sources") == "1. x.csv, computed from the table: `SELECT avg(p) FROM x`"


def test_a_label_that_points_nowhere_says_so_and_is_no_source() -> None:
    record = done("a", cited("True.", "L1", "true"), cited("Misquoted.", "L2", ""))
    report = write("True [a.md#L1]. Made up [a.md#L99]. Misquoted [a.md#L2].", record)

    assert "True [1]. Made up (unverified: a.md). Misquoted (unverified: a.md)." in report
    assert section(report, "Sources") == '1. a.md, line 1: "true"'


def test_a_place_that_one_agent_quoted_and_another_misquoted_is_verified_in_any_order() -> None:
    good, bad = done("a", cited("It is so.", "L1", "so")), done("b", cited("It is not.", "L1", ""))

    for records in ([good, bad], [bad, good]):
        assert '1. a.md, line 1: "so"' in write("It is so [a.md#L1].", *records)


def test_findings_that_the_answer_leaves_out_are_listed_with_their_sources() -> None:
    fell = cited("Demand fell a little.", "L7", "fell")
    records = [done("a", cited("Prices rose.", "L1", "rose")), done("b", fell, Claim(text="Nobody cites this line."))]
    report = write("Prices rose [a.md#L1].", *records)

    assert section(report, "Further findings") == "- Demand fell a little. [2]"
    assert '2. a.md, line 7: "fell"' in report


def test_findings_are_said_once_and_not_without_end() -> None:
    claims = [cited(f"Finding number {n} of the long list.", f"L{n}", f"q{n}") for n in range(MOST_FINDINGS + 3)]
    report = write("Short.", done("a", *claims), done("b", *claims))

    assert report.count("Finding number 7 of") == 1
    assert "… and 3 more" in report


def test_what_is_missing_is_listed_with_its_reason() -> None:
    report = write(
        "Some.",
        done("a"),
        unfinished("b", "failed", "it broke"),
        unfinished("c", "skipped"),
        unfinished("d", "cancelled"),
        unfinished("e", "parked"),
        unfinished("f", "pending"),
    )

    assert section(report, "What is missing").splitlines() == [
        "- `b` (failed), Look into b.: it broke",
        "- `c` (skipped), Look into c.",
        "- `d` (cancelled), Look into d.",
        "- `e` (parked), Look into e.",
        "- `f` (pending), Look into f.",
    ]
    assert "1 of 6 tasks done, by ada" in report


def test_a_complete_run_misses_nothing() -> None:
    assert "## What is missing" not in write("All.", done("a"))


def test_a_run_that_gave_up_says_why_first() -> None:
    report = write("", done("a"), error="4 of 6 tasks failed; at 4 the run stops (threshold 50%)")

    assert report.index("**Stopped early:** 4 of 6") < report.index("_No task delivered a result._")


def test_a_report_without_a_language_model_says_so() -> None:
    made = section(write("So.", done("a"), model="offline", warnings=["b.pdf: encrypted"]), "How this was made")

    assert "No language model was used" in made
    assert "- Note: b.pdf: encrypted" in made
    assert "- Mode dag: a fixed plan of 2 tasks" in made


def test_a_report_with_a_language_model_names_it() -> None:
    report = write("So.", done("a"), model="gpt-4o-mini")

    assert "the model gpt-4o-mini" in report
    assert "No language model" not in report


def test_where_functions_did_all_of_it_no_model_is_claimed() -> None:
    report = write("So.", done("a", calls=0), model="gpt-4o-mini")

    assert "done by functions, without a language model" in report
    assert "gpt-4o-mini" not in report


def test_a_long_request_makes_a_short_title() -> None:
    title = write("So.", done("a"), query="why\n" * 200).splitlines()[0]

    assert title.startswith("# why why")
    assert len(title) <= 202


def test_a_title_of_a_long_request_ends_where_a_part_of_it_does() -> None:
    report = write("Yes.", query=f"Analyse the market for tea: its size, its growth, {'its makers, ' * 20}and so on.")
    assert report.startswith("# Analyse the market for tea\n")


def test_the_answer_is_in_the_tasks_that_nothing_delivered_builds_on() -> None:
    failed = unfinished("c", "failed", "broke").model_copy(update={"task": make_task("c", "b")})
    records = [done("a"), done("b", after="a"), failed, done("d")]

    assert [record.id for record in sinks(records)] == ["b", "d"]


def test_several_results_stand_each_under_its_task() -> None:
    assert joined([done("a", text="Just this.")]) == "Just this."
    assert (
        joined([done("a", text="A!"), done("b", text=""), done("c", text="C!")]) == "## Do a.\n\nA!\n\n## Do c.\n\nC!"
    )
    assert joined([]) == ""


def test_two_statements_that_quote_one_place_differently_have_a_source_each() -> None:
    rose, fell = cited("Prices rose in spring.", "L1-L9", "they rose"), cited("Demand fell later.", "L1-L9", "it fell")
    report = write("Demand fell later [a.md#L1-L9]. Prices rose in spring [a.md#L1-L9].", done("a", rose, fell))

    assert "Demand fell later [1]. Prices rose in spring [2]." in report
    assert [line.partition(": ")[2] for line in section(report, "Sources").splitlines()] == ['"it fell"', '"they rose"']


def test_agents_whose_calls_nobody_could_count_are_named() -> None:
    report = write_report("Q", "A.", [], mode=None, models=["m"], unseen=["far"])

    assert "- Calls of far were not seen, and are not counted: it works elsewhere" in report


@pytest.mark.parametrize(("model", "is_told"), [("offline", False), ("small", True)])
def test_what_a_model_used_is_told_and_what_rules_used_is_not(model: str, is_told: bool) -> None:
    used = {"ada": Usage(calls=1, input_tokens=9, models=[ModelUsed(name=model, provider="here")])}
    report = write_report("Q", "A.", [], mode=None, models=[model], used=used)

    assert ("- Used: ada 1 call, 9 tokens" in report) is is_told


@pytest.mark.parametrize(
    ("undone", "said"),
    [
        ("b", "1 of 2 required tasks was not done: “Look into b”."),
        ("bcdef", "5 of 6 required tasks were not done: “Look into b”, “Look into c”, “Look into d” and 2 more."),
    ],
)
def test_what_is_not_complete_is_said_in_the_words_of_the_plan(undone: str, said: str) -> None:
    records = [done("a"), *(unfinished(one, "skipped") for one in undone)]

    assert f"**Not complete:** {said} What was finished is below." in write("Answer.", *records)
    others = len(undone)
    assert progress(records) == f"1 of {others + 1} done · {others} not done"
