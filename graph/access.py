"""Who may reach the server: which pages, by which name of this machine, with which token; and what clients may write.

LangGraph's server answers any page and takes anything from any client by default. `Gate` stands before all of its
routes, websockets included: an application's middleware is the outermost, as long as `middleware_order` in
langgraph.json is not `auth_first`. Its `http.cors` alone keeps no page out: a POST of `text/plain` needs no preflight.
"""

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import Mapping
from hmac import compare_digest
from typing import Any
from urllib.parse import urlsplit

from langgraph_sdk import Auth, get_client
from langgraph_sdk.errors import NotFoundError
from langgraph_sdk.schema import Checkpoint, ThreadState
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from graph.settings import read_settings
from nodes.runtime.rows import OURS
from state.errors import BadInput
from state.preferences import checked_preferences

STUDIO = ("https://smith.langchain.com", "https://eu.smith.langchain.com")
"""The origins of LangGraph Studio's pages."""
LOOPBACK = r"(localhost|[a-z0-9-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])"
OF_THIS_MACHINE = rf"https?://{LOOPBACK}(:\d{{1,5}})?"
"""Origins of pages that this machine serves."""
EXPOSED = ("x-pagination-total", "x-pagination-next", "content-location")
"""What LangGraph's server lets pages read of its answers."""
ASK_A_PERSON = 'Basic realm="Baton: any name, and the token as the password", charset="UTF-8"'
"""Has a browser ask whoever opens a page for the token, and send it with each request of the page."""
IN_PROCESS = "/noauth"
"""The root path of requests that the server sends itself; none that comes over the network has one."""
IS_CONTEXT_GIVEN = "__context_provided__"
"""How the server marks in `configurable` that a run came with a `context`; without, it makes one of `configurable`."""


class Gate:
    """Refuses what comes from other pages (403), by another name of this machine (403), or without the token (401)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._rules: _Rules | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it through, or answer it here."""
        if scope["type"] == "lifespan" or _is_in_process(scope):
            await self._app(scope, receive, send)
            return
        rules = await self._read()
        code, why = rules.refusal(scope)
        if not code:
            await rules.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": why})
        else:
            is_person = Headers(scope=scope).get("sec-fetch-mode") == "navigate"
            headers = {"WWW-Authenticate": ASK_A_PERSON if is_person else "Bearer"} if code == 401 else None
            await JSONResponse({"detail": why}, code, headers)(scope, receive, send)

    async def _read(self) -> "_Rules":
        """The rules, from the settings when the first request comes; not in the event loop."""
        if self._rules is None:
            self._rules = await asyncio.to_thread(_Rules, self._app)
        return self._rules


def _is_in_process(scope: Scope) -> bool:
    root = str(scope.get("root_path", ""))
    return root == IN_PROCESS or root.startswith(f"{IN_PROCESS}/")


class _Rules:
    """What the settings say."""

    def __init__(self, app: ASGIApp) -> None:
        settings = read_settings()
        origins = (*STUDIO, *settings.origins)
        self._origin = re.compile("|".join([OF_THIS_MACHINE, *map(re.escape, origins)]))
        named = [re.escape(host) for origin in settings.origins if (host := urlsplit(origin).hostname)]
        self._host = re.compile(rf"(?:{'|'.join([LOOPBACK, *named])})(:\d{{1,5}})?")
        self._token = settings.token.get_secret_value().encode() if settings.token else b""
        self.app = CORSMiddleware(
            app,
            allow_origin_regex=self._origin.pattern,
            allow_methods=["*"],
            allow_headers=["*"],
            allow_credentials=True,
            expose_headers=EXPOSED,
        )

    def refusal(self, scope: Scope) -> tuple[int, str]:
        """The code and the reason, or 0."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._host.fullmatch(hosts[0].lower()):
            return 403, "this server is not called that; add the address it is reached by to BATON_ORIGINS"
        if not all(self._origin.fullmatch(origin) for origin in origins):
            return 403, "pages of this origin may not use the server; add it to BATON_ORIGINS"
        if not origins and _is_from_another_page(headers):
            return 403, "pages of other origins may not use the server; add yours to BATON_ORIGINS"
        is_preflight = scope.get("method") == "OPTIONS" and origins and "access-control-request-method" in headers
        if self._token and not is_preflight and not self._has_token(headers):
            return 401, "give the server's token: Authorization: Bearer BATON_TOKEN"
        return 0, ""

    def _has_token(self, headers: Headers) -> bool:
        """Whether the bearer is the token; chat pages and LangGraph's SDK send theirs as `x-api-key`, browsers ask."""
        scheme, _, told = headers.get("authorization", "").partition(" ")
        match scheme.lower():
            case "bearer":
                given = told.strip()
            case "basic":
                given = _password(told)
            case _:
                given = headers.get("x-api-key", "")
        return compare_digest(given.encode(), self._token)


