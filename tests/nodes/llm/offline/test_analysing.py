"""Analysis by the offline model: SQL on a real DuckDB, so that a question that is not valid shows."""

from collections.abc import Mapping

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state.citation import labels_in
from tests.nodes.llm.offline.talk import Fake, Refused, brief, finished, turn

ROWS = """\
CREATE TABLE prices AS SELECT * FROM (VALUES
 ('Acme', 'EU', 2023, 10.0, 5), ('Bolt', 'US', 2023, 30.0, NULL),
 ('Core', 'EU', 2024, 20.0, 7), ('Dash', 'US', 2025, 40.0, 8)
) t(vendor, "home region", "year", "list price", seats)"""
COLUMNS = 'vendor VARCHAR, "home region" VARCHAR, year BIGINT, "list price" DOUBLE, seats BIGINT'
LINE = f"prices.csv: table prices ({COLUMNS}), 4 rows"


def query_over(*statements: str, file: str = "prices.csv") -> Fake:
    """A query tool over tables made by these statements."""
    connection = duckdb.connect()
    for statement in statements:
        connection.execute(statement)

    def query(args: Mapping[str, object]) -> str:
        try:
            found = connection.execute(str(args["sql"]))
        except duckdb.Error as error:
            raise Refused(str(error)) from None
        head = [column[0] for column in found.description or []]
        rows = [["" if cell is None else str(cell) for cell in row] for row in found.fetchall()]
        lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
        return f"[{file}#table]\n\n" + "\n".join(lines)

    return query


def analysed(task: str, query: Fake, line: str = LINE) -> str:
    """The result of an analysis."""
    text, talk = finished(brief(task, "analysis", sources=line), {"query": query})
    assert not any(getattr(message, "status", "") == "error" for message in talk)
    return text


def test_figures_are_computed_and_carry_the_label_of_their_table() -> None:
    text = analysed("Analyse the list price of the vendors", query_over(ROWS))
    assert "List price in prices: minimum 10; maximum 40; average 25 (4 rows). [prices.csv#table]" in text
    assert labels_in(text) == [("prices.csv", "table")]


VISITS = """\
CREATE TABLE visits AS SELECT * FROM (VALUES
 ('Inn', 90, 2016, true), ('Bar', 70, 2016, false), ('Inn', 80, 2017, false)) t(place, visit_score, "year", weekend)"""
VISITS_LINE = "visits.csv: table visits (place VARCHAR, visit_score BIGINT, year BIGINT, weekend BOOLEAN), 3 rows"


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("Which place has the lowest average visit score?", "in visits: Bar 70 (1 row) and Inn 85 (2 rows)."),
        ("Which place has the highest average visit score?", "in visits: Inn 85 (2 rows) and Bar 70 (1 row)."),
        ("What is the average visit score on weekends?", "90 (1 row)."),
        ("How many visits were made in 2016?", "Number of rows in visits where year is 2016: 2."),
    ],
)
def test_the_order_the_rows_and_what_is_counted_are_those_that_are_asked_for(question: str, figure: str) -> None:
    assert figure in analysed(question, query_over(VISITS, file="visits.csv"), VISITS_LINE)


FAIRS = """\
CREATE TABLE ice_fairs AS SELECT * FROM (VALUES
  ('Oslo', 'by cup', DATE '2019-02-03', 'Sunday', 2019, 0.4), ('Oslo', 'free', DATE '2020-02-02', 'Sunday', 2020, 0.9),
  ('Bergen', 'by cup', DATE '2021-02-05', 'Friday', 2021, 0.7)) t(town, "ice fee", date, weekday, year, gain)"""
FAIRS_LINE = (
    'ice_fairs.csv: table ice_fairs (town VARCHAR, "ice fee" VARCHAR, date DATE, weekday VARCHAR, year BIGINT, '
    "gain DOUBLE), 3 rows"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many ice fairs were there in Oslo?", "Number of rows in ice_fairs where town is Oslo: 2."),
        ("On which day was the gain the highest?", "Highest gain in ice_fairs: 2020-02-02 (0.9)"),
        ("In which years was the opening on a Sunday?", "Year in ice_fairs where weekday is Sunday: 2019 and 2020."),
    ],
)
def test_rows_are_counted_as_such_called_by_their_day_and_listed_in_one_sentence(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(FAIRS, file="ice_fairs.csv"), FAIRS_LINE)


@pytest.mark.parametrize("question", ["Which of the plans is the cheapest?", "What is the cheapest plan?"])
def test_a_column_that_the_table_is_called_by_does_not_hide_the_amount_that_is_ranked(question: str) -> None:
    plans = "CREATE TABLE plans AS SELECT * FROM (VALUES ('Solo', 9), ('Team', 39)) t(plan, price)"
    line = "plans.csv: table plans (plan VARCHAR, price BIGINT), 2 rows"
    text = analysed(question, query_over(plans, file="plans.csv"), line)
    assert "Solo (9) and Team (39)" in text


def test_all_rows_that_say_yes_are_listed() -> None:
    rooms = (
        "CREATE TABLE rooms AS SELECT * FROM (VALUES ('Attic','yes'),('Hall','yes'),('Yard','no')) t(room, projector)"
    )
    line = "rooms.csv: table rooms (room VARCHAR, projector VARCHAR), 3 rows"
    text = analysed("Which rooms have a projector?", query_over(rooms, file="rooms.csv"), line)
    assert "Attic" in text
    assert "Hall" in text
    assert "Yard" not in text


@pytest.mark.parametrize(
    ("question", "says", "lacks"),
    [
        ("Which vendors have a list price over 25?", "Bolt", "Acme"),
        ("How many vendors have a list price of at least 20?", "Number of different values of vendor", "4"),
        ("What is the average list price of vendors with more than 6 seats?", "30 (2 rows)", "25"),
    ],
)
def test_rows_are_taken_by_amounts_above_and_below(question: str, says: str, lacks: str) -> None:
    text = analysed(question, query_over(ROWS)).partition("\n\n")[0]
    assert says in text
    assert lacks not in text.replace("> 25", "")


def test_only_what_was_asked_for_is_computed() -> None:
    text = analysed("Which vendor has the highest list price?", query_over(ROWS))
    expected = "- Highest list price in prices: Dash (40), Bolt (30), Core (20) and Acme (10). [prices.csv#table]"
    assert text.split("\n\n")[0] == expected


