"""Answers as data, in whole runs on files: by the offline model, one that plays a script, and ones that misbehave."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from graph.app import build_supervisor
from nodes.llm.offline.model import OfflineModel
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.errors import SchemaInvalid
from state.run import Run
from tests.runs import agent, opened, plan

COMPANY = (
    "# Northwind\n\nFounded: 1998\nCEO: Ada Lind\n**Employees:** 1,240\n\n## Contact\n\n- E-mail: hello@nw.example\n\n"
    "Northwind makes wind measuring devices for harbours.\n\nGuests: up to 90\n"
)
PLANS = "plan,price,seats,city\nBasic,12.5,1,Berlin\nTeam,49,10,Berlin\nEnterprise,199,100,Oslo\n"
ROOMS = (
    "<h1>Rooms</h1><table><tr><th>Room<th>Chairs</tr><tr><td>Attic<td>12 pcs</tr><tr><td>Hall<td>80 pcs</tr></table>"
)
FEES = "# Fees\n\n| Item | Fee |\n| --- | --- |\n| Cleaning | €1,250.50 |\n| Guard | €900 |\n"


class Price(BaseModel):
    plan: str
    price: float
    trial_days: int | None = None


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
MAYBE = {"type": ["number", "null"]}
PRICES = obj(prices={"type": "array", "items": obj(plan=TEXT, price=NUMBER)})


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "company.md").write_text(COMPANY)
    (folder / "plans.csv").write_text(PLANS)
    (folder / "fees.md").write_text(FEES)
    (folder / "rooms.html").write_text(ROOMS)
    return folder


def places(run: Run) -> dict[str, list[str]]:
    return {one.path: [f"{cited.file}#{cited.exact or cited.place}" for cited in one.citations] for one in run.fields}


def reasons(run: Run) -> dict[str, str]:
    return {one.path: one.reason for one in run.fields if one.reason}


BASIC, TEAM = {"plan": "Basic", "price": 12.5}, {"plan": "Team", "price": 49}
OFFLINE: dict[str, tuple[str, Any, Any, dict[str, str]]] = {
    "flat": (
        "Who leads Northwind?",
        obj(founded=WHOLE, ceo=TEXT, employees=WHOLE, revenue=MAYBE),
        {"founded": 1998, "ceo": "Ada Lind", "employees": 1240, "revenue": None},
        {"/founded": "company.md#L3", "/ceo": "company.md#L4", "/employees": "company.md#L5"},
    ),
    "nested": (
        "How can one reach Northwind, and which plan is the cheapest?",
        obj(contact=obj(email=TEXT, fax={"type": ["string", "null"]}), cheapest=obj(plan=TEXT, price=NUMBER)),
        {"contact": {"email": "hello@nw.example", "fax": None}, "cheapest": BASIC},
        {"/contact/email": "company.md#L9", "/cheapest/price": "plans.csv#r1"},
    ),
    "records": (
        "Which plans are there in Berlin?",
        list[Price],
        [{**BASIC, "trial_days": None}, {**TEAM, "trial_days": None}],
        {"/0/price": "plans.csv#r1", "/1/plan": "plans.csv#r2"},
    ),
    "records of a text": (
        "What fees are there?",
        obj(fees={"type": "array", "items": obj(item=TEXT, fee=NUMBER)}),
        {"fees": [{"item": "Cleaning", "fee": 1250.5}, {"item": "Guard", "fee": 900}]},
        {"/fees/0/item": "fees.md#L5", "/fees/1/fee": "fees.md#L6"},
    ),
    "the first records of a page on one line": (
        "Which 2 rooms have the most chairs?",
        obj(rooms={"type": "array", "items": obj(room=TEXT, chairs=WHOLE)}),
        {"rooms": [{"room": "Hall", "chairs": 80}, {"room": "Attic", "chairs": 12}]},
        {"/rooms/0/chairs": "rooms.html#L1"},
    ),
    "a limit that is asked for": (
        "How many guests?",
        obj(max_guests=WHOLE),
        {"max_guests": 90},
        {"/max_guests": "company.md#L13"},
    ),
    "a computed figure": ("What is the average price?", obj(average_price=NUMBER), {"average_price": 86.83}, {}),
    "the first two": (
        "Which 2 plans have the lowest price?",
        PRICES,
        {"prices": [BASIC, TEAM]},
        {"/prices/0/price": "plans.csv#r1"},
    ),
    "a column": (
        "Which cities are there?",
        obj(cities={"type": "array", "items": TEXT}),
        {"cities": ["Berlin", "Oslo"]},
        {"/cities/1": "plans.csv#r3"},
    ),
}


@pytest.mark.parametrize(("query", "answer", "data", "at"), OFFLINE.values(), ids=OFFLINE.keys())
async def test_the_offline_model_fills_what_tables_and_labels_hold(
    query: str, answer: Any, data: Any, at: dict[str, str], docs: Path, tmp_path: Path
) -> None:
    writer = AgentSpec(name="ada", role="generalist", tools=["search", "read", "query"])
    async with opened(writer, model=OfflineModel(), db=tmp_path / "runs.db", oversight="on_the_loop") as sup:
        run = await sup.start(query, [str(docs)], answer=answer)
        again = await sup.view(run.thread_id)

    assert (run.status, run.data) == ("complete", data), run.error
    assert at.items() <= {path: found[0] for path, found in places(run).items() if found}.items()
    assert all(one.citations or one.reason for one in run.fields)
    assert run.report
    assert (again.data, again.fields) == (run.data, run.fields)


async def test_rows_of_tables_of_one_kind_are_taken_together(tmp_path: Path) -> None:
    for city, beds in (("Oslo", 12), ("Bergen", 30)):
        (tmp_path / f"{city}.html").write_text(
            f"<table><tr><th>City<th>Beds</tr><tr><td>{city}<td>{beds}</tr></table><p>Beds in {city}.</p>"
        )
    form_ = obj(cities={"type": "array", "items": obj(city=TEXT, beds=WHOLE)})
    async with opened(model=OfflineModel(), db=tmp_path / "runs.db", oversight="on_the_loop") as sup:
        run = await sup.start("How many beds are in Oslo and in Bergen?", [str(tmp_path)], answer=form_)

    assert run.data in (
        {"cities": [{"city": "Bergen", "beds": 30}, {"city": "Oslo", "beds": 12}]},
        {"cities": [{"city": "Oslo", "beds": 12}, {"city": "Bergen", "beds": 30}]},
    )


UNCLEAR = {
    "two values": ("Who leads it?", obj(ceo=TEXT), "the sources say different things"),
    "a limit": ("Which plans cost less than 50?", PRICES, "cannot tell which of the rows"),
    "a number that is only a limit": ("How many guests?", obj(guests=WHOLE), "does not fit: up to 90"),
    "unknown": ("What is the revenue?", obj(revenue=NUMBER), "no row of a table and no label"),
}


@pytest.mark.parametrize(("query", "answer", "why"), UNCLEAR.values(), ids=UNCLEAR.keys())
async def test_what_rules_cannot_tell_stays_null_and_leaves_the_run_partial(
    query: str, answer: Any, why: str, docs: Path, tmp_path: Path
) -> None:
    (docs / "other.md").write_text("# Southwind\n\nCEO: Bo Ek\n")
    writer = AgentSpec(name="ada", role="generalist", tools=["search", "read", "query"])
    async with opened(writer, model=OfflineModel(), db=tmp_path / "runs.db", oversight="on_the_loop") as sup:
        run = await sup.start(query, [str(docs)], answer=answer)

    assert run.status == "partial"
    assert why in (run.error or "")
    assert isinstance(run.data, dict)
    assert list(run.data.values()) == [None]


def form(data: Any, *basis: tuple[str, str]) -> dict[str, Any]:
    """A model's reply: the data, and a label or a reason for each path."""
    named = [{"path": path, **({"sources": [said]} if "#" in said else {"reason": said})} for path, said in basis]
    return {"data": data, "basis": named}


