"""An address of a database is a file or PostgreSQL, and is shown without its password."""

from pathlib import Path

import pytest

from graph.address import PostgresAddress, address_of, file_at
from graph.settings import read_settings
from state.errors import BadInput, SettingsInvalid

SECRETS = [
    ("postgresql://ana:s3cret@db:5432/runs?sslmode=require", "postgresql://ana@db:5432/runs?sslmode=require"),
    ("postgres://ana@db/runs?password=s3cret&connect_timeout=3", "postgres://ana@db/runs?connect_timeout=3"),
    ("postgresql://ana:s3c%72et@one,two/runs", "postgresql://ana@one,two/runs"),
]


@pytest.mark.parametrize(("given", "shown"), SECRETS)
def test_no_password_is_shown(given: str, shown: str) -> None:
    address = address_of(given)
    assert isinstance(address, PostgresAddress)

    assert (address.uri, str(address), repr(address)) == (given, shown, shown)
    assert "s3cret" not in address.without_secrets("no s3cret and no s3c%72et")


@pytest.mark.of_files
@pytest.mark.parametrize("given", ["runs.db", "/var/lib/runs.db", "C:\\runs.db", "odd:name.db"])
def test_whatever_else_is_given_is_a_file(given: str) -> None:
    assert address_of(given) == Path(given)


@pytest.mark.parametrize(
    ("given", "why"),
    [("mysql://ana:pw@db/runs", "mysql:// is no database"), (Path("postgresql://ana:pw@db/runs"), "has lost a slash")],
)
def test_an_address_of_something_else_is_refused_without_its_password(given: object, why: str) -> None:
    with pytest.raises(BadInput, match=why) as refused:
        address_of(given)

    assert "pw" not in str(refused.value)


def test_the_environment_says_where_runs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_DB", "postgresql://ana@db/runs")
    assert read_settings().db == PostgresAddress("postgresql://ana@db/runs")
    monkeypatch.setenv("BATON_DB", "mysql://db/runs")
    with pytest.raises(SettingsInvalid, match="BATON_DB: Value error, mysql:// is no database of Baton's"):
        read_settings()


def test_what_works_on_files_alone_says_so() -> None:
    with pytest.raises(BadInput, match="needs an SQLite file, and postgresql://ana@db/runs is on PostgreSQL"):
        file_at(address_of("postgresql://ana:pw@db/runs"), "the server needs")
