"""No key shows anywhere: in what is printed and logged, in rows, checkpoints and files, in errors and their reprs."""

import contextlib
import json
import logging
from pathlib import Path

import pytest

from graph.access import _Rules
from graph.address import PostgresAddress, address_of
from graph.app import served
from graph.cli import main
from graph.composition import compose
from graph.settings import read_settings
from graph.supervisor import open_supervisor
from state.errors import BatonError
from tests.journeys.turns import thinned
from tests.runs import plan
from tests.servers.openai_stub import Behaviour, Failure, OpenAIStub, Request, Say

SECRETS = {
    "OPENAI_API_KEY": "sk-proj-Geheim0123456789abcdef",
    "BATON_TOKEN": "token-Geheim1123456789abcdef",
    "BATON_AUDIT_KEY": "audit-Geheim2123456789abcdef",
    "LANGGRAPH_AES_KEY": "aes-Geheim312345",
    "BATON_NOTIFY": "json://ana:notify-Geheim4@127.0.0.1:9/",
}
WORDS = [*list(SECRETS.values())[:4], "notify-Geheim4", "url-Pa55word", "Geheim"]
KEY = SECRETS["OPENAI_API_KEY"]


def works(request: Request) -> Behaviour:
    return Say("Tea has caffeine.\nConfidence: 0.9")


@pytest.fixture(autouse=True)
def _set(monkeypatch: pytest.MonkeyPatch) -> None:
    on_postgres = isinstance(address_of("runs.db"), PostgresAddress)  # which takes no key for its checkpoints
    for name, value in SECRETS.items():
        if not (on_postgres and name == "LANGGRAPH_AES_KEY"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "400")


def shown(text: str) -> list[str]:
    """The secrets in a text, whole or in part."""
    return [word for word in WORDS if word in text]


def kept(folder: Path) -> dict[str, list[str]]:
    """The secrets in every file, database files included."""
    found = {path.name: shown(path.read_bytes().decode("latin-1")) for path in folder.rglob("*") if path.is_file()}
    assert "runs.db" in found or isinstance(address_of("runs.db"), PostgresAddress)
    return {name: words for name, words in found.items() if words}


@pytest.mark.parametrize(
    "behaviour",
    thinned(
        [
            works,
            Failure(401, f"Incorrect API key provided: {KEY}"),
            Failure(403, f"the token {KEY} may not"),
            Failure(400, f"bad request by Bearer {KEY}", code="bad"),
        ],
        every=2,
    ),
    ids=["works", "401", "403", "400"],
)
def test_no_key_is_printed_logged_or_kept(
    behaviour: Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan("a", {"id": "b", "action": "publish"})))
    monkeypatch.setenv("BATON_DEBUG", "1")
    with OpenAIStub(behaviour) as stub, caplog.at_level(logging.INFO):
        monkeypatch.setenv("OPENAI_BASE_URL", stub.url.replace("//", "//ana:url-Pa55word@"))
        made = ["run", "Tea?", "--plan", "plan.json", "--thread", "t", "--budget-tokens", "9000"]
        for command in (
            made,
            ["run", "Tea?", "--thread", "u", "--json"],
            ["answer", "t", "plan.0", "approve"],
            *(["status", "t", *more] for more in ([], ["--json"], ["--plan"], ["--routes"])),
            *(["log", "t", *more] for more in ([], ["--json"], ["--approvals", "--verify", "--json"])),
            ["runs", "--json"],
            ["inbox"],
            ["team", "t"],
            ["doctor"],
        ):
            with contextlib.suppress(SystemExit):
                main([*command, "--db", "runs.db"])
        assert stub.requests
    printed = capsys.readouterr()

    assert printed.out
    logged = [
        record for record in caplog.records if not record.name.startswith("httpx")
    ]  # it logs whole URLs, by itself
    assert (shown(printed.out), shown(printed.err)) == ([], [])
    assert [shown(f"{one.getMessage()} {one.exc_info}") for one in logged if shown(one.getMessage())] == []
    assert KEY not in caplog.text
    assert kept(tmp_path) == {}


def test_no_key_is_in_what_is_made_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_DB", "postgresql://ana:Geheim@db/baton")
    settings = read_settings()
    services = compose(settings)
    served.cache_clear()
    texts = [repr(settings), str(settings), settings.model_dump_json(), repr(services), repr(served())]
    served.cache_clear()

    assert [shown(text) for text in texts] == [[]] * len(texts)
    assert [shown(repr(vars(one))) for one in (services.models,)] == [[]]


async def test_no_key_is_in_an_error_or_its_causes(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIStub(Failure(401, f"Incorrect API key provided: {KEY}")) as stub:
        monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
        async with open_supervisor("runs.db") as sup:
            run = await sup.start("Tea?")
    assert run.error
    assert shown(run.model_dump_json()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BATON_NOTIFY", "nonsense://Geheim"),
        ("LANGGRAPH_AES_KEY", "Geheim"),
        ("BATON_WATCH_EVERY_S", "Geheim"),
    ],
)
async def test_a_setting_that_is_none_is_named_without_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BatonError) as caught:
        async with open_supervisor("runs.db"):
            pass

    assert name in str(caught.value)
    assert "Geheim" not in str(caught.value)


def test_the_token_does_not_show_where_it_is_compared() -> None:
    async def app(*_: object) -> None:
        raise AssertionError

    code, why = _Rules(app).refusal({"type": "http", "method": "GET", "headers": [(b"host", b"localhost")]})

    assert (code, shown(why)) == (401, [])
