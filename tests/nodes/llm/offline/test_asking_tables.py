"""Questions as people ask them of the tables they keep: other words than the columns', months, two columns of a row."""

import pytest

from tests.nodes.llm.offline.talk import brief, finished
from tests.nodes.llm.offline.test_analysing import analysed, query_over

VISITS = """\
CREATE TABLE visits_2024 AS SELECT * FROM (VALUES
 ('2024-01', 'Main', 100, 40, 900, 8), ('2024-02', 'Main', 120, 60, 1000, 6), ('2024-03', 'Main', 80, 90, 700, 9),
 ('2024-01', 'Sea', 70, 30, 500, 4), ('2024-02', 'Sea', 60, 20, 450, 5), ('2024-03', 'Sea', 90, 10, 800, 2))
 t("month", gallery, adults, children, ticket_income_gbp, place)"""
VISITS_LINE = (
    "visits-2024.csv: table visits_2024 (month VARCHAR, gallery VARCHAR, adults BIGINT, children BIGINT, "
    "ticket_income_gbp BIGINT, place BIGINT), 6 rows"
)
STOCK = """\
CREATE TABLE stock AS SELECT * FROM (VALUES
 ('Butter', 'Dairy Direct', 8, 10, 7.5, 'yes'), ('Salt', 'Spice Hub', 30, 5, 0.4, 'no'),
 ('Oats', 'Dairy Direct', 3, 12, 1.1, 'no')) t(ingredient, supplier, kg_in_stock, minimum_kg, price_per_kg_gbp, paid)"""
STOCK_LINE = (
    "stock.csv: table stock (ingredient VARCHAR, supplier VARCHAR, kg_in_stock BIGINT, minimum_kg BIGINT, "
    "price_per_kg_gbp DOUBLE, paid VARCHAR), 3 rows"
)
ORDERS = """\
CREATE TABLE orders AS SELECT * FROM (VALUES
 (1, DATE '2025-01-05', 'Mill Hotel', 'Bagel', 10, 1.5, 15.0, DATE '2025-02-01', DATE '2025-02-03'),
 (2, DATE '2025-02-06', 'Parish Hall', 'Bagel', 4, 1.5, 6.0, DATE '2025-03-01', DATE '2025-02-27'),
 (3, DATE '2025-03-07', 'Mill Hotel', 'Rye loaf', 3, 4.0, 12.0, DATE '2025-04-01', DATE '2025-04-02'),
 (4, DATE '2025-04-08', 'Parish Hall', 'Rye loaf', 5, 4.0, 20.0, DATE '2025-05-01', NULL))
 t(order_no, date, customer, product, quantity, unit_price_gbp, total_gbp, due_date, paid_date)"""
ORDERS_LINE = (
    "orders.csv: table orders (order_no BIGINT, date DATE, customer VARCHAR, product VARCHAR, quantity BIGINT, "
    "unit_price_gbp DOUBLE, total_gbp DOUBLE, due_date DATE, paid_date DATE), 4 rows"
)
LIST = """\
CREATE TABLE waiting AS SELECT * FROM (VALUES
 ('Ada Finch', 'Ludbury Town Council', 'half', 'yes', 'no', 12.5),
 ('Tom Rudd', 'Ludbury Town Council', 'full', 'no', 'yes', 20.0),
 ('Ines Holt', 'Mill Trust', 'half', 'no', 'no', 30.0))
 t(name, client, wants, had_plot_before, club_member, discount)"""
LIST_LINE = (
    "waiting.csv: table waiting (name VARCHAR, client VARCHAR, wants VARCHAR, had_plot_before VARCHAR, "
    "club_member VARCHAR, discount DOUBLE), 3 rows"
)
BOOKS = """\
CREATE TABLE books AS SELECT * FROM (VALUES
 ('Sea Tales', 'Ada Finch', 30, 5, 10.0, 2.0, 20, 'Keeper'), ('Low Tide', 'Tom Rudd', 40, 1, 8.0, 1.6, 30, 'Keeper'),
 ('High Tide', 'Ada Finch', 25, 2, 6.0, 1.2, 15, 'Clerk'))
 t(title, author, times_borrowed, missed, net_gbp, vat_gbp, hours_per_week, job)"""
