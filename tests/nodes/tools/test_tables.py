"""SQL over tables: what it computes, and that it can do nothing else."""

import threading
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.tools.document import Grid
from nodes.tools.tables import ColumnType, Tables, identifier, infer
from state.errors import ToolRefused

PRICES = Grid(
    ["vendor", "unit price", "order", "since"],
    [["Acme", "1,200", "007", "2024-01-05"], ["Bolt", "n/a", "008", None], ["Cargo", "50", None, "2022-02-01"]],
)


@pytest.fixture(scope="module")
def tables() -> Tables:
    return Tables({"data/prices.csv": PRICES, "2024 sales.csv": Grid(["n"], [["1"], ["2"]])})


def test_names_and_types_come_from_the_file(tables: Tables) -> None:
    assert [str(table) for table in tables.by_file.values()] == [
        "prices (vendor VARCHAR, unit_price BIGINT, order_ VARCHAR, since DATE)",
        "c_2024_sales (n BIGINT)",
    ]


def test_a_query_computes_and_names_the_files_it_used(tables: Tables) -> None:
    result = tables.query("SELECT vendor, unit_price FROM Prices WHERE unit_price > 40 ORDER BY unit_price")
    assert result.columns == ["vendor", "unit_price"]
    assert result.rows == [("Cargo", 50), ("Acme", 1200)]
    assert result.tables == ["data/prices.csv"]
    both = tables.query(
        "WITH s AS (SELECT sum(n) AS t FROM c_2024_sales) SELECT t, count(vendor) FROM s, prices GROUP BY t"
    )
    assert (both.rows, both.tables) == ([(3, 3)], ["data/prices.csv", "2024 sales.csv"])


@pytest.mark.parametrize(
    "sql",
    ["DESCRIBE prices", "SUMMARIZE prices", "SHOW TABLES", "FROM prices", "VALUES (1)", "SELECT 1; -- and no more"],
)
def test_statements_that_only_read_are_run(tables: Tables, sql: str) -> None:
    assert tables.query(sql).rows


def test_more_rows_than_asked_for_are_cut_and_said_so(tables: Tables) -> None:
    assert tables.query("FROM range(100)", 50).truncated
    assert not tables.query("FROM range(50)", 50).truncated
    assert len(tables.query("FROM range(100)", 50).rows) == 50


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/etc/passwd')",
        "SELECT * FROM read_json('/etc/passwd')",
        "SELECT * FROM read_parquet('/etc/passwd')",
        "SELECT * FROM sniff_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM query_table('/etc/passwd')",
        "DESCRIBE SELECT * FROM '/etc/passwd'",
        "SUMMARIZE '/etc/passwd'",
        "SELECT * FROM read_text('http://127.0.0.1/')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT getenv('HOME')",
        "SELECT * FROM duckdb_secrets()",
        "COPY prices TO '{folder}/out.csv'",
        "COPY prices FROM '/etc/passwd'",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET threads = 8",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "SET VARIABLE a = 1",
        "PRAGMA version",
        "PRAGMA enable_profiling",
        "CALL pragma_version()",
        "CHECKPOINT",
        "USE memory",
        "BEGIN",
        "COMMIT",
        "PREPARE p AS SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
        "INSERT INTO prices (vendor) VALUES ('x')",
        "UPDATE prices SET vendor = 'x'",
        "DELETE FROM prices",
        "DROP TABLE prices",
        "CREATE TABLE t AS SELECT 1",
        "CREATE MACRO m() AS 1",
        "WITH d AS (DELETE FROM prices RETURNING *) SELECT * FROM d",
        "SELECT 1; DROP TABLE prices",
        "SELECT * FROM query('DELETE FROM prices')",
        "SELECT * FROM PRICES_GRID",
        "",
        "-- nothing",
        "selec 1",
        "SELECT 'a\ud800'",
        "SELECT " + "(" * 2000 + "1",
        "SELECT '" + "x" * 30_000 + "'",
    ],
)
def test_anything_but_reading_the_tables_is_refused(tables: Tables, tmp_path: Path, sql: str) -> None:
    PRICES_GRID = PRICES  # noqa: F841, N806 - a Python variable that DuckDB could find by its name
    with pytest.raises(ToolRefused) as refused:
        tables.query(sql.replace("{folder}", str(tmp_path)))
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []
    assert tables.query("SELECT count(*) FROM prices").rows == [(3,)]