def test_averages_and_sums_are_told_by_group() -> None:
    by_price = analysed("Average list price by home region", query_over(ROWS))
    by_seats = analysed("Total seats by home region", query_over(ROWS))
    assert "Average list price by home region in prices: US 35 (2 rows) and EU 15 (2 rows)." in by_price
    assert "Total seats by home region in prices: EU 12 (2 rows) and US 8 (1 row)." in by_seats


def test_rows_are_chosen_by_the_cells_that_the_question_names() -> None:
    assert "Average list price in prices where home region is EU: 15 (2 rows)." in analysed(
        "What is the average list price in the EU?", query_over(ROWS)
    )
    assert "Number of different values of vendor in prices where home region is US: 2." in analysed(
        "How many vendors are in the US?", query_over(ROWS)
    )
    assert "Share of rows in prices where home region is US: 50.0 % (2 of 4)." in analysed(
        "What share of the prices is from the US?", query_over(ROWS)
    )


def test_a_share_that_a_column_holds_is_read_from_it() -> None:
    women = "CREATE TABLE women AS SELECT * FROM (VALUES (1970, 13.6, 0.8), (1984, 36.8, 13.5)) t(y, cs, ee)"
    line = 'women.csv: table women (Year BIGINT, "Computer Science" DOUBLE, Engineering DOUBLE), 2 rows'
    rows = women.replace("t(y, cs, ee)", 't(Year, "Computer Science", Engineering)')
    text = analysed("What share of computer science had women in 1984?", query_over(rows, file="women.csv"), line)
    assert "36.8" in text.split("Confidence")[0]
    assert "Share of rows" not in text


def test_what_is_ranked_is_called_by_its_name_not_by_its_number() -> None:
    ports = """CREATE TABLE ports AS SELECT * FROM
 (VALUES (9070, 'Telluride', 2767), (3453, 'Oakland', 3)) t(PortID, Name, Altitude)"""
    line = "ports.csv: table ports (PortID BIGINT, Name VARCHAR, Altitude BIGINT), 2 rows"
    text = analysed("Which port has the highest altitude?", query_over(ports, file="ports.csv"), line)
    assert "Highest Altitude in ports: Telluride (2767) and Oakland (3)." in text


def test_a_code_that_reads_as_yes_says_nothing_of_its_column() -> None:
    ports = """CREATE TABLE ports AS SELECT * FROM (VALUES
 ('YES', 'Aden', 0), ('ABE', 'Bari', 1), ('LAX', 'Cork', 2), ('ORY', 'Dover', 3)) t(code, name, altitude)"""
    line = "ports.csv: table ports (code VARCHAR, name VARCHAR, altitude BIGINT), 4 rows"
    text = analysed("Which port with a code has the highest altitude?", query_over(ports, file="ports.csv"), line)
    assert "Highest altitude in ports: ORY (3), LAX (2)" in text


@pytest.mark.parametrize(
    "question",
    [
        "What is the average salary of the vendors?",
        "Which vendor has the most employees?",
        "What is the average list price in Brazil?",
        "Rank the vendors by charm",
        "How many customers does Dash have?",
        "Which of the memberships is the cheapest?",
    ],
)
def test_where_no_column_or_cell_fits_nothing_is_computed(question: str) -> None:
    assert "#table]" not in analysed(question, query_over(ROWS))


def test_the_lowest_come_first_where_the_cheapest_are_asked_for() -> None:
    assert "Lowest list price in prices: Acme (10)" in analysed("Which is the cheapest list price?", query_over(ROWS))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Rank the vendors by price", "Highest list price in prices: Dash (40), Bolt (30), Core (20) and Acme (10)."),
        ("Sort the vendors by price, cheapest first", "Lowest list price in prices: Acme (10), Core (20)"),
        (
            "Rank the vendors in the EU by seats",
            "Highest seats in prices where home region is EU: Core (7) and Acme (5).",
        ),
        ("Rank the home regions by average list price", "Average list price by home region in prices: US 35 (2 rows)"),
        ("Rank the vendors by year", "Highest year in prices: Dash (2025), Core (2024)"),
    ],
)
def test_rows_are_ranked_by_the_column_that_fits(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(ROWS))


def test_a_name_in_the_question_is_looked_up() -> None:
    assert "In prices, vendor: Bolt; year: 2023; list price: 30. [prices.csv#table]" in analysed(
        "What does Bolt charge as list price?", query_over(ROWS)
    )


PEOPLE = """\
CREATE TABLE Carowners AS SELECT * FROM (VALUES
 ('Ann', 'Yes', 4, 30.0, 2020, 1), ('Ben', 'No', 8, 50.0, 2021, 1), ('Cy', 'No', 8, 40.0, 2022, 2)
) t(name, retired, cylinders, "weeklyincome", "year", occupation)"""
PEOPLE_LINE = (
    "Carowners.csv: table Carowners (name VARCHAR, retired VARCHAR, cylinders BIGINT, weeklyincome DOUBLE, "
    "year BIGINT, occupation BIGINT), 3 rows"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What share of the people is retired?", "where retired is Yes: 33.33 % (1 of 3)"),
        ("How many car owners have 8 cylinders?", "Number of rows in Carowners where cylinders is 8: 2."),
        (
            "In which year was the income highest?",
            "Highest weeklyincome in Carowners: 2021 (50), 2022 (40) and 2020 (30).",
        ),
        ("What is the average income by occupation?", "by occupation in Carowners: 1: 40 (2 rows) and 2: 40 (1 row)."),
        ("Which occupation has the higher income?", "Highest weeklyincome in Carowners"),
    ],
)
def test_words_meet_columns_of_yes_and_no_and_numbers_of_a_column(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(PEOPLE, file="Carowners.csv"), PEOPLE_LINE)


def test_what_a_small_table_says_of_each_is_listed_where_it_is_named_and_nothing_is_asked() -> None:
    rows = "CREATE TABLE tools AS SELECT * FROM (VALUES ('Acme', 'Apache-2.0'), ('Bolt', 'MIT')) t(tool, license)"
    line = "tools.csv: table tools (tool VARCHAR, license VARCHAR), 2 rows"
    query = query_over(rows, file="tools.csv")

    assert "License by tool in tools: Acme: Apache-2.0; Bolt: MIT." in analysed("Licences and prices", query, line)
    assert "#table]" not in analysed("Who said that licences are cheap?", query, line)


