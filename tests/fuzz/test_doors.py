"""Anything at any door: it is taken, or refused by an error of Baton's with one line, at once; nothing else is raised.

`make test` tries a few at each door, `make campaign` some thousands: 100,000 in all. There each input that Hypothesis
has made is tried with nine more that differ from it in one place: making one costs far more than most doors do.
"""

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from graph.cli import main
from graph.cli.plan_file import read_plan, read_results
from graph.doctor import check_config
from graph.team_file import open_team, parse_team
from nodes.policy.answers import read_answers
from nodes.policy.plans import parse_plan
from nodes.policy.takeover import hand_back_faults
from nodes.tools.calculate import evaluate
from nodes.tools.document import Grid
from nodes.tools.files import store
from nodes.tools.sources import open_sources
from nodes.tools.tables import Tables
from state.approval import Approval
from state.errors import BatonError
from state.policy import Policy, merged_policy
from tests.builders import make_plan, make_record
from tests.journeys.turns import LENGTH

ROUNDS, RELATIVES = {"": (25, 0), "short": (200, 0)}.get(LENGTH, (670, 9))
"""Inputs at each of the 15 doors, and how many like each."""


def one_of(words: str) -> SearchStrategy[str]:
    """One of these words."""
    return st.sampled_from(words.split())


TEXT = st.text(st.characters(codec=None), max_size=30)
WORDS = one_of(
    """tasks id description role kind depends_on required action agents name skills tools run limits model a b t1 ada
    generalist research approve reject edit type args message answers oversight in_the_loop max_parallel on_timeout
    default failure_threshold token_budget sensitive_actions results plan complexity specialty kinds keywords
    temperature workers ../x published/x report.md offline thread"""
)
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.floats() | TEXT | WORDS
ANYTHING: SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT | WORDS, inner, max_size=4), max_leaves=12
)
TASK = st.dictionaries(WORDS, ANYTHING, max_size=6)
AGENT = st.fixed_dictionaries({"name": ANYTHING, "role": ANYTHING}, optional={"skills": ANYTHING, "tools": ANYTHING})
YAML_BITS = one_of(
    """!!timestamp !!int !!float !!binary !!python/object:os.system &a *a [*a] {} {a,b} [{}] - : { } [ ] agents: tasks:
    skills: ? | > % @ --- <<: 0x 1_0 2024-99-99 ' " ~ name:"""
) | st.sampled_from(["\n", "  ", "\x00", "\ud800", "\ufeff", "!!timestamp x", "!!omap [a: 1]", "!!set {a, b}", ": "])
YAML = st.lists(YAML_BITS | TEXT | WORDS, max_size=12).map("".join) | ANYTHING.map(json.dumps)
EXPRESSION = st.lists(
    one_of("1 9 0 . e + - * / ** // % ( ) , round( factorial( pow( log( max( stdev( mean( pi 1e308 10**9")
    | st.integers().map(str)
    | TEXT,
    max_size=12,
).map("".join)
SQL = st.lists(
    one_of(
        """SELECT FROM t WHERE a b * ( ) , ; -- /* */ ' " range( unnest( list( [ ] { } 1 99999999 NULL AS ORDER BY LIMIT
        DESCRIBE SHOW TABLES WITH RECURSIVE UNION ALL PIVOT struct_pack( repeat( $1 ? COPY INSTALL"""
    )
    | TEXT,
    max_size=14,
).map(" ".join)
ARGUMENTS = st.lists(
    one_of(
        """run status runs log inbox answer trust watch pause takeover hand-back cancel team recruit retire mail graph
        prune doctor resume t none --json --db --once --report --plan --limit --page 0 -1 1 x.yaml folder --role --task
        --keep-days --status complete --args {} [] --message --by --team --sources --oversight auto --incident minor
        --note --approvals --verify --from --every --save --config --thread --yes --model offline --out -h --to"""
    )
    | TEXT,
    max_size=6,
)
SUFFIXES = one_of(".md .txt .csv .tsv .json .jsonl .html .eml .ipynb .docx .pptx .xlsx .pdf .zip .png .yaml .xml .log")
BYTES = st.binary(max_size=300) | YAML.map(lambda text: text.encode("utf-8", "surrogatepass"))
HEADS = st.sampled_from(
    [b"", b"%PDF-1.4\n", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"\x89PNG\r\n", b"{", b"\xff\xfe"]
)

ODD: list[Any] = [
    None,
    True,
    -1,
    0.5,
    10**30,
    math.nan,
    math.inf,
    "",
    "a",
    "../x",
    "\ud800",
    "\x00",
    [],
    [[]],
    {},
    {"id": 1},
]
"""What may stand where something else is expected."""
PIECES = [one for one in ODD if isinstance(one, str)] + ["{", "]", ": ", "\n", "'", '"', "!!", "--", "0", "é"]


def family(value: Any) -> Iterator[Any]:
    """The value, and some like it: the same ones each time."""
    chance = random.Random(repr(value))
    yield value
    for _ in range(RELATIVES):
        yield changed(value, chance)