def test_a_refusal_names_the_tables_and_columns_there_are(tables: Tables) -> None:
    with pytest.raises(ToolRefused, match=r"tables: prices \(vendor VARCHAR, .*; c_2024_sales \(n BIGINT\)"):
        tables.query("SELECT price FROM price")
    with pytest.raises(ToolRefused, match="the sources have no tables"):
        Tables({}).query("SELECT * FROM price")


def test_a_query_that_runs_away_is_stopped(tables: Tables) -> None:
    with pytest.raises(ToolRefused, match=r"more than 0.1 s"):
        tables.query("SELECT count(*) FROM range(10000000000) a, range(1000000) b", seconds=0.1)
    assert tables.query("SELECT 1").rows == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT unnest(range(100000000))",
        "SELECT list_sort(generate_series(1, 100000000))",
        "SELECT RANGE(100000000) FROM prices",
        "SELECT count(*) FROM prices WHERE len(system.main.range(100000000)) > 1",
        "SELECT 1 FROM range(len(list_resize([1], 100000000)))",
        "WITH a AS (SELECT [x FOR x IN range(100000000)] AS l) SELECT l FROM a; -- the end",
    ],
)
def test_a_list_of_any_length_cannot_be_made_of_a_number(tables: Tables, sql: str) -> None:
    with pytest.raises(ToolRefused, match=r"may not make a list: take rows, as in SELECT i FROM range\(10\) AS r\(i\)"):
        tables.query(sql)
    assert tables.query("SELECT i FROM range(2) AS r(i);; -- rows; -- of it").rows == [(0,), (1,)]


def test_long_lists_maps_and_structs_come_as_text_that_is_cut(tables: Tables) -> None:
    found = tables.query(
        """SELECT list(i) AS "a""b", {'k': 1} AS s, count(*) AS n FROM range(1000000) AS r(i); -- all"""
    )
    assert found.columns == ['a"b', "s", "n"]
    ((listed, struct, count),) = found.rows
    assert (len(listed), listed[:9], struct, count) == (10_000, "[0, 1, 2,", "{'k': 1}", 1_000_000)
    assert tables.query("SELECT [vendor] AS v FROM prices ORDER BY vendor DESC").rows[0] == ("[Cargo]",)


