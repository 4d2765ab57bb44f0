"""Analysis: compute from the tables of the sources, and quote what the texts add."""

import re

from nodes.llm.offline.conversation import Call, Conversation, Done, Reply, mail_quoted, missing_noted, with_confidence
from nodes.llm.offline.research import as_statement, best_quotes, confidence, research, searches
from nodes.llm.offline.statements import Statement, bullets
from nodes.llm.offline.tables import Question, Table, details, plain, profile, rows_in, tables_in
from nodes.llm.offline.words import keywords, names, terms, title_of

MOST_TABLES = 3
MOST_QUOTES = {"analysis": 4}
"""Quotations that go with the figures, by kind of task; of others `OTHERWISE`."""
OTHERWISE = 6
SHORTEST_NAME = 4
"""Characters of a name worth looking up in a table."""
MOST_FIGURES = {"analysis": 14}

_LOWEST = re.compile(r"\b(?:lowest|cheapest|smallest|least|fewest|minimum|bottom|slowest|worst)\b", re.IGNORECASE)


def analyse(talk: Conversation) -> Reply:
    """Look at the tables that matter, ask them what their shape makes sensible, say what came out."""
    tables = tables_for(talk)
    if not tables or not talk.has("query"):
        return research(talk)
    calls = [Call("query", {"sql": question.sql}) for table in tables for question in questions(talk, table)]
    if talk.rounds == 0 and talk.has("search"):
        calls += searches(talk)[:3]
    open_calls = [call for call in calls if not talk.was_called(call)]
    figures = figures_of(talk)
    if open_calls:
        return open_calls
    return _report(talk, figures) if figures else research(talk)


def tables_for(talk: Conversation) -> list[Table]:
    """The tables whose names speak of the task; where figures are the task and none does, the few there are."""
    tables = tables_in(talk.source_lines)
    wanted = list(keywords(talk.task))
    ranked = sorted(tables, key=lambda table: -table.relevance(wanted))
    best = ranked[0].relevance(wanted) if ranked else 0
    fitting = [table for table in ranked if table.relevance(wanted) > best / 2]
    if fitting or talk.attr("kind") != "analysis":
        return fitting[:MOST_TABLES]
    asked = [table for table in tables if table.relevance(list(keywords(talk.request)))]
    return (asked or (tables if len(tables) <= MOST_TABLES else []))[:MOST_TABLES]


def questions(talk: Conversation, table: Table) -> list[Question]:
    """What to ask of a table now: its profile, then what that makes sensible; only its size where that failed."""
    wanted = terms(f"{talk.task} {talk.request}")
    first = profile(table, wanted)
    answer = _answer(talk, first.sql)
    if answer is None:
        return [first]
    rows = rows_in(answer.text)
    if answer.failed or not rows:
        return [first, *plain(table)]
    asked = f"{talk.task} {talk.request}"
    looked_up = [name for name in names(asked) if len(name) >= SHORTEST_NAME and name.lower() not in table.name.lower()]
    return [first, *details(table, rows[0], wanted, bool(_LOWEST.search(asked)), looked_up)]


def figures_of(talk: Conversation) -> list[Statement]:
    """What the queries so far came to, in sentences with the table's label."""
    found = []
    for table in tables_for(talk):
        first, *further = questions(talk, table)
        for question in [*further, first]:
            answer = _answer(talk, question.sql)
            if answer and not answer.failed:
                found += [
                    Statement(text, (_label(answer, table),)) for text in question.sentences(rows_in(answer.text))
                ]
    return found[: MOST_FIGURES.get(talk.attr("kind"), OTHERWISE)]


def _report(talk: Conversation, figures: list[Statement]) -> str:
    picks = best_quotes(talk, MOST_QUOTES.get(talk.attr("kind"), OTHERWISE))
    parts = [f"## {title_of(talk.task)}", bullets(figures)]
    if picks:
        parts.append(bullets(as_statement(pick) for pick in picks))
    sure = max(0.8, confidence(talk, picks)) if picks else 0.75
    return with_confidence("\n\n".join(parts) + missing_noted(talk) + mail_quoted(talk), sure)


def _answer(talk: Conversation, sql: str) -> Done | None:
    return next((done for done in talk.done if done.tool == "query" and done.args.get("sql") == sql), None)


def _label(answer: Done, table: Table) -> str:
    """The label as the tool gave it, which the claim has to carry."""
    given = re.search(r"\[[^\[\]#\n]+#table\]", answer.text)
    return given.group() if given else table.label
