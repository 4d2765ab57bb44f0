"""Who does a task: 60 % self-assessment, 40 % keywords (row M18)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.team_file import open_team
from nodes.policy.episodes import record_of
from nodes.policy.routing import fallbacks, keyword_match, kind_of, roles_of, route, routes, score
from state.episode import Episode, EpisodeTask
from state.plan import Task
from state.record import Route, Score
from tests.builders import make_agent, make_task
from tests.nodes.policy.routing_cases import FRESH, LABELLED

SEVEN = open_team().specs
ADA = make_agent("ada", "researcher", kinds={"research": 0.9}, keywords=["market"])
BO = make_agent("bo", "writer", kinds={"writing": 0.9, "general": 0.4}, keywords=["report"])


def described(text: str, kind: str = "research", role: str = "generalist") -> Task:
    return make_task(description=text, kind=kind, role=role)


def test_a_score_is_sixty_to_forty_and_keeps_its_parts() -> None:
    assert score(described("Study the market."), ADA) == Score(
        agent="ada", self_assessment=0.9, keywords=0.5, total=0.74
    )


@pytest.mark.parametrize(
    ("kind", "own"), [("writing", 0.9), ("general", 0.4), ("research", 0.4), ("something new", 0.4)]
)
def test_a_kind_that_an_agent_does_not_list_counts_as_general(kind: str, own: float) -> None:
    assert score(described("Do it.", kind), BO).self_assessment == own


def test_an_agent_that_lists_nothing_is_sure_of_its_own_role_only() -> None:
    plain = make_agent("cy", "diver")

    assert score(described("Go down.", role="Diver"), plain).self_assessment == 1.0
    assert score(described("Go down.", role="cy"), plain).self_assessment == 1.0
    assert score(described("Go down.", role="writer"), plain).self_assessment == 0.1


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("Nothing fits here.", 0.0),
        ("All markets.", 0.5),
        ("MARKET research", 0.75),
        ("the marketing of researchers", 0.75),
    ],
)
def test_each_word_of_its_vocabulary_halves_what_is_missing(text: str, match: float) -> None:
    assert keyword_match(described(text), ADA) == match


def test_the_suggestion_stands_from_one_half() -> None:
    weak = make_agent("bo", "writer", kinds={"research": 0.5})  # 0.6 * 0.5 + 0.4 * 0.5 = 0.5
    weaker = make_agent("bo", "writer", kinds={"research": 0.499})
    task = described("Have the writer study the market for research.", role="writer")

    assert route(task, [ADA, weak]).agent == "bo"
    assert "suggested as writer, scores 0.50" in route(task, [ADA, weak]).reason
    assert route(task, [ADA, weaker]).agent == "ada"
    assert "; writer scores only" in route(task, [ADA, weaker]).reason


def test_a_role_that_nobody_has_is_said_to_be_missing() -> None:
    assert route(described("Study the market.", role="pilot"), [BO, ADA]).reason == "best score 0.74; nobody is pilot"


@pytest.mark.parametrize(
    ("keyword", "text", "match"),
    [
        ("AI", "Survey AI vendors.", 0.5),
        ("AI", "Survey air vendors in Spain.", 0.0),
        ("ML", "Is ML or UX more in demand?", 0.5),
        ("UX", "The UX-designers decide.", 0.5),
        ("Go", "Which Go library?", 0.5),
        ("Go", "Who is going to a good goal?", 0.0),
        ("C#", "Port it from C# to Java.", 0.5),
        ("C#", "Port it from C++ to C.", 0.0),
        ("C++", "Port it from C++ to C.", 0.5),
        ("R", "Plot it with R.", 0.5),
        ("R", "Research rarely rests.", 0.0),
        ("API", "Describe the api.", 0.5),
        ("рынок", "Изучи Рынок сыра.", 0.5),
        ("ИИ", "Где ИИ уже помогает?", 0.5),
        ("市场分析", "做一份市场报告", 0.5),
        ("AI", "调查AI市场", 0.5),
        ("法", "合同法的问题", 0.5),
        ("시장", "시장 조사", 0.5),
        ("سوق", "تحليل السوق", 0.5),
        ("Übersetzung", "Eine ÜBERSETZUNG bitte.", 0.5),
        ("Käse", "Ka\u0308se aus Holland", 0.5),
        ("ελιά", "Πόσο κοστίζει η Ελιά;", 0.5),
    ],
)
def test_keywords_of_any_length_and_script_match_as_words(keyword: str, text: str, match: float) -> None:
    assert keyword_match(described(text), make_agent("cy", "x", keywords=[keyword])) == match


def test_small_words_of_a_specialty_speak_for_nobody() -> None:
    cy = make_agent("cy", "diver", specialty="the sea, and what is in it; AI for a ship")

    assert keyword_match(described("What is it for, and who is in the office?"), cy) == 0.0
    assert keyword_match(described("AI in the office"), cy) == 0.5


def test_a_suggestion_is_not_overruled_by_somebody_who_scores_below_one_half_too() -> None:
    weak = make_agent("bo", "writer", kinds={"research": 0.3})
    better = make_agent("cy", "diver", kinds={"research": 0.7})  # 0.42
    good = make_agent("di", "pilot", kinds={"research": 0.9})  # 0.54
    task = described("Go down.", role="writer")

    assert route(task, [better, weak]).agent == "bo"
    assert route(task, [better, weak]).reason == "suggested as writer, scores 0.18; nobody reaches 0.50"
    assert route(task, [better, weak, good]).agent == "di"


def test_a_task_that_is_for_somebody_goes_there_whatever_the_scores_are() -> None:
    task = described("Study the market.").model_copy(update={"to": "bo"})

    assert (route(task, [ADA, BO]).agent, route(task, [ADA, BO]).reason) == ("bo", "it is for bo")


@given(st.permutations(SEVEN), st.sampled_from(["research", "writing", "general"]), st.text(max_size=40))
def test_all_scores_are_kept_best_first_whatever_the_order_of_the_team(
    team: list[object], kind: str, words: str
) -> None:
    chosen = route(described(f"x {words}", kind), SEVEN)
    totals = [one.total for one in chosen.scores]

    assert {one.agent for one in chosen.scores} == {agent.name for agent in SEVEN}
    assert totals == sorted(totals, reverse=True)
    assert all(0 <= total <= 1 for total in totals)


@pytest.mark.parametrize(
    ("text", "kind", "role", "agent"),
    [
        ("Gather facts about the market and its competitors.", "research", "researcher", "researcher"),
        ("Compare the prices in the table and compute the average.", "analysis", "analyst", "analyst"),
        ("Draw up a SWOT and recommend an option.", "strategy", "strategist", "strategist"),
        ("Implement a script that exports the figures to a file.", "implementation", "coder", "coder"),
        ("Write the final report from the results.", "writing", "writer", "writer"),
        ("Publish the report.", "action", "publisher", "publisher"),
        ("Answer the question.", "general", "generalist", "generalist"),
        ("Compute the average price in the table.", "analysis", "generalist", "analyst"),
        ("Write the final report.", "writing", "astronaut", "writer"),
        ("Gather trends of the market.", "research", "publisher", "researcher"),
    ],
)
def test_the_built_in_team_gets_typical_tasks_right(text: str, kind: str, role: str, agent: str) -> None:
    assert route(described(text, kind, role), SEVEN).agent == agent


def test_only_agents_that_are_any_good_may_take_over() -> None:
    scores = [
        Score(agent=name, self_assessment=0, keywords=0, total=total)
        for name, total in [("ada", 0.9), ("bo", 0.5), ("cy", 0.3), ("di", 0.29)]
    ]
    chosen = Route(agent="ada", reason="", scores=scores)

    assert fallbacks(chosen, set()) == ["bo", "cy"]
    assert fallbacks(chosen, {"bo"}) == ["cy"]


def test_a_plan_may_ask_by_role_or_by_name() -> None:
    assert roles_of([ADA, BO]) == ["researcher", "writer", "ada", "bo"]


def test_once_the_team_is_full_the_rest_of_a_plan_goes_to_who_is_in_it() -> None:
    cy = make_agent("cy", "editor", kinds={"editing": 0.9})
    kinds = {"researcher": "research", "writer": "writing", "editor": "editing"}
    tasks = [described("Do it.", kinds[role], role) for role in ("researcher", "writer", "editor", "writer")]

    found = routes(tasks, [ADA, BO, cy], (), 2)
    assert [one.agent for one in found] == ["ada", "bo", "bo", "bo"]
    assert found[2].reason.endswith("the team has 2 members, the limit is 2")
    assert [one.agent for one in routes(tasks, [ADA, BO, cy], ("cy",), 2)] == ["ada", "ada", "cy", "ada"]
    assert [one.agent for one in routes(tasks, [ADA, BO, cy], (), 3)] == ["ada", "bo", "cy", "bo"]


def test_who_is_asked_for_by_name_has_a_place_in_the_team_from_the_start() -> None:
    named = described("Do it.").model_copy(update={"to": "bo"})
    tasks = [described("Do it.", role="researcher"), named]

    assert [one.agent for one in routes(tasks, [ADA, BO], (), 1)] == ["bo", "bo"]


@pytest.mark.parametrize("cases", [LABELLED, FRESH], ids=["labelled", "fresh"])
@pytest.mark.parametrize("is_said", [True, False], ids=["with its kind", "by its words alone"])
def test_the_built_in_team_gets_the_right_tasks_and_each_score_is_the_sum_of_its_parts(
    cases: list[tuple[str, str, str]], *, is_said: bool
) -> None:
    found = [route(described(text, kind if is_said else "general"), SEVEN) for text, kind, _ in cases]
    right = [one.agent == agent for one, (_, _, agent) in zip(found, cases, strict=True)]

    assert sum(right) >= 0.9 * len(cases)
    for one in found:
        for part in one.scores:
            assert part.total == pytest.approx(
                0.6 * (part.self_assessment + part.learned) + 0.4 * part.keywords, abs=2e-3
            )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Compare the prices of both.", "analysis"),
        ("Write a function that sorts.", "implementation"),
        ("Write a letter.", "writing"),
        ("Find out who founded it.", "research"),
        ("Do not publish it.", "general"),
        ("Find it and send it.", "general"),
        ("Say something.", "general"),
    ],
)
def test_a_task_of_no_kind_is_of_the_kind_that_its_verb_asks_for(text: str, kind: str) -> None:
    assert kind_of(described(text, "general")) == kind
    assert kind_of(described(text, "mine")) == "mine"


def test_after_fifty_runs_with_a_weak_analyst_work_moves_and_no_further_than_the_bound() -> None:
    weak, next_best = (
        make_agent("weak", "one", kinds={"analysis": 0.9}),
        make_agent("next", "two", kinds={"analysis": 0.8}),
    )
    far = make_agent("far", "three", kinds={"analysis": 0.5})
    task = described("Count it.", "analysis", "nobody")
    done = EpisodeTask(task=task, agent="weak", status="failed", failure="declared", attempts=1)
    earned = record_of(
        Episode(thread_id=f"t{n}", started_at=n, finished_at=n, request="Q", status="failed", tasks=[done])
        for n in range(50)
    )
    before, after = (route(task, [weak, next_best, far], record) for record in ({}, earned))

    assert (before.agent, after.agent) == ("weak", "next")
    assert [one.learned for one in after.scores if one.agent == "weak"] == [pytest.approx(-0.129, abs=0.001)]
    assert route(task, [weak, far], earned).agent == "weak"