def test_many_threads_may_query_at_once(tables: Tables) -> None:
    found: list[object] = []
    sql = "SELECT sum(p.unit_price) FROM prices p, range(1000)"
    threads = [threading.Thread(target=lambda: found.append(tables.query(sql).rows[0][0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1_250_000] * 8


def test_tables_of_equal_names_are_told_apart() -> None:
    grid = Grid(["A", "a", "", "1"], [["1", "2", "3", "4"]])
    tables = Tables({"x/t.csv": grid, "y/t.csv": grid, "select.csv": grid})
    assert [table.name for table in tables.by_file.values()] == ["t", "t_2", "select_"]
    assert [name for name, _ in tables.by_file["x/t.csv"].columns] == ["A", "a_2", "column_", "c_1"]
    assert tables.query("SELECT A, a_2, c_1 FROM select_").tables == ["select.csv"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2", None], "BIGINT"),
        (["1", "2.5", "1e3"], "DOUBLE"),
        (["1,200", "3"], "BIGINT"),
        ([*map(str, range(100)), "not yet"], "BIGINT"),
        ([*map(str, range(100)), "B12"], "VARCHAR"),
        ([*map(str, range(98)), "not yet"], "VARCHAR"),
        (["1.5", "?", "unknown", ".."], "DOUBLE"),
        (["2012/03/19", "2012/03/20"], "DATE"),
        (["3/4/2024", "3/14/2024"], "DATE"),
        (["3/4/2024", "14/3/2024"], "DATE"),
        (["3/4/2024", "5/6/2024"], "VARCHAR"),
        (["3/3/2024", "5/5/2024"], "DATE"),
        (["13/14/2024"], "VARCHAR"),
        (["1.12.2024", "?"], "DATE"),
        (["Jan 1 2000", "Feb 28 2000"], "DATE"),
        (["May 1, 2000", "May 2, 2000"], "DATE"),
        (["12 March 2024"], "DATE"),
        (["1.12", "2.10"], "DOUBLE"),
        (["192.168.10.1"], "VARCHAR"),
        (["1,200.50", "-"], "DOUBLE"),
        (["01", "2"], "VARCHAR"),
        (["true", "FALSE"], "BOOLEAN"),
        (["2024-01-31", "n/a"], "DATE"),
        (["2024-02-31"], "VARCHAR"),
        (["2024-01-31 10:00", "2024-01-31T10:00:59"], "TIMESTAMP"),
        (["$3", "4"], "VARCHAR"),
        (["£60.00", "-£1,200.50", None], "DOUBLE"),
        (["75%", "5 %"], "BIGINT"),
        (["$3", "€4"], "VARCHAR"),
        (["nan"], "VARCHAR"),
        ([None], "VARCHAR"),
        ([], "VARCHAR"),
        (["99999999999999999999"], "DOUBLE"),
    ],
)
def test_the_type_of_a_column_is_the_narrowest_that_fits(cells: list[str | None], kind: ColumnType) -> None:
    assert infer(cells) == kind


kinds = [st.integers(), st.floats(), st.dates(), st.datetimes(), st.booleans(), st.text(max_size=8)]
columns = st.one_of(
    [st.lists(kind.map(str) | st.sampled_from([None, "n/a"]), min_size=6, max_size=6) for kind in kinds]
)


@given(st.lists(columns, min_size=8, max_size=8))
@settings(max_examples=30, deadline=None)
def test_whatever_type_a_column_gets_all_its_cells_load(found: list[list[str | None]]) -> None:
    rows = [list(row) for row in zip(*found, strict=True)]
    assert Tables({"t.csv": Grid([f"c{number}" for number in range(8)], rows)}).failed == {}


def test_texts_come_back_from_a_table_as_they_were() -> None:
    texts = ["it's", 'a "quote"', "[1, 2]", "{}", "null ", "ü日本\U0001f600", "a\nb", "\\", "%s", "'; DROP TABLE t; --"]
    tables = Tables({"t.csv": Grid(["v"], [[text] for text in texts])})
    assert [row[0] for row in tables.query("FROM t").rows] == texts


def test_a_table_larger_than_a_batch_loads_whole_and_in_order() -> None:
    tables = Tables({"t.csv": Grid(["n"], [[str(number)] for number in range(12_001)])})
    assert tables.query("SELECT count(*), sum(n), first(n), last(n) FROM t").rows == [(12_001, 72_006_000, 0, 12_000)]


@given(st.text(max_size=20), st.sets(st.text(max_size=5).map(str.lower)))
def test_an_identifier_is_always_new_and_a_word(text: str, taken: set[str]) -> None:
    before = set(taken)
    name = identifier(text, taken)
    assert name.lower() not in before
    assert name.lower() in taken
    assert name.replace("_", "a").isalnum()
    assert not name[0].isdigit()


def test_a_word_in_a_hundred_numbers_is_no_value() -> None:
    tables = Tables({"n.csv": Grid(["n"], [*([str(n)] for n in range(100)), ["not yet"]])})

    assert tables.query("SELECT count(*), count(n), sum(n) FROM n").rows == [(101, 100, 4950)]


def test_amounts_are_added_up_that_are_written_with_their_currency() -> None:
    tables = Tables({"n.csv": Grid(["n", "part"], [["£60.00", "75%"], ["-£1,200.50", "5 %"], ["?", ""]])})

    assert tables.query("SELECT sum(n), avg(part) FROM n").rows == [(-1140.5, 40)]


def test_days_are_loaded_as_days_however_they_are_written() -> None:
    rows = [["3/4/2024", "4.3.2024"], ["3/14/2024", "14.3.2024"], ["", "unknown"]]
    tables = Tables({"n.csv": Grid(["there", "here"], rows)})

    found = tables.query("SELECT there, here, there = here FROM n WHERE month(there) = 3 ORDER BY 1").rows
    assert found == [(date(2024, 3, 4), date(2024, 3, 4), True), (date(2024, 3, 14), date(2024, 3, 14), True)]