async def filled(tmp_path: Path, docs: Path, answer: Any, *replies: Any) -> tuple[Run, ScriptedModel]:
    model = ScriptedModel({"You fill in a form": list(replies), '<task id="a"': "It was founded in 1998."})
    async with opened(AgentSpec(name="ada", role="generalist"), model=model, db=tmp_path / "runs.db") as sup:
        run = await sup.start("What of Northwind?", [str(docs)], plan=plan("a"), answer=answer)
    return run, model


ASKED = obj(founded=WHOLE, ceo=TEXT, market=MAYBE)
GOOD = form(
    {"founded": 1998, "ceo": "Ada Lind", "market": None},
    *[("/founded", "company.md#L3"), ("ceo", "[company.md#L3-L5]"), ("/market", "it does not say")],
)


async def test_a_number_that_a_model_takes_from_a_limit_becomes_null(docs: Path, tmp_path: Path) -> None:
    run, model = await filled(
        tmp_path, docs, obj(guests=MAYBE), *[form({"guests": 90}, ("/guests", "company.md#L13"))] * 3
    )

    assert (run.status, run.data) == ("complete", {"guests": None})
    assert "as a limit only" in reasons(run)["/guests"]
    assert any("as a limit only" in call.messages[-1].text for call in model.calls), "it is asked again, and why"