def changed(value: Any, chance: random.Random) -> Any:
    """The value with something else in one place; text stays text, bytes bytes, a list a list."""
    match value:
        case str() | bytes():
            at, piece = chance.randint(0, len(value)), chance.choice(PIECES)
            put = piece if isinstance(value, str) else piece.encode("utf-8", "surrogatepass")
            return chance.choice([value[:at], value[at:], value + value[:at], value[:at] + put + value[at:]])  # type: ignore[operator]
        case dict():
            key = chance.choice([*value, chance.choice(PIECES)])
            return {**value, key: inside(value.get(key), chance)}
        case list() | tuple():
            at = chance.randint(0, len(value) - 1) if value else 0
            return type(value)([*value[:at], inside(value[at] if value else None, chance), *value[at + 1 :]])
        case _:
            return chance.choice(ODD)


def inside(value: Any, chance: random.Random) -> Any:
    """What stands in a list or by a name, changed or replaced; in a list of words by a word."""
    return changed(value, chance) if isinstance(value, str | bytes) or chance.random() < 0.7 else chance.choice(ODD)


ASKED = [
    Approval(id="a.0.c1", task_id="a", agent="ada", subject="action", action="publish", args={"text": "x"}, reason="r"),
]
TABLES = Tables({"t.csv": Grid(["a", "b"], [["1", "x"], ["2", None]])})
RECORDS = [make_record("a"), make_record("b")]


def from_file(read: Callable[[str], object]) -> Callable[[str], object]:
    """A door that takes the name of a file, for text that stands in one."""

    def door(text: str) -> object:
        Path("given.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
        return read("given.yaml")

    return door


def documents(given: tuple[bytes, bytes, str]) -> object:
    head, rest, suffix = given
    path = Path(f"given{suffix}" if suffix.removeprefix(".").isalpha() else "given.txt")
    path.write_bytes(head + rest)
    try:
        return open_sources([str(path)])
    finally:
        path.unlink()


DOORS: dict[str, tuple[SearchStrategy[Any], Callable[[Any], object]]] = {
    "a plan": (ANYTHING | st.lists(TASK) | st.fixed_dictionaries({"tasks": st.lists(TASK)}), parse_plan),
    "a plan's file": (YAML, from_file(read_plan)),
    "a file of results": (YAML, from_file(read_results)),
    "a team": (
        st.lists(AGENT, max_size=3).map(lambda agents: json.dumps({"agents": agents})) | YAML,
        lambda text: parse_team(text, "team"),
    ),
    "a team's file": (YAML, from_file(lambda name: open_team(Path(name)))),
    "a policy": (
        ANYTHING | st.dictionaries(st.sampled_from([*Policy.model_fields]) | TEXT, ANYTHING, max_size=3),
        lambda given: merged_policy(Policy(), given),
    ),
    "an answer": (ANYTHING, lambda given: read_answers(given, ASKED)),
    "answers by name": (st.dictionaries(st.just("a.0.c1") | TEXT, ANYTHING), lambda given: read_answers(given, ASKED)),
    "results handed back": (
        st.dictionaries(st.sampled_from("ab") | TEXT, ANYTHING),
        lambda given: hand_back_faults(RECORDS, given, make_plan("a", "b")),
    ),
    "a calculation": (EXPRESSION, evaluate),
    "a query": (SQL, lambda sql: TABLES.query(sql, seconds=1)),
    "a file's name": (TEXT | WORDS, lambda name: store(Path("out"), name, "x", "t1")),
    "a document": (st.tuples(HEADS, BYTES, SUFFIXES), documents),
    "a langgraph.json": (YAML, from_file(lambda name: [*check_config(Path(name))])),
}


@pytest.mark.parametrize("door", DOORS)
def test_anything_is_taken_or_refused_in_one_line(door: str) -> None:
    values, enter = DOORS[door]

    @settings(max_examples=ROUNDS, suppress_health_check=[*HealthCheck], deadline=5000 * (1 + RELATIVES))
    @given(values)
    def tried(given: Any) -> None:
        for value in family(given):
            try:
                enter(value)
            except BatonError as error:
                said = str(error)
                assert said, value
                assert "\n" not in said, value
                said.encode()

    tried()


def test_any_words_on_the_command_line_end_in_an_exit_code(capfd: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    Path("x.yaml").write_text(yaml.safe_dump({"tasks": [{"id": "a", "description": "Do a."}]}))

    @settings(max_examples=ROUNDS, suppress_health_check=[*HealthCheck], deadline=30_000 * (1 + RELATIVES))
    @given(ARGUMENTS)
    def tried(given: list[str]) -> None:
        for words in family(given):
            ends = "--once" in words
            code = main([word for word in words if ends or word not in ("watch", "run", "worker", "serve", "-")])
            said = capfd.readouterr()
            assert isinstance(code, int)
            assert "Traceback" not in said.err + said.out, words
            assert "this should not have happened" not in said.err, words

    tried()
