"""What goes wrong with a request, as problem+json (RFC 9457); and how large a request may be."""

import json
from collections.abc import Mapping

from pydantic import JsonValue, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from graph.web.passages import PassageMissing
from state.errors import AgentsMissing, BadInput, BatonError, DatabaseUnusable, ThreadBusy, ThreadDamaged, ThreadUnknown

MOST_BYTES = 4_000_000
"""A request's body may have so many: a text of 1 MB, escaped, with room to spare."""
CODES: Mapping[type[BatonError], int] = {
    ThreadUnknown: 404,
    PassageMissing: 404,
    ThreadBusy: 409,
    AgentsMissing: 409,
    ThreadDamaged: 409,
    DatabaseUnusable: 503,
    BadInput: 422,
}
"""The status of each kind of error; the first that fits."""


class Problem(HTTPException):
    """A request that cannot be answered; `detail` is one line: what was wrong, and what to do."""


def problem(status: int, detail: str) -> JSONResponse:
    """It as a response."""
    told = {"type": "about:blank", "title": Problem(status).detail, "status": status, "detail": detail}
    return JSONResponse(told, status, media_type="application/problem+json")


async def on_problem(_: Request, error: Exception) -> JSONResponse:
    """What Starlette and the routes refuse."""
    return problem(getattr(error, "status_code", 500), getattr(error, "detail", ""))


async def on_error(_: Request, error: Exception) -> JSONResponse:
    """What Baton refuses."""
    code = next((code for kind, code in CODES.items() if isinstance(error, kind)), 503)
    return problem(code, " ".join(str(error).split()))


async def read_body(request: Request) -> dict[str, JsonValue]:
    """The JSON object that was sent; nothing is an empty one.

    Raises:
        Problem: it is none, too large, or was not sent as JSON: forms of other pages cannot send that.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, "send Content-Type: application/json")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise Problem(413, f"a request may have {MOST_BYTES:,} bytes at most")
    try:
        given = json.loads(body or b"{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise Problem(422, "send a JSON object")
    return given


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def in_one_line(error: ValidationError) -> str:
    """What does not fit, field by field."""
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in error.errors())