BOOKS_LINE = (
    "books.csv: table books (title VARCHAR, author VARCHAR, times_borrowed BIGINT, missed BIGINT, net_gbp DOUBLE, "
    "vat_gbp DOUBLE, hours_per_week BIGINT, job VARCHAR), 3 rows"
)
DOCTORS = """\
CREATE TABLE visits AS SELECT * FROM (VALUES
 ('Dr Okafor', 'Lee', 'seen'), ('Dr Okafor', 'May', 'seen'), ('Dr Haddad', 'Ray', 'missed'))
 t(doctor, patient, result)"""
DOCTORS_LINE = "visits.csv: table visits (doctor VARCHAR, patient VARCHAR, result VARCHAR), 3 rows"
JOBS = "CREATE TABLE jobs AS SELECT * FROM (VALUES ('Oslo', 'full'), ('Bergen', NULL)) t(town, employment)"
TABLES = {
    "jobs": (JOBS, "jobs.csv", "jobs.csv: table jobs (town VARCHAR, employment VARCHAR), 2 rows"),
    "doctors": (DOCTORS, "visits.csv", DOCTORS_LINE),
    "books": (BOOKS, "books.csv", BOOKS_LINE),
    "waiting": (LIST, "waiting.csv", LIST_LINE),
    "visits": (VISITS, "visits-2024.csv", VISITS_LINE),
    "stock": (STOCK, "stock.csv", STOCK_LINE),
    "orders": (ORDERS, "orders.csv", ORDERS_LINE),
}


def answer_from(table: str, question: str) -> str:
    """What is answered from one of these tables."""
    rows, file, line = TABLES[table]
    return analysed(question, query_over(rows, file=file), line)


@pytest.mark.parametrize(
    ("table", "question", "figure"),
    [
        ("visits", "How many adults came from January to February?", ": 350 (4 rows)."),
        ("visits", "How many adults came in February 2024?", ": 180 (2 rows)."),
        ("visits", "How many children came to the Sea gallery between February and March?", ": 30 (2 rows)."),
        ("orders", "How much did the Mill Hotel spend from January to March?", ": 27 (2 rows)."),
    ],
)
def test_months_are_met_in_whatever_way_they_are_written(table: str, question: str, figure: str) -> None:
    assert figure in answer_from(table, question)


@pytest.mark.parametrize(
    ("table", "question", "figure"),
    [
        (
            "stock",
            "Which ingredients are below the minimum?",
            "Ingredient in stock where kg in stock is < minimum (kg): Oats (3) and Butter (8).",
        ),
        ("visits", "How many times did more children than adults come?", "where children is > adults: 1."),
        ("orders", "How many orders were paid after the due date?", "where paid date is > due date: 2."),
    ],
)
def test_two_columns_of_a_row_are_compared(table: str, question: str, figure: str) -> None:
    assert figure in answer_from(table, question)


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("Which orders are still unpaid?", "where paid date is empty: 4."),
        ("Which customers have not paid yet?", "paid date is empty: Parish Hall."),
        ("How many orders have no paid date?", "Number of rows in orders where paid date is empty: 1."),
    ],
)
def test_what_rows_do_not_have_is_an_empty_cell(question: str, figure: str) -> None:
    assert figure in answer_from("orders", question)


@pytest.mark.parametrize(
    ("table", "question", "figure"),
    [
        ("orders", "Which customer has spent the most with us?", "Mill Hotel 27 (2 rows) and Parish Hall 26 (2 rows)."),
        ("orders", "How much was Parish Hall invoiced?", "Total (gbp) in orders where customer is Parish Hall: 26 "),
        ("stock", "Which ingredient is the dearest?", "Butter (7.5)"),
        ("orders", "What is the average order worth?", "Average total (gbp) in orders: 13.25 (4 rows)."),
        ("orders", "How many bagels did the Mill Hotel order?", "product is Bagel and customer is Mill Hotel: 10 "),
        (
            "books",
            "How much did we pay for the books of Ada Finch before VAT?",
            "Total net (gbp) in books where author",
        ),
        ("books", "How many hours a week do the keepers work in total?", ": 50 (2 rows)."),
    ],
)
def test_an_amount_is_known_by_what_is_done_with_it(table: str, question: str, figure: str) -> None:
    assert figure in answer_from(table, question)