async def test_a_model_fills_a_form_and_names_its_places(docs: Path, tmp_path: Path) -> None:
    run, _ = await filled(tmp_path, docs, ASKED, GOOD)

    assert (run.status, run.data) == ("complete", {"founded": 1998, "ceo": "Ada Lind", "market": None})
    assert places(run) == {"/founded": ["company.md#L3"], "/ceo": ["company.md#L4"], "/market": []}
    assert reasons(run) == {"/market": "it does not say"}


MISBEHAVED = {
    "another type": (form({"founded": "long ago", "ceo": "Ada Lind"}), "data/founded"),
    "no source": (form({"founded": 1998, "ceo": "Ada Lind", "market": None}), "no source was named"),
    "made up": (form({**GOOD["data"], "ceo": "Cy Roe"}, ("", "company.md#L4")), "'Cy Roe' does not stand at"),
    "a wrong figure": (form({**GOOD["data"], "founded": 1997}, ("", "company.md#L3-L4")), "'1997' does not stand"),
    "no such place": (form(GOOD["data"], ("", "secret.md#L1")), "does not stand at [secret.md#L1]"),
    "no data": ({"basis": []}, "data: Field required"),
    "prose": ("I am not sure.", "holds no complete JSON object"),
}


@pytest.mark.parametrize(("bad", "said"), MISBEHAVED.values(), ids=MISBEHAVED.keys())
async def test_wrong_data_is_asked_for_again_with_what_was_wrong(
    bad: Any, said: str, docs: Path, tmp_path: Path
) -> None:
    run, model = await filled(tmp_path, docs, ASKED, bad, GOOD)

    assert said in str(model.calls[-1].messages[-1].content)
    assert (run.status, run.data) == ("complete", GOOD["data"])


async def test_of_a_model_that_stays_wrong_what_is_right_is_kept_and_the_run_is_partial(
    docs: Path, tmp_path: Path
) -> None:
    wrong = form({"founded": 1998, "ceo": "Cy Roe", "market": "big"}, ("", "company.md#L3-L4"))
    run, _ = await filled(tmp_path, docs, ASKED, wrong, wrong, wrong)

    assert (run.status, run.data) == ("partial", {"founded": 1998, "ceo": None, "market": None})
    assert "'Cy Roe' does not stand at" in reasons(run)["/ceo"]
    assert "'big' is not of type" in reasons(run)["/market"]
    assert "the data lacks /ceo" in (run.error or "")
    assert "founded in 1998" in (run.report or "")


@pytest.mark.parametrize(
    "reply", ["No.", {"data": 7, "basis": []}, {"data": [None], "basis": []}, RuntimeError("down")]
)
async def test_a_model_that_gives_no_form_leaves_no_data_and_a_report(reply: Any, docs: Path, tmp_path: Path) -> None:
    run, _ = await filled(tmp_path, docs, ASKED, *[reply] * 9)

    assert (run.status, run.data) == ("partial", None)
    assert run.fields[0].path == ""
    assert run.fields[0].reason
    assert "founded in 1998" in (run.report or "")


