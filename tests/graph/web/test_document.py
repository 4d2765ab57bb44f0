"""The OpenAPI document: no request made from it is an error of the server; and who may change what."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import httpx
import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings

from graph.web.openapi import document
from tests.servers.dev import free_port
from tests.servers.room import serving, start

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


def test_no_request_that_can_be_made_from_the_document_is_an_error_of_the_server(url: str) -> None:
    schemathesis = import_module("schemathesis")  # not for the collecting of every test
    checks = [import_module("schemathesis.checks").not_a_server_error]
    threads = [start(url, "ask"), start(url, "a"), start(url, "long")]
    schema = schemathesis.openapi.from_url(f"{url}/api/openapi.json")
    tried: set[str] = set()
    session = requests.Session()
    session.trust_env = False
    for found in schema.exclude(path_regex="/events$").get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=40,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            if "thread" in case.path_parameters and len(case.path_parameters["thread"]) % 2:
                case.path_parameters["thread"] = threads[len(tried) % 3]
            case.validate_response(case.call(session=session), checks=checks)

        ask()
        tried.add(operation.label)
    assert len(tried) >= len(VERBS) + 5


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
