"""Plans by the offline model."""

from collections.abc import Sequence
from fnmatch import fnmatch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from nodes.llm.offline.model import OfflineModel
from nodes.llm.sections import Section, render
from state.plan import Plan, Task
from state.replies import PlanDraft
from tests.nodes.llm.offline.talk import LISTING, TEAM

ROLES = {"researcher", "analyst", "strategist", "coder", "writer", "publisher", "generalist"}
WORDS = st.sampled_from(
    """research compare write publish and then , . ? : 1. 2) - report SWOT market of the AI agents how many what is
    pricing trends implement code it do not 12*7 日本語 [a.md#L1] recommend summarise newline""".split()  # noqa: SIM905
)


def planned(request: str, sources: str = LISTING, team: str = TEAM, objections: Sequence[str] = ()) -> PlanDraft:
    """The plan for a request."""
    sections = [Section("request", request), Section("team", team), Section("sources", sources)]
    sections += [Section("objection", said) for said in objections]
    messages = [HumanMessage(render(section for section in sections if section.body))]
    draft = OfflineModel().with_structured_output(PlanDraft).invoke(messages)
    assert isinstance(draft, PlanDraft)
    return draft


def kinds(draft: PlanDraft) -> list[str]:
    """The kinds of its tasks."""
    return [task.kind for task in draft.tasks]


def test_a_market_analysis_becomes_the_six_tasks_of_the_chapter() -> None:
    draft = planned("Conduct a complete competitive analysis of the AI Agent market")
    assert kinds(draft) == ["research"] * 4 + ["strategy", "writing"]
    assert [task.role for task in draft.tasks] == [
        "researcher",
        "analyst",
        "researcher",
        "researcher",
        "strategist",
        "writer",
    ]
    *aspects, swot, report = draft.tasks
    assert all(not task.depends_on and "AI Agent market" in task.description for task in aspects)
    assert swot.depends_on == ["t1", "t2", "t3", "t4"]
    assert "t5" in report.depends_on
    assert draft.complexity > 0.6


def test_a_market_analysis_with_its_aspects_spelled_out_stays_six_tasks() -> None:
    draft = planned(
        "Conduct a competitive analysis of the AI agent market: how large the market is, who the competitors are, how "
        "their products compare, and which technology trends matter. Draw up a SWOT analysis, and write a report that "
        "says which suits whom."
    )
    assert len(draft.tasks) == 6


def test_one_short_question_is_one_task() -> None:
    draft = planned("What is LangGraph?")
    assert kinds(draft) == ["research"]
    assert draft.complexity < 0.3
    assert draft.tasks[0].needs_tools


@pytest.mark.parametrize(
    "request_",
    [
        "What is the difference between Find and Search?",
        "What is the difference between how files are stored and how they are read?",
        "Compare the differences between draft and review.",
    ],
)
def test_what_stands_between_two_things_is_one_question(request_: str) -> None:
    assert [task.description.rstrip("?.") for task in planned(request_).tasks] == [request_.rstrip("?.")]


@pytest.mark.parametrize(
    "request_",
    [
        "In the harbour study, how many boats have a cook?",
        "If two boats arrive at the same moment, which one lands first?",
        "The log says that the lamp is locked. What do I do?",
        "The lamp goes out twice a night. How do I prevent that?",
        "Where do I set the colour of a lamp, say more red, in the harbour?",
    ],
)
def test_what_a_question_makes_no_sense_without_is_in_its_task(request_: str) -> None:
    assert [task.description for task in planned(request_).tasks] == [request_]


@pytest.mark.parametrize(
    "request_",
    [
        "Which team hit the most home runs in a single season, and how many?",
        "Who wrote the charter, and in which year?",
        "Which country adopted the euro last? Give the year too.",
    ],
)
def test_what_is_asked_of_the_same_answer_is_no_task_of_its_own(request_: str) -> None:
    [task] = planned(request_).tasks
    assert task.description == request_.rstrip(".")


def test_a_question_about_a_superlative_is_followed_by_its_thing() -> None:
    assert [task.description for task in planned("Which country has the most ports, and how many does it own?").tasks][
        :2
    ] == ["Which country has the most ports", "How many does country own?"]


def test_one_short_question_without_sources_needs_no_tools() -> None:
    draft = planned("What is LangGraph?", sources="")
    assert [(task.role, task.needs_tools) for task in draft.tasks] == [("generalist", False)]
    assert draft.complexity < 0.3


@pytest.mark.parametrize(
    "request_",
    [
        "What does a checkpoint cost and how does a run resume after a crash?",
        "1. What does a checkpoint cost? 2. How does a run resume after a crash?",
        "- What does a checkpoint cost\n- How does a run resume after a crash",
    ],
)
def test_each_question_is_researched_in_parallel_and_one_writer_answers(request_: str) -> None:
    draft = planned(request_)
    assert kinds(draft) == ["research", "research", "writing"]
    assert [task.depends_on for task in draft.tasks] == [[], [], ["t1", "t2"]]
    assert "checkpoint" in draft.tasks[0].description
    assert "resume" in draft.tasks[1].description