def test_an_apostrophe_in_a_name_does_not_break_the_query() -> None:
    assert analysed("What is the average list price of O'Hara'X1 of O'Brien-Co?", query_over(ROWS))


def test_when_the_cells_cannot_be_looked_through_the_columns_still_count() -> None:
    answer = query_over(ROWS)

    def brittle(args: Mapping[str, object]) -> str:
        if "WITH said" in str(args["sql"]):
            raise Refused("too hard")
        return answer(args)

    text, _ = finished(brief("Average list price by home region", "analysis", sources=LINE), {"query": brittle})
    assert "Average list price by home region in prices" in text


def test_without_tables_an_analysis_is_research() -> None:
    calls = turn(brief("Analyse the risks of agents", "analysis"), ["search", "query"]).tool_calls
    assert {call["name"] for call in calls} == {"search"}


def test_it_searches_and_computes_in_the_same_turn() -> None:
    calls = turn(brief("Analyse the list price", "analysis", sources=LINE), ["search", "query"]).tool_calls
    assert {call["name"] for call in calls} == {"search", "query"}


@pytest.mark.parametrize("answer", ["", "| |", "(no rows)", "| n |\n| --- |\n| x |"])
def test_odd_answers_do_no_harm(answer: str) -> None:
    text, _ = finished(brief("Analyse the prices", "analysis", sources=LINE), {"query": lambda args: answer})
    assert text


SHIPS = """\
CREATE TABLE ships AS SELECT * FROM (VALUES
 (1, 1, 'First', 80.0, 120.0, 1911, 'Sail'), (0, 3, 'Third', 7.0, 30.0, 1912, 'Steam'),
 (1, 3, 'Third', 9.0, 40.0, 1912, 'Sail')) t(survived, pclass, class, fare, total_cost, "year", "way of driving")"""
SHIPS_LINE = (
    "ships.csv: table ships (survived BIGINT, pclass BIGINT, class VARCHAR, fare DOUBLE, total_cost DOUBLE, "
    'year BIGINT, "way of driving" VARCHAR), 3 rows'
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many of the ships survived?", "Number of rows in ships where survived is 1: 2."),
        ("What is the average fare in the first class?", "Average fare in ships where class is First: 80 (1 row)."),
        ("What is the highest total cost of the ships?", "Highest total cost in ships"),
        ("Which way of driving ships was used most often?", "Number of rows by way of driving in ships: Sail 2 and"),
        ("Which year had the most ships?", "Number of rows by year in ships: 1912: 2 and 1911: 1."),
    ],
)
def test_words_that_a_column_is_called_by_ask_for_that_column(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(SHIPS, file="ships.csv"), SHIPS_LINE)


STAYS = """\
CREATE TABLE stays AS SELECT * FROM (VALUES
 ('Q1', 'Ann Ives', 'cardio', 'Sun', 'F', '1st', 80.0, 1, 'No', 2, 'Nurse'),
 ('Q2', 'Ben Moss', 'cardio', 'Mon', 'M', '3rd', 20.0, 0, 'Yes', 6, 'AsstNurse'),
 ('Q3', 'Cyd Pike', 'surgery', 'Sun', 'F', '3rd', 30.0, 0, 'No', 6, 'AsstNurse'),
 ('Q4', 'Dee Rand', 'surgery', 'Tue', 'F', '1st', 70.0, 0, 'Yes', 6, 'AsstNurse')
) t(code, name, ward, day, sex, class, total_fee, survived, smoker, beds, nurse)"""
STAYS_LINE = (
    "stays.csv: table stays (code VARCHAR, name VARCHAR, ward VARCHAR, day VARCHAR, sex VARCHAR, class VARCHAR, "
    "total_fee DOUBLE, survived BIGINT, smoker VARCHAR, beds BIGINT, "
    "nurse VARCHAR), 4 rows"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was the average fee on Sundays?", "where day is Sun: 55 (2 rows)"),
        ("How much do cardiology patients pay as a fee on average?", "where ward is cardio: 50 (2 rows)"),
        ("What is the average fee of women?", "where sex is F: 60 (3 rows)"),
        ("How many stays of women in the third class were there?", "where sex is F and class is 3rd: 1."),
        ("How many of the stays have six beds?", "where beds is 6: 3."),
        ("What is the average fee of assistant nurses?", "where nurse is AsstNurse: 40 (3 rows)"),
        ("What percentage of the stays regards cardiologists?", "where ward is cardio: 50.0 % (2 of 4)"),
        ("How many women died?", "where sex is F and survived is 0: 2."),
        ("How many of the stays were non-smokers?", "where smoker is No: 2."),
        ("What is the highest fee of a woman?", "in stays where sex is F: Ann Ives (80)"),
    ],
)
def test_words_meet_cells_that_are_written_in_another_way(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(STAYS, file="stays.csv"), STAYS_LINE)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "What share of the first class survived?",
            "where survived is 1, of those where class is 1st: 50.0 % (1 of 2).",
        ),
        (
            "What share survived in the first class?",
            "where survived is 1, of those where class is 1st: 50.0 % (1 of 2).",
        ),
        (
            "What percentage of the stays was of smokers by ward?",
            "Share of rows by ward in stays where smoker is Yes: cardio 50.0 % (1 of 2) and surgery 50.0 % (1 of 2).",
        ),
    ],
)
def test_a_share_is_one_of_the_rows_that_are_named_first(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(STAYS, file="stays.csv"), STAYS_LINE)


@pytest.mark.parametrize(("unknown", "is_answered"), [("none", True), ('"guests", "harbour", "inn"', False)])
def test_words_that_another_source_speaks_of_may_be_about_what_the_table_is_of(unknown: str, is_answered: bool) -> None:
    question = "What percentage of the guests of the harbour inn were smokers?"
    said = f"(Words in no passage: {unknown}. The best passages answer the query with a likelihood of 20%; the second"
    tools = {
        "query": query_over(STAYS, file="stays.csv"),
        "search": lambda args: f"[inn.md#L1] Smokers stay upstairs.\n\n{said} fits 20% as well as the first.)",
    }
    text, _ = finished(brief(question, "analysis", sources=STAYS_LINE), tools)

    assert ("Share of rows in stays where smoker is Yes" in text) is is_answered


