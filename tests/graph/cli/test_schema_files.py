import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.graph.cli.conftest import Baton

PRICES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "plans": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"plan": {"type": "string"}, "price": {"type": "number"}},
                "required": ["plan", "price"],
            },
        }
    },
    "required": ["plans"],
}


def test_the_answer_comes_as_data_that_fits_the_schema_too(baton: Baton, tmp_path: Path) -> None:
    (tmp_path / "plans.csv").write_text("plan,price,city\nBasic,12.5,Berlin\nTeam,49,Berlin\nLarge,199,Oslo\n")
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    query = "Which plans are there in Berlin?"

    run = baton("run", query, "--sources", "plans.csv", "--schema", "prices.json", "--thread", "t", "--json").lines[-1]

    assert run["data"] == {"plans": [{"plan": "Basic", "price": 12.5}, {"plan": "Team", "price": 49}]}
    jsonschema.validate(run["data"], PRICES)
    assert run["fields"][0]["citations"][0]["quote"] == "Basic"
    assert baton("status", "t", "--json").lines[-1]["data"] == run["data"]
    assert json.loads((tmp_path / "artifacts" / "t" / "data.json").read_text()) == run["data"]
    assert '"plans"' in baton("export", "t", "--json").out


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "neither YAML nor JSON"), ('{"type": "flaot"}', "no JSON Schema"), ('{"$ref": "#"}', "refers to itself")],
)
def test_a_schema_file_that_cannot_be_used_is_refused_in_one_line(
    baton: Baton, text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.json").write_text(text)

    done = baton("run", "Go.", "--schema", "bad.json")

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err
    assert not (tmp_path / "baton.db").exists()
