"""The OpenAPI document: no request made from it is an error of the server; and who may change what."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from graph.web.openapi import document
from tests.servers.dev import free_port
from tests.servers.room import serving, shown, start

pytestmark = pytest.mark.services

SENT = {"content-type": "application/json"}
PATHS: Any = document("0")["paths"]
VERBS = [path for path, methods in PATHS.items() if "post" in methods]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("room"))
        with serving(free_port()) as url:
            yield url


def test_no_request_that_can_be_made_from_the_document_is_an_error_of_the_server(url: str, root: Path) -> None:
    schemathesis = root / "build" / "schemathesis" / "bin" / "st"
    if not schemathesis.exists():
        pytest.skip("`make test-services` installs schemathesis, in an environment of its own")
    threads = [start(url, "ask"), start(url, "a"), start(url, "long")]
    kinds = ["--checks", "not_a_server_error", "--phases", "fuzzing", "--exclude-path-regex", "/events$"]
    bounds = [
        "--max-examples",
        "8",
        "--seed",
        "1",
        "--request-timeout",
        "30",
        "--suppress-health-check",
        "all",
        "--no-color",
    ]
    done = subprocess.run(
        [schemathesis, "run", f"{url}/api/openapi.json", *kinds, *bounds],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert f"{len(VERBS) + 5} passed" in " ".join(done.stdout.split()), done.stdout[-2000:]
    assert {shown(url, thread)["run"]["thread_id"] for thread in threads} == set(threads)


def test_everything_that_changes_wants_the_token_and_is_refused_to_other_pages(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("gated"))
        patch.setenv("BATON_TOKEN", "secret")
        with serving(free_port(), gate=True) as url, httpx.Client(base_url=url, trust_env=False) as client:
            codes = {
                path: [
                    client.post(path.replace("{thread}", "t"), content=b"{}", headers={**SENT, **headers}).status_code
                    for headers in (
                        {},
                        {"authorization": "Bearer wrong"},
                        {"authorization": "Bearer secret", "origin": "https://evil.example"},
                        {"authorization": "Bearer secret", "sec-fetch-site": "cross-site"},
                        {"authorization": "Bearer secret"},
                    )
                ]
                for path in VERBS
            }
    # with the token it is the body that is refused, or the thread
    assert codes == {path: [401, 401, 403, 403, codes[path][4]] for path in VERBS}
    assert {found[4] for found in codes.values()} <= {404, 422}