def test_rows_are_called_by_their_names_not_by_their_codes() -> None:
    text = analysed("Which stay had the highest fee?", query_over(STAYS, file="stays.csv"), STAYS_LINE)
    assert "Highest total fee in stays: Ann Ives (80), Dee Rand (70)" in text


TRADE = """\
CREATE TABLE trade AS SELECT * FROM (VALUES
 ('North', 'Top', 'Pots', 'mail', 10.0, -30.0, 3, 1990), ('North', 'Low', 'Pans', 'shop', 50.0, 40.0, 4, 2000),
 ('South', 'Low', 'Pots', 'shop', 90.0, -20.0, 5, 2000), ('South', 'Low', 'Pans', 'shop', 20.0, 60.0, 6, 2010)
) t(region, rank, "sub-category", "ship way", sales, profit, wt, "year")"""
TRADE_LINE = (
    'trade.csv: table trade (region VARCHAR, rank VARCHAR, "sub-category" VARCHAR, "ship way" VARCHAR, sales DOUBLE, '
    "profit DOUBLE, wt BIGINT, year BIGINT), 4 rows"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What are the average sales outside the North?", "where region is not North: 55 (2 rows)."),
        ("How many ranks does the South have without Pots?", "sub-category is not Pots: 1."),
        ("What share of the sales came from the South?", "where region is South: 64.71 % (110 of 170)."),
        ("What share of sales does each region have?", "Share of sales by region in trade: South 64.71 % (110 of 170)"),
        ("What are the average sales for each commercial rank?", "by rank in trade: Low 53.33 (3 rows) and Top 10"),
        ("How much was sold in each region?", "Total sales by region in trade: South 110 (2 rows) and North 60"),
        ("How much do the goods of each region weigh?", "Average wt by region in trade: South 5.5 (2 rows)"),
        ("Which sub-category made the biggest loss?", "by sub-category in trade: Pots -50 (2 rows) and Pans 100"),
        ("Was more sold in 1990 or in 2000?", "where year is 1990 or 2000: 2000: 140 (2 rows) and 1990: 10 (1 row)."),
        ("Do the North and the South differ in average profit?", "where region is North or South: South 20 (2 rows)"),
        ("How many goods were there per ship way?", "by ship way in trade: shop 3 and mail 1."),
        ("How do the sales of Pots and Pans compare?", "by sub-category in trade where sub-category is"),
        ("What did a region sell on average in 2000?", "Average sales in trade where year is 2000: 70 (2 rows)."),
    ],
)
def test_what_is_compared_or_named_after_each_makes_groups(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(TRADE, file="trade.csv"), TRADE_LINE)


@pytest.mark.parametrize(
    "question",
    [
        "What is the average weight of a parrot?",
        "How much was sold in Brazil?",
        "How many warehouses does Pots have in 2024?",
        "Which region has the highest rainfall?",
        "Were more ships built in 1990 or in 2000 by Maersk?",
        "What share of the customers is retired?",
        "How many rainy trades were there?",
        "Which ship has the most guns?",
        "How many ranks does each warehouse have?",
    ],
)
def test_a_name_a_number_or_a_thing_that_is_not_in_the_table_is_not_answered_from_it(question: str) -> None:
    assert "#table]" not in analysed(question, query_over(TRADE, file="trade.csv"), TRADE_LINE)


GAMES = """\
CREATE TABLE games AS SELECT * FROM (VALUES
 ('Ann Ives', 'Oslo', 'Denver', 'AL', 'L', 'Y', 30, 800.0, 900.0, 3, 7),
 ('Bea Hand', 'Bergen', NULL, 'NL', 'R', 'N', 20, 250.0, 300.0, 4, 8),
 ('Cy Lund', 'Rome', 'Turku', 'NL', 'L', 'N', 40, 400.0, 500.0, 3, 9),
 ('Dee Rand', 'Umea', NULL, 'AL', 'R', 'N', 11, 50.0, 100.0, 2, 9)
) t(name, "birthCity", "deathCity", lg, throws, "plyrMgr", hr, noutput, goutput, bdrms, score)"""
GAMES_LINE = (
    "games.csv: table games (name VARCHAR, birthCity VARCHAR, deathCity VARCHAR, lg VARCHAR, throws VARCHAR, "
    "plyrMgr VARCHAR, hr BIGINT, noutput DOUBLE, goutput DOUBLE, bdrms BIGINT, score BIGINT), 4 rows"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the average gross output of the games?", "Average goutput in games: 450 (4 rows)."),
        ("How many home runs were hit in total?", "Total hr in games: 101 (4 rows)."),
        (
            "What is the average score of games with four bedrooms?",
            "Average score in games where bdrms is 4: 8 (1 row).",
        ),
        ("How many games of the National League are there?", "Number of rows in games where lg is NL: 2."),
        ("Did the American or the National League hit more home runs in total?", "NL 60 (2 rows) and AL 41 (2 rows)."),
        ("How many throw with the left hand?", "Number of rows in games where throws is L: 2."),
        ("What share of the games had a player-manager?", "where plyrMgr is Y: 25.0 % (1 of 4)."),
        ("In which city was Bea Hand born?", "In games, name: Bea Hand; birthCity: Bergen."),
    ],
)
def test_words_meet_names_and_cells_that_are_short_for_them(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(GAMES, file="games.csv"), GAMES_LINE)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What share of the games had a score of 8 or more?", "where score is >= 8: 75.0 % (3 of 4)."),
        ("How many games had a score of 8 or less?", "where score is <= 8: 2."),
        ("How many games had a score of 9?", "where score is 9: 2."),
        (
            "Is the score of left throws better on average than the others?",
            "by throws in games: R 8.5 (2 rows) and L 8",
        ),
        ("Are left throws worse in average score than the rest?", "Average score by throws in games: "),
    ],
)
def test_bounds_after_a_number_and_comparisons_with_the_others_are_read(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(GAMES, file="games.csv"), GAMES_LINE)