def test_each_item_of_a_list_is_asked_for_in_whatever_words_and_a_signature_is_none() -> None:
    asked = "Hello,\n\nI began on Monday. Please tell me:\n- the price of the pump\n- who sells parts\n- opening hours"
    draft = planned(f"{asked}\n\nThanks,\nJo")
    found = [task.description for task in draft.tasks if task.kind == "research"]
    assert found == ["The price of the pump", "Who sells parts", "Opening hours"]


def test_an_empty_request_is_planned_all_the_same() -> None:
    assert planned("\n").tasks[0].description


def test_an_enumeration_is_split_and_each_part_keeps_the_subject() -> None:
    draft = planned("Find the history, pricing and limits of CrewAI")
    assert [task.description for task in draft.tasks[:3]] == [
        "The history of CrewAI",
        "Pricing of CrewAI",
        "Limits of CrewAI",
    ]


def test_a_comparison_is_weighed_and_recommended_after_the_research() -> None:
    draft = planned("Compare LangGraph, CrewAI and AutoGen on persistence, and recommend one")
    assert kinds(draft) == ["research"] * 3 + ["strategy", "writing"]
    assert [task.description for task in draft.tasks[:3]] == [
        "Persistence of LangGraph",
        "Persistence of CrewAI",
        "Persistence of AutoGen",
    ]
    assert draft.tasks[3].depends_on == ["t1", "t2", "t3"]


def test_publishing_comes_last_and_after_the_report() -> None:
    draft = planned("Research the limits of agents, write a report and publish it")
    last = draft.tasks[-1]
    assert (last.kind, last.role, last.action) == ("action", "publisher", "publish")
    assert draft.tasks[-2].kind == "writing"
    assert last.depends_on == [draft.tasks[-2].id]


def test_what_must_not_be_done_is_not_planned() -> None:
    assert "action" not in kinds(planned("Explain retries. Do not publish anything."))


@pytest.mark.parametrize(
    ("request_", "descriptions"),
    [
        ("Can I delete a run, and how do I publish a report?", ["Can I delete a run", "How do I publish a report?"]),
        (
            "Write a thank-you note to Anna without sending it, then list the open questions",
            ["List the open questions", "Write a thank-you note to Anna"],
        ),
        ("Tell me the licence, and whatever you do, don't mail it to anybody.", ["Tell me the licence"]),
        ("Draft a press release about pricing but hold off on publishing it.", ["Draft a press release about pricing"]),
        (
            "Explain what happens, e.g. publish the report twice, when a run is started again.",
            ["Explain what happens, e.g. publish the report twice, when a run is started again"],
        ),
    ],
)
def test_questions_about_actions_and_examples_of_them_are_neither_lost_nor_orders(
    request_: str, descriptions: list[str]
) -> None:
    draft = planned(request_)
    assert [task.description for task in draft.tasks if not task.description.startswith("Report")] == descriptions
    assert not any(task.action for task in draft.tasks)


def test_a_question_for_figures_goes_to_the_analyst_where_a_table_speaks_of_it() -> None:
    table = "prices.csv: table prices (vendor VARCHAR, price DOUBLE), 12 rows"
    assert kinds(planned("What is the average price per vendor?", sources=table)) == ["analysis"]
    assert kinds(planned("What is the average price per vendor?")) == ["research"]


def test_arithmetic_is_one_task_for_somebody_who_can_calculate() -> None:
    draft = planned("what is 12*7?", sources="")
    assert [(task.role, task.needs_tools) for task in draft.tasks] == [("analyst", True)]


def test_only_roles_of_the_team_are_given() -> None:
    draft = planned("Research agents, compare them and write a report", team="eve (scholar): all; kinds: research")
    assert {task.role for task in draft.tasks} <= {"scholar", "generalist"}
    assert draft.tasks[0].role == "scholar"


def _text(words: list[str]) -> str:
    return " ".join(words).replace("newline", "\n")


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=25).map(_text), st.sampled_from(["", LISTING]))
def test_whatever_is_asked_the_plan_is_a_valid_dag_and_the_same_each_time(request_: str, sources: str) -> None:
    draft = planned(request_, sources)
    fields = {"id", "description", "role", "kind", "depends_on"}
    plan = Plan(tasks=[Task(**task.model_dump(include=fields)) for task in draft.tasks], complexity=draft.complexity)
    assert {task.role for task in plan.tasks} <= ROLES
    assert draft == planned(request_, sources)


def replanned(request: str, *objections: str) -> PlanDraft:
    """The plan that is made after these objections."""
    return planned(request, sources=LISTING, objections=objections)


ASKED = "Compare waits and noise at the harbor, describe its history, and publish a report"


