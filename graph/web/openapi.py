"""The OpenAPI document of the control room's routes, from the table of verbs and the models of their bodies."""

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from graph.web.uploads import MEDIA
from graph.web.verbs import VERBS, StartBody
from state.event import Event
from state.run import Run
from state.text import Json

_REF = "#/components/schemas/{model}"
_PROBLEM: Json = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}
_TAKEN: Json = {"type": "object", "required": ["thread_id"], "properties": {"thread_id": {"type": "string"}}}
_THREAD: Json = {"name": "thread", "in": "path", "required": True, "schema": {"type": "string", "maxLength": 200}}


def document(version: str) -> Json:
    """The document (OpenAPI 3.1)."""
    models: list[type[BaseModel]] = [StartBody, Event, Run, *dict.fromkeys(verb.body for verb in VERBS.values())]
    _, made = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    paths: Json = {
        "/api/offers": {"get": _get("What a run can be started with: teams, models, whether there is a queue", [])},
        "/api/uploads": {"post": _upload()},
        "/api/runs": {
            "get": _get(
                "Runs: what needs a human, what runs, and a page of what has ended",
                [_number("limit"), _number("offset")],
            ),
            "post": _post("Start a run; its thread, once it has begun", StartBody, []),
        },
        "/api/runs/{thread}": {
            "get": _get(
                "A run with events, timeline, audit log, mail and effects; with `after` only later events, unfolded",
                [_THREAD, _number("after")],
            )
        },
        "/api/runs/{thread}/source": {
            "get": _get(
                "A place in one of the run's sources (`L12-L14`, `p3`, `r2`, `table`), with what stands around it",
                [_THREAD, _text("file"), _text("place")],
            )
        },
        "/api/runs/{thread}/team": {"get": _get("The agents of a run, and how far each is trusted", [_THREAD])},
        "/api/runs/{thread}/plan": {"get": _get("The plan in use, in the form in which one can be given", [_THREAD])},
        "/api/runs/{thread}/events": {
            "get": _get(
                "Events as they happen (server-sent events); `Last-Event-ID` or `after` say which one was the last",
                [_THREAD, _number("after"), {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}}],
                "text/event-stream",
            )
        },
        **{
            f"/api/runs/{{thread}}/{name}": {"post": _post(verb.about, verb.body, [_THREAD])}
            for name, verb in VERBS.items()
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Baton's control room", "version": version},
        "paths": paths,
        "components": {"schemas": {**made["$defs"], "Problem": _PROBLEM, "Taken": _TAKEN}},
    }


def _number(name: str) -> Json:
    return {"name": name, "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": 1_000_000_000}}


def _text(name: str) -> Json:
    return {"name": name, "in": "query", "required": True, "schema": {"type": "string", "maxLength": 400}}


def _get(about: str, parameters: list[Json], media: str = "application/json") -> Json:
    return {"summary": about, "parameters": [*parameters], "responses": _responses("200", media, {})}


def _upload() -> Json:
    path: Json = {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}
    return {
        "summary": "Keep a file, under `name`; its path, to be named among the sources of a run",
        "parameters": [_text("name")],
        "requestBody": {"required": True, "content": {MEDIA: {"schema": {"type": "string", "format": "binary"}}}},
        "responses": _responses("201", "application/json", path),
    }


def _post(about: str, body: type[BaseModel], parameters: list[Json]) -> Json:
    sent: Json = {"application/json": {"schema": {"$ref": _REF.format(model=body.__name__)}}}
    taken: Json = {"$ref": _REF.format(model="Taken")}
    return {
        "summary": about,
        "parameters": [*parameters],
        "requestBody": {"required": True, "content": sent},
        "responses": _responses("202", "application/json", taken),
    }


def _responses(code: str, media: str, schema: Json) -> Json:
    refused: Json = {"application/problem+json": {"schema": {"$ref": _REF.format(model="Problem")}}}
    return {
        code: {"description": "as asked", "content": {media: {"schema": schema}}},
        "default": {"description": "what was wrong, and what to do", "content": refused},
    }