@pytest.mark.parametrize(
    "question",
    [
        "In which city did Bea Hand die?",  # no cell says so
        "In how many scores of games did candidate L get more than 50 percent?",
        "Where do the score figures of the games come from?",
        "What do AL and NL stand for in the score column?",
    ],
)
def test_what_no_cell_says_and_what_is_no_question_for_amounts_is_not_answered_with_figures(question: str) -> None:
    assert "#table]" not in analysed(question, query_over(GAMES, file="games.csv"), GAMES_LINE)


def test_a_word_in_small_letters_is_no_name_among_many_and_rows_are_called_by_their_own() -> None:
    rows = ", ".join(f"('N{n} Ives', 'Helper {n}', 'Oak{n}', {n})" for n in range(70))
    head = f"CREATE TABLE heads AS SELECT * FROM (VALUES {rows}, ('Zed Ives', 'Ann Hand', 'Hand', 99))"
    tall = query_over(f"{head} t(name, vice_head, last, height)", file="heads.csv")
    line = "heads.csv: table heads (name VARCHAR, vice_head VARCHAR, last VARCHAR, height BIGINT), 71 rows"
    assert "Highest height in heads: Zed Ives (99)" in analysed("Who was the tallest head?", tall, line)
    assert "#table]" not in analysed("How many heads write with the hand?", tall, line)
    assert "99 (1 row)" in analysed("What is the average height of the heads called Hand?", tall, line)


LIVES = """\
CREATE TABLE lives AS SELECT * FROM (VALUES
 ('Ann', 1900, 1990, 0.0012, 3), ('Bea', 1990, 2010, 0.0016, 4), ('Cy', 1920, 1990, 0.0011, 5)
) t(name, "birthYear", "deathYear", share_price, sh)"""
LIVES_LINE = (
    "lives.csv: table lives (name VARCHAR, birthYear BIGINT, deathYear BIGINT, share_price DOUBLE, sh BIGINT), 3 rows"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many people died in 1990?", "where deathYear is 1990: 2."),
        ("How many people were born in 1990?", "where birthYear is 1990: 1."),
        ("What is the average share price of the lives?", "0.0013 (3 rows)."),
    ],
)
def test_a_year_is_one_of_what_happened_then_and_a_small_figure_is_not_nothing(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(LIVES, file="lives.csv"), LIVES_LINE)


def test_two_letters_are_short_for_the_beginning_and_the_end_of_a_word() -> None:
    lives = query_over(LIVES, file="lives.csv")
    assert "#table]" not in analysed("What is the average number of schools of the lives?", lives, LIVES_LINE)


HOMES = """\
CREATE TABLE homes AS SELECT * FROM (VALUES
 (10, 'yes', 'A', 1, 0), (20, 'no', 'B', 2, 0), (60, 'yes', 'B', 1, 1), (50, 'no', 'A', 1, 1))
 t(amt, gw, kind, cond, rur)"""
HOMES_LINE = (
    "homes.csv: table homes (amt BIGINT, gw VARCHAR, kind VARCHAR, cond BIGINT, rur BIGINT), 4 rows; "
    'homes.rst: "Homes of Windsor in 1987", amt "what it was sold for in euros", gw "does the house use gas water ?", '
    'kind "a factor with levels A (detached) or B (terraced)", cond "condition, 1 = good, 2 = very bad", '
    'rur "1 if in the country"'
)


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("What were homes in Windsor sold for on average?", "Average amt in homes: 35 (4 rows)."),
        ("What were homes with gas water sold for on average?", "where gw is yes: 35 (2 rows)."),
        ("How many of the homes are terraced?", "where kind is B: 2."),
        ("How many of the homes are in a very bad condition?", "where cond is 2: 1."),
        ("How many of the homes are in the country?", "where rur is 1: 2."),
        ("What were homes in Windsor sold for on average in 1987?", "Average amt in homes: 35 (4 rows)."),
    ],
)
def test_columns_and_their_cells_are_known_by_what_a_codebook_says_of_them(question: str, figure: str) -> None:
    assert figure in analysed(question, query_over(HOMES, file="homes.csv"), HOMES_LINE)


@pytest.mark.parametrize(
    "question", ["What were homes in Oslo sold for on average?", "How many of the homes use solar power?"]
)
def test_what_a_codebook_does_not_speak_of_is_not_computed(question: str) -> None:
    assert "#table]" not in analysed(question, query_over(HOMES, file="homes.csv"), HOMES_LINE).partition("\n\n")[0]


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("score from 1 to 2 (a good one being low)", "How many of the homes have a good score?"),
        ("state: 1 = good, 2 = very bad, 3 = …", "How many of the homes are in a bad state?"),
    ],
)
def test_one_number_with_a_meaning_or_a_list_that_is_cut_names_no_cells(said: str, question: str) -> None:
    line = HOMES_LINE.replace("condition, 1 = good, 2 = very bad", said)
    assert "where cond is" not in analysed(question, query_over(HOMES, file="homes.csv"), line)


def test_a_column_that_is_called_so_comes_before_one_that_is_told_to_be() -> None:
    line = f'{LINE}; prices.md: "Prices", vendor "who sells", seats "what the list price is for", year "of the price"'
    text = analysed("What is the average list price?", query_over(ROWS), line)
    assert "Average list price in prices: 25 (4 rows)." in text


def test_a_word_that_a_column_is_called_by_means_no_part_of_a_cell() -> None:
    made = """\
        CREATE TABLE tools AS SELECT * FROM (VALUES
         ('Saw', 900, 'github.com/saws/tool-list'), ('Axe', 1200, 'axes.org'), ('Nail', 100, 'nails.org')
        ) t(tool, github_stars, source)"""
    line = "tools.csv: table tools (tool VARCHAR, github_stars BIGINT, source VARCHAR), 3 rows"

    text = analysed("Which tool has the most GitHub stars?", query_over(made, file="tools.csv"), line)

    assert "Highest github stars in tools: Axe (1200), Saw (900) and Nail (100)." in text


GIFTS = """\
CREATE TABLE gifts AS SELECT * FROM (VALUES
 ('HOVE', 'LAMPS', 10.5, 20.0, 1), ('HOVE', 'MOTOR BOATS, OARS', 7.0, 7.0, 2), ('LUND', 'LAMPS', 3.0, 9.0, 3),
 ('LUND', 'ROPES', 1.0, 3.0, 4), ('LUND', 'UNIT COST', 2.0, 4.0, 5)) t(town, category, unit_cost, total_cost, lon)"""
