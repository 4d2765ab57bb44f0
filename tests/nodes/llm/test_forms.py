"""How data of a given shape is asked for: what goes over the wire, and what is tried when a server refuses it."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from nodes.llm.bounds import bounded
from nodes.llm.scripted import ScriptedModel
from nodes.llm.structured import ask_for
from state.errors import ModelRejected, ModelUnavailable, StillAnswering
from state.record import Usage
from state.replies import PlanDraft
from tests.nodes.llm.builders import model_at
from tests.servers.openai_stub import Behaviour, Failure, OpenAIStub, Raw, Request, Say

QUESTION = [HumanMessage("Plan it.")]
PLAN = {"tasks": [{"id": "t1", "description": "Look"}]}
PLAN_TEXT = json.dumps(PLAN)


def ids(draft: PlanDraft) -> list[str]:
    return [task.id for task in draft.tasks]


async def test_openai_models_are_asked_by_json_schema_that_is_not_strict() -> None:
    with OpenAIStub(PLAN_TEXT) as server:
        draft, usage = await ask_for(model_at(server.url), PlanDraft, QUESTION)

    sent = server.requests[0].body
    assert sent["response_format"]["type"] == "json_schema"
    assert sent["response_format"]["json_schema"]["name"] == "PlanDraft"
    assert sent["response_format"]["json_schema"]["strict"] is False
    assert "tools" not in sent
    assert (ids(draft), usage) == (["t1"], Usage(input_tokens=11, output_tokens=7, calls=1))


async def test_every_field_is_required_on_the_wire_so_that_weak_models_leave_none_out() -> None:
    with OpenAIStub(PLAN_TEXT) as server:
        await ask_for(model_at(server.url), PlanDraft, QUESTION)

    schema = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert set(schema["required"]) == set(PlanDraft.model_fields)
    assert "depends_on" in schema["$defs"]["TaskDraft"]["required"]


async def test_a_server_that_refuses_json_schema_is_asked_by_a_tool_call() -> None:
    def reply(request: Request) -> Behaviour:
        name = request.body["tool_choice"]["function"]["name"]
        return Say(calls=[(name, PLAN)])

    with OpenAIStub(reply, refuses=["response_format"]) as server:
        draft, _ = await ask_for(model_at(server.url), PlanDraft, QUESTION)

    assert ids(draft) == ["t1"]
    assert ["response_format" in request.body for request in server.requests] == [True, False]


async def test_arguments_of_a_call_that_are_not_quite_json_are_read_all_the_same() -> None:
    call = Say(calls=[("PlanDraft", "{'tasks': [{'id': 't1',}]}")])

    with OpenAIStub(call, refuses=["response_format"]) as server:
        draft, _ = await ask_for(model_at(server.url), PlanDraft, QUESTION, reasks=0)

    assert ids(draft) == ["t1"]


async def test_a_server_that_refuses_tools_as_well_is_asked_in_words() -> None:
    with OpenAIStub(f"Sure!\n```json\n{PLAN_TEXT}\n```", refuses=["response_format", "tools"]) as server:
        draft, _ = await ask_for(model_at(server.url), PlanDraft, QUESTION)

    assert ids(draft) == ["t1"]
    assert len(server.requests) == 3
    assert '"TaskDraft"' in server.requests[2].body["messages"][-1]["content"]


async def test_a_500_about_tools_means_that_tools_are_not_supported() -> None:
    def reply(request: Request) -> Behaviour:
        return Failure(500, "tools param requires --jinja flag") if "tools" in request.body else PLAN_TEXT

    with OpenAIStub(reply, refuses=["response_format"]) as server:
        draft, _ = await ask_for(model_at(server.url), PlanDraft, QUESTION)

    assert ids(draft) == ["t1"]


async def test_asking_again_keeps_to_the_form_that_worked() -> None:
    replies = {2: "no plan", 3: PLAN_TEXT}

    def reply(_: Request) -> Behaviour:
        return replies[len(server.requests) - 1]

    with OpenAIStub(reply, refuses=["response_format"]) as server:
        replies = {1: "no plan", 2: PLAN_TEXT}
        draft, _ = await ask_for(model_at(server.url), PlanDraft, QUESTION)

    assert ids(draft) == ["t1"]
    assert ["response_format" in request.body for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("behaviour", "kind", "requests"),
    [
        (Failure(401), ModelRejected, 1),
        (Failure(404), ModelRejected, 1),
        (Failure(503), ModelUnavailable, 1),
        (Failure(500), ModelUnavailable, 1),
        (Failure(400, "too many", "context_length_exceeded"), ModelRejected, 1),
        (Raw(b"garbage"), ModelUnavailable, 2),
        (Failure(400, "no such thing"), ModelRejected, 3),
    ],
    ids=str,
)
async def test_failures_of_the_server_are_not_taken_for_bad_replies(
    behaviour: Behaviour, kind: type[Exception], requests: int
) -> None:
    with OpenAIStub(behaviour) as server, pytest.raises(kind):
        await ask_for(model_at(server.url), PlanDraft, QUESTION)

    assert len(server.requests) == requests


async def test_a_reply_that_hit_the_token_limit_is_asked_for_again_more_briefly_and_counted() -> None:
    with OpenAIStub([Say(PLAN_TEXT[:20], finish="length"), Say(PLAN_TEXT)]) as server:
        draft, usage = await ask_for(model_at(server.url), PlanDraft, QUESTION)

    assert ids(draft) == ["t1"]
    assert usage == Usage(input_tokens=22, output_tokens=14, calls=2)
    assert "more briefly" in server.requests[1].body["messages"][-1]["content"]


async def test_raw_json_stays_out_of_the_stream_of_messages() -> None:
    async def plan(state: MessagesState) -> dict[str, Any]:
        draft, _ = await ask_for(model_at(server.url), PlanDraft, state["messages"])
        return {"messages": [AIMessage(f"{len(draft.tasks)} task")]}

    builder = StateGraph(MessagesState).add_node("plan", plan).add_edge(START, "plan").add_edge("plan", END)
    with OpenAIStub(PLAN_TEXT) as server:
        graph: Any = builder.compile()
        said = [part[0].text async for part in graph.astream({"messages": QUESTION}, stream_mode="messages")]

    assert said == ["1 task"]
    assert server.requests[0].body["stream"] is True


async def test_other_models_are_asked_by_a_tool_named_like_the_schema() -> None:
    model = ScriptedModel([PlanDraft.model_validate(PLAN)])

    draft, usage = await ask_for(model, PlanDraft, QUESTION)

    assert ids(draft) == ["t1"]
    assert model.calls[0].tools == ["PlanDraft"]
    assert usage.calls == 1


@pytest.mark.parametrize(
    "text",
    [
        PLAN_TEXT,
        f"<think>{{hm}}</think> Here it is: {PLAN_TEXT}",
        f'{{"verdict": "fine"}} {PLAN_TEXT}',
        json.dumps({"PlanDraft": PLAN}),
        json.dumps({"name": "PlanDraft", "arguments": PLAN}),
        json.dumps({"name": "PlanDraft", "arguments": PLAN_TEXT}),
        str(PLAN),
    ],
)
async def test_json_in_the_text_will_do(text: str) -> None:
    draft, _ = await ask_for(ScriptedModel([text]), PlanDraft, QUESTION)

    assert ids(draft) == ["t1"]


async def test_a_model_that_cannot_bind_tools_is_asked_in_words() -> None:
    class Toolless(ScriptedModel):
        def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    model = Toolless(script=[PLAN_TEXT])
    draft, _ = await ask_for(model, PlanDraft, QUESTION)

    assert ids(draft) == ["t1"]
    assert "JSON schema" in model.calls[0].messages[-1].text


def longest_lists(server: OpenAIStub) -> list[int]:
    """How long a list may be, in the shape of each request."""
    schemas = [request.body["response_format"]["json_schema"]["schema"] for request in server.requests]
    return [schema["properties"]["tasks"]["maxItems"] for schema in schemas]


async def test_after_a_reply_that_was_cut_off_the_shape_is_smaller_and_the_reply_is_not_sent_back_whole() -> None:
    long = Say(f'{{"tasks": [{"9" * 5000}', finish="length")
    with OpenAIStub([long, long, PLAN_TEXT]) as server:
        draft, _ = await ask_for(model_at(server.url), PlanDraft, QUESTION)

    assert (ids(draft), longest_lists(server)) == (["t1"], [20, 5, 1])
    assert len(str(server.requests[2].body["messages"])) < 3_000


async def test_the_first_shape_fits_the_cap_of_the_reply() -> None:
    with OpenAIStub(PLAN_TEXT) as server, bounded(cap=500):
        await ask_for(model_at(server.url), PlanDraft, QUESTION)

    assert longest_lists(server) == [5]


@pytest.mark.parametrize(("second", "is_had"), [(PLAN_TEXT, True), (Say("word " * 9_999, every_s=0.05), False)])
async def test_a_reply_that_goes_on_for_too_long_is_asked_for_once_more_as_short_as_can_be(
    second: Behaviour, is_had: bool
) -> None:
    with OpenAIStub([Say("word " * 9_999, every_s=0.05), second]) as server, bounded(seconds=0.5):
        asked = ask_for(model_at(server.url), PlanDraft, QUESTION)
        if is_had:
            assert ids((await asked)[0]) == ["t1"]
        else:
            with pytest.raises(StillAnswering):
                await asked

    assert longest_lists(server) == [20, 1]