async def test_what_a_function_delivered_needs_no_source(docs: Path, tmp_path: Path) -> None:
    async def counts(brief: Any, desk: Any) -> dict[str, Any]:
        return {"result": {"stock": 77}}

    model = ScriptedModel([form({"stock": 77, "price": 49}, ("/price", "plans.csv#r2"))])
    async with opened(agent(counts), model=model, db=tmp_path / "runs.db") as sup:
        run = await sup.start("What is there?", [str(docs)], plan=plan("a"), answer=obj(stock=WHOLE, price=NUMBER))

    assert (run.status, run.data) == ("complete", {"stock": 77, "price": 49})
    assert "no language model delivered it" in reasons(run)["/stock"]


async def test_a_schema_that_cannot_be_asked_for_starts_nothing(tmp_path: Path) -> None:
    async with opened(db=tmp_path / "runs.db") as sup:
        with pytest.raises(SchemaInvalid, match="look at 'a'"):
            await sup.start("Go.", answer=obj(a={"not": {}}))

        assert await sup.runs() == []


async def test_a_follow_up_without_a_schema_has_no_data(docs: Path, tmp_path: Path) -> None:
    model = ScriptedModel({"You fill in a form": GOOD, "task id": "Done."})
    async with opened(AgentSpec(name="ada", role="generalist"), model=model, db=tmp_path / "runs.db") as sup:
        first = await sup.start("What of Northwind?", [str(docs)], plan=plan("a"), answer=ASKED)
        second = await sup.start("And now?", thread_id=first.thread_id, plan=plan("a"))

    assert first.data
    assert (second.data, second.fields) == (None, [])


async def test_a_graph_takes_a_schema_and_gives_data(docs: Path) -> None:
    graph = build_supervisor(policy={"oversight": "on_the_loop"}, model=OfflineModel(), checkpointer=InMemorySaver())
    given: Any = {"query": "Who is the CEO of Northwind?", "sources": [str(docs)], "schema": obj(ceo=TEXT)}

    out = await graph.ainvoke(given, {"configurable": {"thread_id": "1"}})
    again = await graph.ainvoke({"query": "Shorter."}, {"configurable": {"thread_id": "1"}})

    assert out["data"] == {"ceo": "Ada Lind"}
    assert out["fields"][0]["citations"][0]["place"] == "L4"
    assert again["data"] is None
    properties: Sequence[str] = graph.get_input_jsonschema()["properties"]
    assert "schema" in properties


@pytest.mark.parametrize("comes_with", ["a note", "an answer"])
async def test_a_schema_that_comes_while_a_run_is_in_flight_is_not_for_the_next(comes_with: str, docs: Path) -> None:
    graph = build_supervisor(policy={"oversight": "in_command"}, model=OfflineModel(), checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    late: Any = {"schema": obj(ceo=TEXT), "plan": plan("late")}
    asked: Any = {"query": "Who is the CEO of Northwind?", "sources": [str(docs)]}
    out: Any = await graph.ainvoke(asked, thread)
    if comes_with == "a note":
        note: Any = {"query": "Mind the gap.", **late}
        out = await graph.ainvoke(note, thread)
        said = "What came with it was left out, give it with the next request: plan and schema."
        assert out["messages"][-1].text.endswith(said)
    while "__interrupt__" in out:
        answer: Any = Command(resume="yes", update=late if comes_with == "an answer" else None)
        out = await graph.ainvoke(answer, thread)
    follow_up: Any = {"query": "And who founded it?", "policy": {"oversight": "on_the_loop"}}
    again: Any = await graph.ainvoke(follow_up, thread)

    assert (out["phase"], again["phase"]) == ("complete", "complete")
    assert (out.get("data"), again.get("data")) == (None, None)
    assert "late" not in [task["task"]["id"] for task in again["tasks"]]