GIFTS_LINE = (
    "gifts.csv: table gifts (town VARCHAR, category VARCHAR, unit_cost DOUBLE, total_cost DOUBLE, lon DOUBLE), 5 rows"
)


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("What is the total cost of the gifts that Hove got?", "Total cost in gifts where town is HOVE: 27 (2 rows)."),
        (
            "Which was the larger total cost, lamps or motor boats?",
            "“MOTOR BOATS, OARS” 7 (1 row)",
        ),
        ("What is the highest unit cost?", "Highest unit cost in gifts: LAMPS (10.5)"),
    ],
)
def test_totals_are_added_up_and_a_cell_is_known_by_how_it_begins(question: str, figure: str) -> None:
    assert figure in analysed(question, query_over(GIFTS, file="gifts.csv"), GIFTS_LINE)


def test_how_long_is_no_column_of_degrees() -> None:
    assert "Average lon" not in analysed("How long is Lund?", query_over(GIFTS, file="gifts.csv"), GIFTS_LINE)


def test_what_the_rows_are_called_by_is_not_what_is_asked_of_them() -> None:
    made = "CREATE TABLE boats AS SELECT * FROM (VALUES ('Ida', 'BSD'), ('Bo', 'MIT')) t(boat, licence)"
    line = "boats.csv: table boats (boat VARCHAR, licence VARCHAR), 2 rows"

    text = analysed("Show the licenses of all boats", query_over(made, file="boats.csv"), line)

    assert "Licence by boat in boats: Bo: MIT; Ida: BSD." in text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What are the maker and the licence of Volt?", "In boats, boat: Volt; maker: Ida; licence: MIT."),
        ("Name the licence, maker and price of Ida", "In boats, boat: Ida; price: 7; maker: Volt; licence: BSD."),
        ("What are the maker and price of each boat?", "In boats, boat: Bo; price: 5."),
    ],
)
def test_several_columns_that_are_asked_for_side_by_side_are_shown_together(question: str, answer: str) -> None:
    made = (
        "CREATE TABLE boats AS SELECT * FROM (VALUES ('Volt', 'Ida', 'MIT', 3), ('Ida', 'Volt', 'BSD', 7),"
        " ('Bo', NULL, 'MIT', 5), ('Cy', NULL, 'BSD', NULL)) t(boat, maker, licence, price)"
    )
    line = "boats.csv: table boats (boat VARCHAR, maker VARCHAR, licence VARCHAR, price BIGINT), 4 rows"

    text = analysed(question, query_over(made, file="boats.csv"), line)

    assert answer in text
    assert "boat: Cy" not in text


RELEASES = """CREATE TABLE releases AS SELECT * FROM (VALUES
 (7, 'Wezn', '.as', DATE '2013-05-04', DATE '2018-05-31', NULL, 1.5, 10, 0.5),
 (8, 'Jess', '.de', DATE '2015-04-26', DATE '2020-06-30', NULL, 2.5, 20, 0.25),
 (9, 'Stre', '.no', DATE '2017-06-17', DATE '2022-06-30', NULL, 4.0, 12, 0.75)
) t(name, codename, tld, released, "eol-lts", network, "Pc", hour, precip)"""
RELEASES_LINE = (
    "releases.csv: table releases (name BIGINT, codename VARCHAR, tld VARCHAR, released DATE, eol-lts DATE, "
    "network VARCHAR, Pc DOUBLE, hour BIGINT, precip DOUBLE), 3 rows"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When does long term support of Jess end?", "In releases, codename: Jess; eol-lts: 2020-06-30."),
        ("Which name has the latest release date?", "Highest released in releases: 9 (2017-06-17), 8 (2015-04-26)"),
        ("How much precipitation was there in hourly releases in total?", "Total precip in releases: 1.50 (3 rows)."),
        ("Which of Wezn, Jess and Stre has the highest precip?", "Stre 0.75 (1 row), Wezn 0.5 (1 row) and Jess 0.25"),
        ("What is the highest hour of the releases in each network?", "Highest hour in releases: 8 (20), 9 (12) and 7"),
    ],
)
def test_words_meet_columns_by_initials_and_dates_and_behind_an_aggregate(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(RELEASES, file="releases.csv"), RELEASES_LINE)


@pytest.mark.parametrize(
    "question", ["Does it come as the rest?", "What does Jess cost?", "Do the codenames of the releases come as well?"]
)
def test_no_figure_is_told_for_a_small_word_or_two_letters(question: str) -> None:
    assert "In releases" not in analysed(question, query_over(RELEASES, file="releases.csv"), RELEASES_LINE)


GASES = """CREATE TABLE gases AS SELECT * FROM (VALUES
 ('Sulfur hexafluoride', '6.06 LTS', 1, 3200, 18300, 25200), ('Nitrous oxide', '8.04 LTS', 2, 109, 273, 273),
 ('Methane', '9.10', 9, 12, 81, 28)) t(name, version, height, lifetime_years, "gwp_20yr", "gwp_100yr")
 UNION ALL SELECT 'Gas ' || n, '1.' || n, 5, 1, 1, 1 FROM range(70) more(n)"""
GASES_LINE = (
    "gases.csv: table gases (name VARCHAR, version VARCHAR, height BIGINT, lifetime_years BIGINT, gwp_20yr BIGINT, "
    "gwp_100yr BIGINT), 73 rows"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "What is the 100 year global warming potential of sulfur hexafluoride according to the figures?",
            "In gases, name: Sulfur hexafluoride; gwp 100yr: 25,200. [",
        ),
        (
            "What is the highest height of gases with LTS in the version?",
            "where version has LTS: 8.04 LTS (2) and 6.06",
        ),
        ("Which of Sulfur hexafluoride and Nitrous oxide has the highest mean price?", "I found no passage"),
    ],
)
def test_numbers_in_names_and_words_of_several_cells(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(GASES, file="gases.csv"), GASES_LINE)


