"""What a text beside a table says of its columns stands in the table's line."""

from pathlib import Path

import pytest

from nodes.tools.sources import open_sources
from tests.nodes.tools.documents import fill

HOUSES = "price,airco,lot size\n42000,yes,5850\n38500,no,4000\n"
LINE = "houses.csv: table houses (price BIGINT, airco VARCHAR, lot_size BIGINT), 2 rows"
SAID = 'price "what it was sold for", airco "does the house have air conditioning ?", lot_size "in square feet"'
LIST = """\
Houses of Windsor
=================

price
    what it was sold for

``airco``
    does the house
    have air conditioning ?

lot size
    in square feet

Sold by whoever owned them.
"""
BULLETS = """\
# Houses of Windsor

- **price**: what it was sold for
- `airco` - does the house have air conditioning ?
- lot size (BIGINT): in square feet
"""
BARS = """\
# Houses of Windsor

| column | type | meaning |
|---|---|---|
| price | int | what it was sold for |
| airco | text | does the house have air conditioning ? |
| lot_size | int | in square feet |
| owner | text | left out |
"""
HTML = """\
<title>Houses of Windsor</title><dl>
<dt><code>price</code></dt><dd><p>what it was sold for</p></dd>
<dt><code>airco</code></dt><dd><p>does the house
have air conditioning ?</p></dd>
<dt>lot size</dt>
<dd>in square feet</dd></dl>
"""


def lines(place: Path, files: dict[str, str]) -> list[str]:
    """The lines of the tables among some files."""
    fill(place, dict(files))
    return [line for line in open_sources([str(place)]).describe() if ": table " in line]


@pytest.mark.parametrize(
    ("name", "text"), [("houses.rst", LIST), ("README.md", BULLETS), ("data.md", BARS), ("help.html", HTML)]
)
def test_what_a_text_says_of_most_columns_stands_in_the_line_of_the_table(tmp_path: Path, name: str, text: str) -> None:
    (line,) = lines(tmp_path, {"houses.csv": HOUSES, name: text})
    assert line.startswith(f'{LINE}; {name}: "Houses of Windsor')
    assert line.endswith(SAID)


def test_so_does_a_data_dictionary_that_is_a_table_itself(tmp_path: Path) -> None:
    said = (
        'name,meaning\nprice,what it was sold for\nairco,does the house have air conditioning ?\nlot size,"in ft, 1987"'
    )
    assert lines(tmp_path, {"codes.csv": said, "houses.csv": HOUSES})[1].endswith('lot_size "in ft, 1987"')


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.md", "price: what it was sold for\n\nNothing else is explained."),
        ("other/houses.rst", LIST),
        ("houses.yaml.txt", "price: ten\nairco: yes\nlot size: big\n\n" * 3),
        ("houses.md", "The price of a house depends on airco.\n\nThe lot size does not matter."),
    ],
)
def test_another_text_is_no_codebook(tmp_path: Path, name: str, text: str) -> None:
    assert lines(tmp_path, {"houses.csv": HOUSES, name: text}) == [LINE]


def test_the_text_that_is_called_as_the_table_is_its_codebook(tmp_path: Path) -> None:
    files = {f"{name}.rst": LIST.replace("Windsor", name) for name in ("all", "houses", "zoo")}
    assert 'houses.rst: "Houses of houses' in lines(tmp_path, {"houses.csv": HOUSES, **files})[0]


def test_what_is_told_is_bounded_for_each_column_and_for_all_together(tmp_path: Path) -> None:
    def told(columns: int, tables: int = 1) -> int:
        names = [f"column{n}" for n in range(columns)]
        text = "\n\n".join(f"{name}\n    {'long words ' * 40}" for name in names)
        table = f"{','.join(names)}\n{','.join('1' for _ in names)}\n"
        files = {f"t{n}.{kind}": said for n in range(tables) for kind, said in (("csv", table), ("rst", text))}
        return sum(len(line.partition("; ")[2]) for line in lines(tmp_path / f"{columns}", files))

    assert 3 * 60 < told(3) < 3 * 100
    assert 4_500 < told(150) < 9_000
    assert told(200, tables=2) == 0


def test_what_is_told_is_no_part_of_the_place_of_the_table(tmp_path: Path) -> None:
    fill(tmp_path, {"houses.csv": HOUSES, "houses.rst": LIST})
    assert f"houses.csv: {open_sources([str(tmp_path)]).text_at('houses.csv', 'table')}" == LINE


SAMPLES = "id,site,result\nA1,HB01,P\nA2,HB02,F\n"
SITES = "Site,Name,Kind\nHB01,Harbour Bridge,river\nHB02,Old Weir (closed),river\n"


def test_what_codes_mean_is_told_by_a_table_that_begins_with_them(tmp_path: Path) -> None:
    (line, _) = lines(tmp_path, {"samples.csv": SAMPLES, "sites.csv": SITES})
    assert line.endswith('; sites.csv: site "HB01 = Harbour Bridge; HB02 = Old Weir"')


def test_what_codes_mean_is_told_by_a_text_that_says_nothing_else_of_the_table(tmp_path: Path) -> None:
    text = "# The laboratory\n\nResult: P = passed, F = failed, Q = to be looked at\n\nOpen on Mondays.\n"
    (line,) = lines(tmp_path, {"samples.csv": SAMPLES, "README.md": text})
    assert line.endswith('; README.md: result "P = passed, F = failed, Q = to be looked at"')


@pytest.mark.parametrize(
    "other",
    [
        "Site,Name\nHB01,Harbour Bridge\nHB01,Old Weir\n",
        "Place,Name\nHB01,Harbour Bridge\nHB02,Old Weir\n",
        "Site,Height\nHB01,3\nHB02,4\n",
    ],
)
def test_other_tables_are_no_keys(tmp_path: Path, other: str) -> None:
    (line, _) = lines(tmp_path, {"samples.csv": SAMPLES, "sites.csv": other})
    assert line.endswith("2 rows")
