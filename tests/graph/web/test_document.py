"""The OpenAPI document: no request made from it is an error of the server; and who may change what."""

import json
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


def test_no_request_that_can_be_made_from_the_document_is_an_error_of_the_server(
    url: str, root: Path, tmp_path: Path
) -> None:
    schemathesis = root / "build" / "schemathesis" / "bin" / "st"
    if not schemathesis.exists():
        pytest.skip("`make test-services` installs schemathesis, in an environment of its own")
    threads = [start(url, *tasks) for tasks in [["ask-1", "ask-2"], ["long"]] * 4 + [["a"]] * 2]
    described = httpx.get(f"{url}/api/openapi.json", trust_env=False).json()
    for path in described["paths"].values():
        for method in path.values():
            for one in method["parameters"]:
                if one["name"] == "thread":  # runs that wait, have ended and are at work; and one that is none
                    one["schema"] = {"type": "string", "enum": [*threads, "nobody"]}
    (tmp_path / "openapi.json").write_text(json.dumps(described), "utf-8")
    kinds = ["--checks", "not_a_server_error", "--phases", "fuzzing", "--exclude-path-regex", "/events$"]
    bounds = [
        "--max-examples",
        "12",
        "--seed",
        "1",
        "--request-timeout",
        "30",
        "--suppress-health-check",
        "all",
        "--no-color",
    ]
    done = subprocess.run(
        [schemathesis, "run", tmp_path / "openapi.json", "--url", url, *kinds, *bounds],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert f"{len(VERBS) + 6} passed" in " ".join(done.stdout.split()), done.stdout[-2000:]
    stand = [shown(url, thread)["run"]["status"] for thread in threads]
    assert stand[-2:] == ["complete"] * 2
    assert "cancelled" in stand, "no request was one that a run takes"


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
    assert {found[4] for found in codes.values()} <= {404, 415, 422}