VOTES = """CREATE TABLE votes AS SELECT * FROM (VALUES
 ('1-Bois', 'Holm', 10, 30, 'plurality', 100.0, 2, 17), ('2-Cap', 'Berg', 25, 5, 'majority', 40.0, 8, 17),
 ('3-Est', 'Berg', 21, 5, 'majority', 50.0, 9, 4)) t(district, winner, "Berg", "Holm", result, "pcgdp1940",
 car_hours, peak_hour) UNION ALL SELECT n || ' County, Oslo', 'Holm', 1, 2, 'plurality', 200, 1, 5
 FROM range(60) m(n)"""
VOTES_LINE = (
    "norway.csv: table norway (district VARCHAR, winner VARCHAR, Berg BIGINT, Holm BIGINT, result VARCHAR, "
    "pcgdp1940 DOUBLE, car_hours BIGINT, peak_hour BIGINT), 63 rows"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many votes did Berg get in all districts together?", "Total Berg in norway: 116 (63 rows)."),
        ("How many votes did Holm get in the district Cap?", "In norway, district: 2-Cap; Holm: 5."),
        (
            "In how many districts was the vote won with a majority, not just a plurality?",
            "where result is majority: 2.",
        ),
        ("What is the total of Holm in the districts of Oslo?", "where district has Oslo: 120 (60 rows)."),
        ("Which Norwayan district had the lowest per capita GDP in 1940?", "Lowest pcgdp1940 in norway: 2-Cap (40)"),
        ("How many car hours are there on average where the peak hour is 17?", "where peak hour is 17: 5 (2 rows)."),
    ],
)
def test_amounts_of_all_rows_and_of_those_that_are_told_of(question: str, answer: str) -> None:
    text = analysed(question, query_over(VOTES.replace("votes", "norway"), file="norway.csv"), VOTES_LINE)

    assert answer in text


ASKING = st.sampled_from(
    """first ten 17 zero how many much which who what is the highest lowest mean total of in all together by per and or
    not just a , majority Oslo Holm Berg district districts peak hour hours car 1940 more than 5 percent
    share""".split()  # noqa: SIM905
)


@settings(max_examples=80, deadline=None)
@given(words=st.lists(ASKING, min_size=1, max_size=9))
def test_any_words_are_read_as_a_question_or_as_none(words: list[str]) -> None:
    text = analysed(f"{' '.join(words)}?", query_over(VOTES.replace("votes", "norway"), file="norway.csv"), VOTES_LINE)

    assert "Confidence: " in text


def test_a_number_may_be_the_second_word_of_a_question() -> None:
    query = query_over(VOTES.replace("votes", "norway"), file="norway.csv")

    assert analysed("Who first won?", query, VOTES_LINE).startswith("I found no passage")


STAFF = """\
CREATE TABLE staff AS SELECT * FROM (VALUES
 ('Ada Berg', 'Sales', 'Agent', DATE '2024-03-01', 100.0, 7), ('Bo Chen', 'IT', 'Coder', DATE '2024-03-15', 300.0, 9),
 ('Cy Dia', 'IT', 'Team lead', DATE '2023-05-02', 500.0, NULL), ('Di Evans', 'HR', 'Agent', DATE '2024-04-01', 50.0, 4)
) t("Employee Name", "Department", "Position", "Start Date", "Salary", units)"""
STAFF_LINE = (
    'staff.csv: table staff ("Employee Name" VARCHAR, Department VARCHAR, Position VARCHAR, "Start Date" DATE, '
    "Salary DOUBLE, units BIGINT), 4 rows"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who started in 2023?", "Start Date: 2023-05-02; Employee Name: Cy Dia."),
        ("Who started in March 2024?", "Employee Name in staff where Start Date is March 2024: Ada Berg and Bo Chen."),
        ("Who started on 15 March 2024?", "Start Date: 2024-03-15; Employee Name: Bo Chen."),
        ("What were the total salaries in March?", "Total Salary in staff where Start Date is March: 400 (2 rows)."),
        ("What is the average salary per year?", "Average Salary by year in staff: 2023: 500 (1 row) and 2024: 150 (3"),
        ("What was the best month by units?", "Total units by month in staff: 2024-03: 16 (2 rows) and 2024-04: 4"),
        ("What is the average salary per quarter?", "by quarter in staff: 2023-Q2 500 (1 row), 2024-Q1 200 (2 rows)"),
        ("Which weekday has the highest average salary?", "by weekday in staff: Tuesday 500 (1 row), Friday 200 (2"),
        ("What are the salaries outside HR and who started in May 2023?", "Start Date is May 2023"),
        ("Who started last?", "Highest Start Date in staff: Di Evans (2024-04-01)"),
        ("Who is the team lead?", "Position: Team lead; Employee Name: Cy Dia."),
        ("How many people work in IT?", "Number of rows in staff where Department is IT: 2."),
        ("How many employees are in HR?", "Department is HR: 1."),
        ("How much do we spend on salaries per department?", "Total Salary by Department in staff: IT 800 (2 rows)"),
        ("List everyone who is not an agent.", "Position: Coder; Employee Name: Bo Chen."),
    ],
)
def test_dates_people_and_sums_are_asked_for_as_people_do(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(STAFF, file="staff.csv"), STAFF_LINE)


RAIN = "CREATE TABLE rain AS FROM (VALUES (2023, 3, 10.0), (2023, 4, 30.0), (2024, 3, 5.0)) r(year, month, amount)"
RAIN_LINE = "rain.csv: table rain (year BIGINT, month BIGINT, amount DOUBLE), 3 rows"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the total amount of rain in March?", "where month is 3: 15 (2 rows)."),
        ("What is the total amount of rain in March 2023?", "year is 2023: 10 (1 row)."),
        ("What is the total amount of rain on 2023-03-04?", "rain"),
        ("May I know the total amount of rain?", "Total amount in rain: 45 (3 rows)."),
    ],
)
def test_months_are_met_as_numbers(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(RAIN, file="rain.csv"), RAIN_LINE)


def test_a_figure_that_no_row_has_is_not_told() -> None:
    said = analysed("What is the average number of units of Cy Dia?", query_over(STAFF, file="staff.csv"), STAFF_LINE)
    assert "(0 rows)" not in said


