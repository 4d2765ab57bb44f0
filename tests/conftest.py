"""What holds for every test: no network, a clean environment, an empty folder of its own to work in."""

import gc
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import postgres
from tests.guard import sitecustomize as guard

ROOT = Path(__file__).resolve().parent.parent
GUARD = ROOT / "tests" / "guard"

OURS = ("OPENAI_", "BATON_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_")
"""Variables that would change what the tests see: keys, settings, tracing."""


def _clean_environment() -> None:
    for name in [name for name in os.environ if name.startswith(OURS) or name in ("COLUMNS", "LINES")]:
        del os.environ[name]
    os.environ["LANGGRAPH_CLI_NO_ANALYTICS"] = "1"
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # notebooks run on this interpreter, not on a kernel of the user's
    os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
    os.environ["NO_COLOR"] = "1"
    os.environ["PYTHONPATH"] = os.pathsep.join([str(GUARD), str(ROOT)])


_clean_environment()
if os.environ.get("DATABASE") == "postgres":
    postgres.install()
guard.install()
# A shell that runs the tests in its background has them ignore Ctrl-C, and so would every process that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The same examples each time: a failure that a colleague sees, you see.
settings.register_profile("baton", deadline=None, derandomize=True, database=None)
settings.load_profile("baton")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long first: so two workers end at about the same time.

    Where databases are on PostgreSQL, what only a file has is not tried; with `EVERY=n`, every n-th test alone.
    """
    items.sort(key=lambda item: not item.path.is_relative_to(ROOT / "tests" / "journeys"))
    if os.environ.get("DATABASE") == "postgres":
        for item in items:
            if item.get_closest_marker("of_files"):
                item.add_marker(pytest.mark.skip(reason="about files"))
        items[:] = items[:: int(os.environ.get("EVERY", "1"))]


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: it is not looked through for garbage again and again."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """What is left over at the end would be printed as leaked."""
    gc.unfreeze()


@pytest.fixture
def root() -> Path:
    """The repository: tests run in a folder of their own, so paths into the checkout start here."""
    return ROOT


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Fails a test that tried to leave this machine, even where the code under test swallowed the refusal."""
    guard.attempts.clear()
    yield
    if guard.attempts:
        pytest.fail(f"this test tried to reach {', '.join(guard.attempts)}; use a server on 127.0.0.1")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `.env` or a database in the checkout can't reach a test, and a test leaves nothing there."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL server, for all tests of this process."""
    if postgres.programs() is None and not os.environ.get("CI"):
        pytest.skip("PostgreSQL is missing: apt-get install postgresql")
    with postgres.server() as address:
        yield address


@pytest.fixture(scope="module", autouse=True)
def _instead_of_files(request: pytest.FixtureRequest) -> Iterator[None]:
    """With `DATABASE=postgres`, databases of the module's tests are there; a module's servers live as long."""
    if os.environ.get("DATABASE") != "postgres":
        yield
        return
    with postgres.instead_of_files(request.getfixturevalue("migrated_server"), f"m{uuid.uuid4().hex[:8]}"):
        yield


@pytest.fixture(scope="session")
def migrated_server(postgres_server: str) -> str:
    """The server, with a database to copy that has its tables."""
    postgres.make_template(postgres_server)
    return postgres_server


@pytest.fixture
def on_postgres(migrated_server: str) -> str:
    """The address of a database on it that has its tables and nothing in them."""
    return postgres.new_database(migrated_server, f"test{uuid.uuid4().hex[:12]}", postgres.TEMPLATE)


@pytest.fixture
def empty_postgres(postgres_server: str) -> str:
    """The address of an empty database on it."""
    return postgres.new_database(postgres_server, f"test{uuid.uuid4().hex[:12]}")


@pytest.fixture(
    params=[pytest.param("file", marks=pytest.mark.of_files), pytest.param("postgres", marks=pytest.mark.services)]
)
def address(request: pytest.FixtureRequest) -> str:
    """Where runs are kept: the same has to hold for both."""
    return "runs.db" if request.param == "file" else str(request.getfixturevalue("on_postgres"))