def test_how_many_there_were_over_several_times_is_added_up() -> None:
    assert ": 60 (3 rows)." in answer_from("visits", "How many children came to the Sea gallery?")


@pytest.mark.parametrize(
    ("table", "question", "figure"),
    [
        ("books", "Whose books were borrowed the most?", "by author in books: Ada Finch 55 (2 rows) and Tom Rudd 40 "),
        (
            "visits",
            "Which gallery had the most children over the whole year?",
            "Main 190 (3 rows) and Sea 60 (3 rows).",
        ),
        ("visits", "Which gallery had the most children in a single month?", "Main (90) and Sea (30)."),
        (
            "books",
            "How many of the books by Ada Finch were missed?",
            "Total missed in books where author is Ada Finch: 7 ",
        ),
    ],
)
def test_what_is_of_several_rows_is_added_up(table: str, question: str, figure: str) -> None:
    assert figure in answer_from(table, question)


def test_the_best_place_is_the_lowest_number() -> None:
    said = answer_from("visits", "Which gallery had the best average place?")
    assert "by gallery in visits_2024: Sea 3.67 (3 rows) and Main 7.67 (3 rows)." in said


def test_what_has_not_been_done_is_denied() -> None:
    assert "where paid is no: 2." in answer_from("stock", "How many ingredients have not been paid?")


def test_amounts_are_compared_with_the_others_only_where_every_word_is_known() -> None:
    assert "Average" not in answer_from("stock", "Is butter of a higher price than the mountain cheese?")


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("How many people want half a plot?", "Number of rows in waiting where wants is half: 2."),
        ("How many people are club members?", "Number of rows in waiting where club member is yes: 1."),
        ("How many people had a plot before?", "Number of rows in waiting where had plot before is yes: 1."),
        ("How many people have a discount above 15 percent?", "Number of rows in waiting where discount is > 15: 2."),
        ("How many people are with the town council?", "where client is Ludbury Town Council: 2."),
    ],
)
def test_conditions_are_what_is_said_and_no_more(question: str, figure: str) -> None:
    assert figure in answer_from("waiting", question)


@pytest.mark.parametrize(
    ("table", "question"),
    [
        ("orders", "How much did the Mill Hotel spend on cakes?"),
        ("orders", "How much did we invoice the museum?"),
        ("visits", "How many children came to the dinosaur gallery?"),
        ("visits", "How many adults does a castle have?"),
        ("stock", "How many of the ingredients from Dairy Direct were spoiled?"),
        ("books", "What is the average net of the books of Ada Finch with pictures?"),
        ("orders", "What is the average Ritz order worth?"),
        ("orders", "How many bagel orders weigh more than 30 grams?"),
        ("orders", "How many orders of bagels were not frozen?"),
        ("orders", "How many orders of bagels have ticket 4711?"),
        ("doctors", "How many patients did Dr Osei see?"),
        ("jobs", "How many towns know unemployment?"),
    ],
)
def test_no_figure_is_told_where_what_is_said_of_the_rows_is_in_no_table(table: str, question: str) -> None:
    assert "I found no passage that answers this" in answer_from(table, question)


def test_a_word_that_another_source_speaks_of_may_be_what_the_table_is_of() -> None:
    said = "(Words in no passage: none. The best passages answer the query with a likelihood of 20%; the second"
    tools = {
        "query": query_over(BOOKS, file="books.csv"),
        "search": lambda args: f"[house.md#L1] The library is open.\n\n{said} fits 20% as well as the first.)",
    }
    question = "How many books by Ada Finch were missed in the library books?"
    assert ": 7 (2 rows)." in finished(brief(question, "analysis", sources=BOOKS_LINE), tools)[0]