def _password(told: str) -> str:
    """What a person has typed as the password, where a browser asked for it; the name before it may be any."""
    try:
        return b64decode(told, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _is_from_another_page(headers: Headers) -> bool:
    """Whether a browser says that another site's page asks for a picture or the like; links are let through."""
    return headers.get("sec-fetch-site") in ("cross-site", "same-site") and headers.get("sec-fetch-mode") != "navigate"


auth = Auth()
"""What clients may do with the server's resources, for `auth.path`: all that Studio and chat pages need."""


@auth.authenticate
async def _authenticate() -> Auth.types.MinimalUserDict:
    """Whoever has passed the gate; it does not tell people apart."""
    return {"identity": "client"}


@auth.on
async def _anything_else(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Is allowed."""


@auth.on.store.put
@auth.on.store.delete
async def _writes_to_the_store(ctx: Auth.types.AuthContext, value: Any) -> None:  # noqa: ARG001
    """Are refused where the rows are Baton's: they are steered by, and decided by."""
    namespace = value.get("namespace") or ()
    if not namespace or namespace[0] in OURS:
        _refuse(f"the namespace {'.'.join(namespace) or '()'} is Baton's own: clients may read it, not write it")


@auth.on.assistants.create  # type: ignore[arg-type] # one handler for both
@auth.on.assistants.update
async def _assistants(ctx: Auth.types.AuthContext, value: Any) -> None:  # noqa: ARG001
    """May set what there is to set; the server would drop anything else without a word."""
    _check_preferences(value.get("context") or {})


@auth.on.threads.create_run
async def _runs(ctx: Auth.types.AuthContext, value: Any) -> None:  # noqa: ARG001
    """May be started, resumed and ended, with what an assistant may set; a command jumps past no question."""
    given = value.get("kwargs") or {}
    command = given.get("command") or {}
    goto = command.get("goto") or []
    if command.get("update") or any(place != "__end__" for place in (goto if isinstance(goto, list) else [goto])):
        _refuse("a command may resume a run, or go to __end__; edit a state by POST /threads/{thread_id}/state")
    is_empty = given.get("command") == {} and given.get("input") is None  # LangGraph's SDK for Python leaves out a null
    if is_empty or ("resume" in command and command["resume"] in (None, {}) and not goto):
        _refuse(f"{json.dumps(command.get('resume'))} is not an answer; say approve, reject or edit", 422)
    configurable = (given.get("config") or {}).get("configurable") or {}
    if configurable.get(IS_CONTEXT_GIVEN):
        _check_preferences(given.get("context") or {})
    if inner := [key for key in configurable if key.startswith("__pregel")]:
        _refuse(f"a run's config may not have {', '.join(inner)}")
    if await _is_past(str(value.get("thread_id") or ""), str(configurable.get("checkpoint_id") or "")):
        if "resume" in command:
            _refuse("this was answered meanwhile, nothing was done; look at the thread again", 409)
        del configurable["checkpoint_id"]


async def _is_past(thread_id: str, checkpoint_id: str) -> bool:
    """Whether the state that a page goes on from is not kept any more, or asks what was answered since.

    Chat pages send the checkpoint that they show with all they send. From one that is not there LangGraph would begin
    an empty thread over what there is.
    """
    if not thread_id or not checkpoint_id:
        return False
    threads = get_client().threads  # without a URL: the server that runs this
    try:
        now = await threads.get_state(thread_id)
        if now["checkpoint"]["checkpoint_id"] == checkpoint_id:
            return False
        wanted = Checkpoint(thread_id=thread_id, checkpoint_ns="", checkpoint_id=checkpoint_id, checkpoint_map={})
        then = await threads.get_state(thread_id, wanted)
    except NotFoundError:
        return False
    asked = _asked(then)
    return not then.get("created_at") or bool(asked and not asked & _asked(now))


def _asked(state: ThreadState) -> set[str]:
    """The ids of the questions that a state waits for."""
    raised: list[Any] = [one.get("value") for task in state["tasks"] for one in task.get("interrupts") or []]
    return {str(one["id"]) for value in raised if isinstance(value, dict) for one in value.get("approvals") or []}


def _check_preferences(context: Mapping[str, object]) -> None:
    try:
        checked_preferences(context)
    except BadInput as error:
        _refuse(str(error), 422)


def _refuse(why: str, code: int = 403) -> None:
    raise Auth.exceptions.HTTPException(status_code=code, detail=why)