CHIPS = """\
CREATE TABLE chips AS SELECT * FROM (
 SELECT * FROM (VALUES ('Xeon Gold', 50.0, 0.25), ('Xeon Silver Plus', 100.0, 0.5), ('Atom X', 8.0, 0.3))
 t(name, power, load) UNION ALL SELECT 'Plain ' || i, 20.0, 0.35 FROM range({others}) r(i))"""
CHIPS_LINE = "chips.csv: table chips (name VARCHAR, power DOUBLE, load DOUBLE), 4 rows"


@pytest.mark.parametrize(
    ("others", "question", "answer"),
    [
        (1, "What is the average power of the Xeon chips?", "where name has Xeon: 75 (2 rows)."),
        (90, "What is the average power of the Xeon chips?", "where name has Xeon: 75 (2 rows)."),
        (90, "What is the power of the Xeon Gold?", "name: Xeon Gold; power: 50."),
        (1, "What is the average load?", "Average load in chips: 0.35 (4 rows)."),
        (2, "What is the average load of the Xeon chips?", ": 0.375 (2 rows)."),
    ],
)
def test_a_name_that_several_cells_have_means_all_of_them(others: int, question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(CHIPS.format(others=others), file="chips.csv"), CHIPS_LINE)


WEATHER = """\
CREATE TABLE weather AS SELECT * FROM (VALUES
 (DATE '2012-01-03', 'snow', 1.0, 5.0), (DATE '2012-07-01', 'sun', 30.0, 9.0), (DATE '2012-07-02', 'sun', 20.0, 2.0),
 (DATE '2013-01-04', 'snow', 2.0, 3.0)) t(date, kind, temp_max, wind)"""
WEATHER_LINE = "weather.csv: table weather (date DATE, kind VARCHAR, temp_max DOUBLE, wind DOUBLE), 4 rows"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was it hottest?", "Highest temp max in weather: 2012-07-01 (30), 2012-07-02 (20)"),
        ("On which day was the wind strongest?", "Highest wind in weather: 2012-07-01 (9), 2012-01-03 (5)"),
        ("What was the average maximum temperature in July?", "temp max in weather where date is July: 25 (2 rows)."),
        ("How many snowy days were there in 2012?", "where kind is snow and date is 2012: 1."),
        ("What was the wind on 2012/07/02?", "date: 2012-07-02; wind: 2."),
    ],
)
def test_days_tell_the_rows_apart(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(WEATHER, file="weather.csv"), WEATHER_LINE)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was the average wind since 2013?", "Average wind in weather where year is >= 2013: 3 (1 row)."),
        ("What was the average wind before July 2012?", "where month is < 2012-07: 5 (1 row)."),
        ("What was the average wind after July 1, 2012?", "where date is > 2012-07-01: 2.5 (2 rows)."),
        (
            "What was the average wind between 2000 and 2012?",
            "where year is >= 2000 and year is <= 2012: 5.33 (3 rows).",
        ),
        ("What was the average wind in the 2010s?", "where year is >= 2010 and year is <= 2019: 4.75 (4 rows)."),
        (
            "What was the warmest day of 2012-06-01 to 2012-07-01?",
            "Highest temp max in weather where date is >= 2012-06-01",
        ),
        ("When was the wind at its peak?", "Highest wind in weather: 2012-07-01 (9), 2012-01-03 (5)"),
    ],
)
def test_rows_are_bounded_by_spans_of_time(question: str, answer: str) -> None:
    assert answer in analysed(question, query_over(WEATHER, file="weather.csv"), WEATHER_LINE)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which year had the highest output since 1950?", "Highest output in power where year is >= 1950: 1951 (7)"),
        ("When was the output of coal highest?", "where source is coal: 1949 (9) and 1951 (7)."),
        ("What was the total output of power from 1940 to 1949?", "year is >= 1940 and year is <= 1949: 14 (2 rows)."),
    ],
)
def test_years_that_are_numbers_are_bounded_and_say_when(question: str, answer: str) -> None:
    rows = "(1948, 'wind', 5.0), (1949, 'coal', 9.0), (1950, 'wind', 4.0), (1951, 'coal', 7.0)"
    made = f"CREATE TABLE power AS FROM (VALUES {rows}) r(year, source, output)"
    line = "power.csv: table power (year BIGINT, source VARCHAR, output DOUBLE), 4 rows"
    assert answer in analysed(question, query_over(made, file="power.csv"), line)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was the total budget in 2021?", "Total 2021 in budget: 460 (2 rows)."),
        ("What was the budget of Legal in 2020?", "In budget, department: Legal; 2020: 130."),
        ("Which department had the highest budget in 2020?", "Highest 2020 in budget: Sales (280) and Legal (130)."),
    ],
)
def test_years_may_be_columns(question: str, answer: str) -> None:
    made = "CREATE TABLE budget AS FROM (VALUES ('Legal', 130, 110), ('Sales', 280, 350)) r(department, c_2020, c_2021)"
    line = "budget.csv: table budget (department VARCHAR, c_2020 BIGINT, c_2021 BIGINT), 2 rows"
    assert answer in analysed(question, query_over(made, file="budget.csv"), line)


def test_the_hottest_day_is_ranked_by_no_date() -> None:
    rows = "(DATE '2016-01-01', 36), (DATE '2016-06-15', 99)"
    line = "lincoln.csv: table lincoln (DATE DATE, {} BIGINT), 2 rows"
    for column, answer in (("TMAX", "Highest TMAX in lincoln: 2016-06-15 (99)"), ("SNOW", "no passage")):
        made = f"CREATE TABLE lincoln AS FROM (VALUES {rows}) r(DATE, {column})"
        said = analysed(
            "What was the hottest day in Lincoln?", query_over(made, file="lincoln.csv"), line.format(column)
        )
        assert answer in said


def test_the_only_amount_of_a_table_is_what_it_is_called_by() -> None:
    rows = "(2001, 'wind', 5.0), (2001, 'coal', 7.0), (2002, 'wind', 4.0), (2002, 'coal', 6.0)"
    made = f"CREATE TABLE power AS FROM (VALUES {rows}) r(year, source, net_generation)"
    line = "power.csv: table power (year BIGINT, source VARCHAR, net_generation DOUBLE), 4 rows"
    said = analysed("How much power came from wind in 2001?", query_over(made, file="power.csv"), line)
    assert "net generation" in said
    assert " 5" in said
