"""A server with a token lets nobody in without it, by any of its routes; and none lets in a page of somewhere else."""

import json
from collections.abc import Iterator

import httpx
import pytest

from tests.servers.dev import Server, serving_the_checkout

TOKEN = "correct horse battery staple"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
FOREIGN = "https://evil.example"
WALKED = """
from starlette.responses import JSONResponse
from starlette.routing import Route

from graph.server import app


def below(routes, prefix=""):
    for route in routes:
        path = prefix + route.path
        if getattr(route, "routes", None):
            yield from below(route.routes, path)
        else:
            yield path, sorted(getattr(route, "methods", None) or ["WEBSOCKET"])


async def walk(request):
    return JSONResponse(list(below(request.app.routes)))


app.router.routes.append(Route("/walk", walk))
"""
"""The application that is served, with a route that names all routes of the server around it."""
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("closed")
    (folder / "walked.py").write_text(WALKED, encoding="utf-8")
    with serving_the_checkout(
        folder, app="./walked.py:app", BATON_TOKEN=TOKEN, BATON_ORIGINS="https://baton.example:8443"
    ) as server:
        yield server


@pytest.fixture(scope="module")
def routes(server: Server) -> list[tuple[str, str]]:
    """Every method and path of the server."""
    named = httpx.get(f"{server.url}/walk", headers=BEARER, trust_env=False).json()
    filled = [(method, path.replace("{path:path}", "x")) for path, methods in named for method in methods]
    return [(method, path) for method, path in filled if method != "HEAD"]


def codes(server: Server, routes: list[tuple[str, str]], **headers: str) -> dict[str, int]:
    """What each route answers to an empty request."""
    found = {}
    with httpx.Client(base_url=server.url, trust_env=False, timeout=10) as client:
        for method, path in routes:
            is_socket = method == "WEBSOCKET"
            sent = {**headers, **(UPGRADE if is_socket else {})}
            body = None if method in ("GET", "WEBSOCKET", "DELETE", "OPTIONS") else b"{}"
            done = client.request("GET" if is_socket else method, path, headers=sent, content=body)
            found[f"{method} {path}"] = done.status_code
    return found


def test_the_walk_finds_every_kind_of_route(routes: list[tuple[str, str]]) -> None:
    paths = {path for _, path in routes}

    assert len(routes) > 80
    assert "WEBSOCKET" in {method for method, _ in routes}
    assert {"/ok", "/docs", "/openapi.json", "/metrics", "/info", "/runs", "/store/items", "/mcp", "/walk"} <= paths
    assert {"/a2a/{assistant_id}", "/threads/{thread_id}/state", "/runs/crons"} <= paths


def test_every_route_wants_the_token(server: Server, routes: list[tuple[str, str]]) -> None:
    found = {
        **codes(server, routes),
        **{f"wrong {name}": code for name, code in codes(server, routes[:9], Authorization="Bearer x").items()},
        **{f"basic {name}": code for name, code in codes(server, routes[:9], Authorization=TOKEN).items()},
        **{f"studio {name}": code for name, code in codes(server, routes, **{"x-auth-scheme": "langsmith"}).items()},
    }

    assert {name: code for name, code in found.items() if code not in (401, 403)} == {}


@pytest.mark.parametrize(
    "sent",
    [
        {"Origin": FOREIGN},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "https://smith.langchain.com.evil.example"},
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example:2024"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    ],
    ids=json.dumps,
)
def test_no_route_answers_a_page_of_another_origin_or_by_another_name(
    server: Server, routes: list[tuple[str, str]], sent: dict[str, str]
) -> None:
    found = codes(server, routes, **BEARER, **sent)

    assert {name: code for name, code in found.items() if code not in (401, 403)} == {}


@pytest.mark.parametrize(
    "origin",
    ["https://smith.langchain.com", "http://localhost:3000", "http://127.0.0.1:5173", "https://baton.example:8443"],
)
def test_pages_that_may_use_it_get_through_with_the_token(server: Server, origin: str) -> None:
    asks = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    preflight = httpx.options(f"{server.url}/threads", headers=asks, trust_env=False)
    made = httpx.post(f"{server.url}/threads", json={}, headers={**BEARER, "Origin": origin}, trust_env=False)
    without = httpx.post(f"{server.url}/threads", json={}, headers={"Origin": origin}, trust_env=False)

    assert (preflight.status_code, made.status_code, without.status_code) == (200, 200, 401)
    assert preflight.headers["access-control-allow-origin"] == made.headers["access-control-allow-origin"] == origin


def test_chat_pages_and_the_sdk_may_send_the_token_as_their_key(server: Server) -> None:
    assert httpx.get(f"{server.url}/info", headers={"x-api-key": TOKEN}, trust_env=False).status_code == 200
    assert httpx.get(f"{server.url}/info", headers={**BEARER, "Host": "baton.example"}, trust_env=False).is_success


def test_the_token_is_in_no_log(server: Server) -> None:
    assert "BATON_TOKEN" not in server.log
    assert TOKEN not in server.log