@pytest.mark.parametrize("said", ["fine, but leave out publishing", "the same without publishing", "don't send it"])
def test_an_action_that_is_objected_to_is_not_planned_again(said: str) -> None:
    assert kinds(planned(ASKED))[-1] == "action"
    again = replanned(ASKED, f"The plan was rejected: {said}")
    assert kinds(again) == kinds(planned(ASKED))[:-1]
    assert not any("reject" in task.description for task in again.tasks)


def test_a_task_that_was_not_allowed_is_not_planned_again() -> None:
    said = "Make another plan: ana did not allow publish: too early. That was task t5: Publish the report: All of it"
    assert "action" not in kinds(replanned(ASKED, said))


def test_an_aspect_is_left_out_and_another_one_added() -> None:
    said = "The plan was rejected: leave out the history; also describe the cranes"
    text = " ".join(task.description for task in replanned(ASKED, said).tasks if task.kind == "research")
    assert "cranes" in text
    assert "history" not in text


def test_an_objection_that_rules_cannot_read_changes_nothing() -> None:
    assert replanned(ASKED, "The plan was rejected: I don't like it") == planned(ASKED)


@pytest.mark.parametrize(
    ("follow_up", "description"),
    [
        ("And its licence?", "Licence of Eino"),
        ("does it run on Windows?", "Does Eino run on Windows?"),
        ("et pour Dapr ?", "Who makes Dapr?"),
        ("en una tabla por favor", "The previous answer. As a table."),
    ],
)
def test_a_follow_up_is_planned_in_words_that_stand_alone(follow_up: str, description: str) -> None:
    sections = [Section("earlier", "CloudWeGo.", {"request": "Who makes Eino?"}), Section("request", follow_up)]
    draft = OfflineModel().with_structured_output(PlanDraft).invoke([HumanMessage(render(sections))])
    assert isinstance(draft, PlanDraft)
    assert [task.description for task in draft.tasks] == [description]


@pytest.mark.parametrize(
    ("request_", "descriptions"),
    [
        ("Compare Alpha and Beta on price in a table", ["Price of Alpha", "Price of Beta", "Report: *. As a table."]),
        ("Find the fees, put them in a table, and publish it", ["Find the fees. As a table.", "Publish the result: *"]),
        ("Explain in three bullet points how locks work", ["Explain how locks work. In 3 bullet points."]),
        ("I want the opening hours as a table", ["I want the opening hours. As a table."]),
        ("What are the risks? Keep it short.", ["What are the risks? Briefly."]),
        ("Please make a small table comparing A1 and B2", ["A1", "B2", "Report: A1; B2. As a table."]),
        ("How do I pass rows as a table?", ["How do I pass rows as a table?"]),
        ("List the columns in the table", ["List the columns in the table"]),
        ("Show how to sort rows in a table", ["Show how to sort rows in a table"]),
        ("Find the duplicates in a list", ["Find the duplicates in a list"]),
        ("Explain locks in one paragraph", ["Explain locks. In 1 paragraph."]),
        ("Explain locks in ² points", ["Explain locks in ² points"]),
        ("Explain  locks\n  in 2   points", ["Explain locks. In 2 bullet points."]),
        ("Read the report, summarise it, and send it to Kim", ["summarise it", "Send the result: *"]),
    ],
)
def test_the_shape_of_the_answer_is_said_with_the_last_task_and_is_no_part_of_what_is_asked(
    request_: str, descriptions: list[str]
) -> None:
    found = [task.description for task in planned(request_).tasks]
    assert len(found) == len(descriptions)
    assert all(fnmatch(one, said) for one, said in zip(found, descriptions, strict=True))


@pytest.mark.parametrize(
    ("request_", "tasks"),
    [
        ("When should I take a shelf and when a box?", 1),
        ("When do I use oil and when not to?", 1),
        ("What is the mean in the first group, and what in the second?", 1),
        ("How much heat per head, in kWh, did France use in 2005?", 1),
        ("What share never came again, that is, have a frequency of zero?", 1),
        ("Which licence does Eino have, is it open source?", 3),
        ("How do I start it and how to stop it?", 3),
        ("When was it built and when did it burn?", 3),
    ],
)
def test_a_question_that_lacks_the_verb_of_the_one_before_is_no_task_of_its_own(request_: str, tasks: int) -> None:
    assert len(planned(request_).tasks) == tasks


@pytest.mark.parametrize(
    ("request_", "is_calculated"),
    [
        ("What is the resistance per kilometre of the cable type NAYY 4x150 SE?", False),
        ("What is a 3+2 bike with hydraulic brakes good for?", False),
        ("How much is 12 % of 340 euros?", True),
        ("Please calculate 4x150", True),
    ],
)
def test_a_name_with_signs_of_arithmetic_in_it_is_not_calculated(request_: str, is_calculated: bool) -> None:
    assert planned(request_).tasks[0].description.startswith("Calculate") == is_calculated
