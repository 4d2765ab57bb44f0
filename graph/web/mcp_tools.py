"""The server's tools for models of other programs, by the Model Context Protocol (`POST /mcp`): what people do, too.

A model starts a request, looks how far it is, passes on what its human decides, and reads the report. What it gets is
a few lines of plain words and JSON, never the state. Calls return when the run needs somebody, or ends, or the time
that the caller gave is up; the run goes on behind them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from starlette.types import Receive, Scope, Send

from graph.supervisor import Supervisor
from graph.web.problems import in_one_line
from graph.web.verbs import VERBS, AnswerBody, Driving, StartBody
from nodes.policy.wording import at
from state.answer import DataField
from state.approval import Answer, Approval
from state.errors import BadInput
from state.run import Run, RunStatus
from state.text import shortened

LOOK_EVERY_S = 0.25
"""Seconds between two looks at a run that somebody waits for: another process may run it."""
MOST_WAIT_S = 300.0
"""Seconds that a call may wait."""
ABOUT = (
    "Baton answers requests that take several steps, from the sources it is given, with citations, and asks a human "
    "before anything that matters. `start` a request; while it is running look again with `status`; when it is "
    "waiting, put its questions to the person you work for and pass on what they say with `answer`; when it has ended, "
    "read the `report`."
)
BY = "an MCP client"
"""Who answers, where the caller does not say for whom."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class _Waits(_Body):
    wait_s: float = Field(default=20, ge=0, le=MOST_WAIT_S)
    """Seconds to wait for it to end or to need somebody."""


class StartCall(_Waits):
    """A request."""

    query: str = Field(min_length=1, max_length=100_000)
    """What is to be done, in words."""
    sources: list[str] = []
    """Files and folders of the server, and web pages, to answer from; none: those that the server has."""
    answer: dict[str, JsonValue] | None = Field(default=None, alias="schema")
    """A JSON Schema: `report` then also has the answer as `data` that fits it."""
    thread_id: str | None = Field(default=None, min_length=1, max_length=200)
    """A thread whose run has ended: the request is understood in the light of what was asked and answered there."""


class StatusCall(_Waits):
    """Which run."""

    thread_id: str = Field(min_length=1, max_length=200)
    """What `start` has said."""


class AnswerCall(StatusCall):
    """What a human has decided."""

    decision: Answer
    """What the human has said, not you."""
    question: str = ""
    """The id of the question; may be left out where exactly one is open."""
    args: dict[str, JsonValue] | None = None
    """With `edit`: the arguments to use instead."""
    message: str = Field(default="", max_length=20_000)
    """With `reject`: why, and what to do instead."""
    by: str = Field(default=BY, min_length=1, max_length=200)
    """Who has decided; it is kept on record."""


class ReportCall(_Body):
    """Which run."""

    thread_id: str = Field(min_length=1, max_length=200)


class _Given(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class Question(_Given):
    """What a human is asked."""

    id: str
    title: str
    why: str
    risk: str
    until: str = ""
    """When the policy decides instead."""
    about: str = ""
    """Markdown for the person who decides."""
    action: str
    args: dict[str, JsonValue]
    choices: list[Answer]


class Standing(_Given):
    """How a run stands."""

    thread_id: str
    status: RunStatus
    done: int
    tasks: int
    """How many tasks its plan has."""
    at_work: list[str] = []
    """What is being done now, in words."""
    questions: list[Question] = []
    error: str = ""
    """Why it failed, or what was not done."""
    next: str
    """What to do now."""


class Report(_Given):
    """What came of a run; the report itself is the call's text."""

    thread_id: str
    status: RunStatus
    data: JsonValue = None
    """The answer as data, where a schema was given."""
    fields: list[DataField] = []
    """Where each value of the data stands, or why it is null."""
    doubts: list[str] = []
    warnings: list[str] = []
    error: str = ""


Told = Callable[[Run], Awaitable[None]]


@dataclass(frozen=True)
class McpTool:
    """One tool: what it is for, what it takes and gives."""

    about: str
    body: type[_Body]
    gives: type[BaseModel]
    only_looks: bool
    call: Callable[["McpTools", Any, Told], Awaitable[tuple[str, BaseModel]]]


class McpTools:
    """Serves the tools on a facade's runs."""

    def __init__(self, sup: Supervisor, driving: Driving) -> None:
        self._sup = sup
        self._driving = driving
        self._server: Server[object, Any] = Server("baton", version("baton"), ABOUT)
        self._server.list_tools()(_listed)  # type: ignore[no-untyped-call]
        self._server.call_tool()(self._called)
        self._sessions = StreamableHTTPSessionManager(self._server, stateless=True)  # `graph.access` knows the hosts

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """While inside, requests are served."""
        async with self._sessions.run():
            yield

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._sessions.handle_request(scope, receive, send)

    async def _called(self, name: str, given: dict[str, Any]) -> tuple[list[TextContent], dict[str, Any]]:
        if name not in TOOLS:
            raise BadInput(f"there is no tool {name[:80]!r}; there are: {', '.join(TOOLS)}")
        tool = TOOLS[name]
        try:
            body = tool.body.model_validate(given)
        except ValidationError as error:
            raise BadInput(in_one_line(error)) from error
        text, told = await tool.call(self, body, self._progress())
        return [TextContent(type="text", text=text)], told.model_dump(mode="json")

    def _progress(self) -> Told:
        """Tells whoever waits, and wants to know, how many tasks are done."""
        asked = self._server.request_context
        token = asked.meta.progressToken if asked.meta else None
        last = -1

        async def tell(run: Run) -> None:
            nonlocal last
            done = sum(task.status == "done" for task in run.tasks)
            if token is not None and run.tasks and done > last:
                last = done
                said = f"{done} of {len(run.tasks)} tasks done"
                await asked.session.send_progress_notification(
                    token, done, len(run.tasks), said, related_request_id=str(asked.request_id)
                )

        return tell

    async def start(self, body: StartCall, tell: Told) -> tuple[str, Standing]:
        """Start a run, or go on with a thread."""
        asked = StartBody.model_validate(body.model_dump(by_alias=True, exclude={"wait_s"}))
        return await self._stood(await self._driving.start(asked), body.wait_s, tell)

    async def status(self, body: StatusCall, tell: Told) -> tuple[str, Standing]:
        """How it stands."""
        return await self._stood(body.thread_id, body.wait_s, tell)

    async def answer(self, body: AnswerCall, tell: Told) -> tuple[str, Standing]:
        """Answer one question."""
        question = body.question or await self._only_question(body.thread_id)
        said: dict[str, JsonValue] = {"type": body.decision, "args": body.args, "message": body.message}
        given = AnswerBody(answers={question: said}, by=body.by)
        await self._driving.do(VERBS["answer"], body.thread_id, given)
        return await self._stood(body.thread_id, body.wait_s, tell)

    async def report(self, body: ReportCall, _: Told) -> tuple[str, Report]:
        """What came of it."""
        run = await self._sup.view(body.thread_id)
        if not run.has_ended:
            raise BadInput(f"the run on {run.thread_id!r} is {run.status}: {_next(run)}")
        told = Report(
            **run.model_dump(include={"thread_id", "status", "data", "fields", "warnings"}),
            doubts=[one.said for one in run.doubts],
            error=run.error or "",
        )
        return run.report or f"There is no report: {run.error or run.status}", told

    async def _only_question(self, thread_id: str) -> str:
        is_open = [question.id for question in (await self._sup.view(thread_id)).approvals]
        if len(is_open) != 1:
            there = f"open are {', '.join(is_open)}: say which" if is_open else "nothing is asked"
            raise BadInput(f"on {thread_id!r} {there}")
        return is_open[0]

    async def _stood(self, thread_id: str, wait_s: float, tell: Told) -> tuple[str, Standing]:
        """How it stands as soon as somebody is needed, or it has ended, or the time is up."""
        run, now = await self._sup.view(thread_id), asyncio.get_running_loop().time
        until = now() + wait_s
        while run.status in ("running", "queued") and not run.approvals and now() < until:
            await tell(run)
            await asyncio.sleep(LOOK_EVERY_S)
            run = await self._sup.view(thread_id)
        told = Standing(
            thread_id=run.thread_id,
            status=run.status,
            done=sum(task.status == "done" for task in run.tasks),
            tasks=len(run.tasks),
            at_work=[f"{task.agent}: {shortened(task.description)}" for task in run.tasks if task.status == "running"],
            questions=[_question(one) for one in run.approvals],
            error=run.error or "",
            next=_next(run),
        )
        return told.model_dump_json(indent=2), told


def _question(asked: Approval) -> Question:
    return Question(
        title=asked.title,
        why=asked.reason,
        until=at(asked.expires_at) if asked.expires_at else "",
        about=asked.description,
        **asked.model_dump(include={"id", "risk", "action", "args", "choices"}),
    )


def _next(run: Run) -> str:
    if run.approvals:
        return "put the open questions to the person you work for, then call `answer` with what they decide"
    if run.has_ended:
        return "read it with `report`"
    if run.status in ("running", "queued"):
        return f"look again with `status`; `wait_s` may be up to {MOST_WAIT_S:g}"
    return f"a human has to go on with it: `baton {run.hint[0] if run.hint else 'status'} {run.thread_id}`"


TOOLS: Mapping[str, McpTool] = {
    "start": McpTool(
        "Give Baton a request. It plans, works, checks, and writes a report with citations from the sources.",
        StartCall,
        Standing,
        False,
        McpTools.start,
    ),
    "status": McpTool("See how far a run is, and what it asks a human.", StatusCall, Standing, True, McpTools.status),
    "answer": McpTool(
        "Pass on what a human has decided about an open question. Never decide it yourself.",
        AnswerCall,
        Standing,
        False,
        McpTools.answer,
    ),
    "report": McpTool("Read the report of a run that has ended.", ReportCall, Report, True, McpTools.report),
}
"""By name."""


async def _listed() -> list[Tool]:
    return [
        Tool(
            name=name,
            description=tool.about,
            inputSchema=tool.body.model_json_schema(by_alias=True),
            outputSchema=tool.gives.model_json_schema(mode="serialization"),
            annotations=ToolAnnotations(
                readOnlyHint=tool.only_looks, destructiveHint=name == "answer", openWorldHint=False
            ),
        )
        for name, tool in TOOLS.items()
    ]
