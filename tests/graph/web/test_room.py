"""The control room over HTTP: runs, their events, and every verb, in process on real databases."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from graph.runs import Runs
from graph.supervisor import Supervisor
from graph.web.problems import MOST_BYTES
from graph.web.routes import HANDLERS, ROUTES, opened_room
from graph.web.shared import Shared
from graph.web.uploads import MEDIA
from graph.web.verbs import VERBS
from nodes.llm.scripted import ScriptedModel
from nodes.policy.timeline import Timeline
from nodes.runtime.clock import SystemClock
from nodes.runtime.services import Choice
from state.agent import AgentSpec, Brief, Team
from state.run import Run
from tests import postgres
from tests.runs import agent, opened, plan

Client = httpx.AsyncClient


@asynccontextmanager
async def room(*team: AgentSpec, **policy: Any) -> AsyncIterator[tuple[Client, Supervisor]]:
    """A client of the room, and the facade on the same runs."""
    async with opened(*team, clock=SystemClock(), **policy) as sup, client_of(sup._runs) as client:
        yield client, sup


@asynccontextmanager
async def client_of(runs: Runs) -> AsyncIterator[Client]:
    """A client of the room that shows and drives these runs."""
    app = Starlette(routes=ROUTES, exception_handlers=HANDLERS)
    async with opened_room(app, runs, Path("uploads")):
        transport = httpx.ASGITransport(app=app)
        async with Client(transport=transport, base_url="http://127.0.0.1") as client:
            yield client


async def told(client: Client, path: str, code: int = 200) -> Any:
    done = await client.get(f"/api/{path}")
    assert done.status_code == code, done.text
    return done.json()


async def does(client: Client, path: str, code: int = 202, **body: Any) -> Any:
    done = await client.post(f"/api/{path}", json=body)
    assert done.status_code == code, done.text
    return done.json()


async def until(client: Client, thread: str, status: str) -> dict[str, Any]:
    """The run once it stands so; it is driven behind the requests."""
    for _ in range(600):
        view = await told(client, f"runs/{thread}")
        if view["run"]["status"] == status:
            return dict(view)
        await asyncio.sleep(0.01)
    pytest.fail(f"it is {view['run']['status']}, not {status}: {view['run']}")


async def asks(brief: Brief, desk: Any) -> str:
    if brief.task.id == "a":
        answer = await desk.ask("launch", {"name": "one"}, risk="high")
        return f"{answer.type} {(answer.args or {}).get('name', '')}"
    return f"{brief.task.id} is done"


async def test_an_answer_comes_as_data_that_fits_a_schema_over_http() -> None:
    schema = {"type": "object", "properties": {"stock": {"type": "integer"}}, "required": ["stock"]}

    async def counts(brief: Brief, desk: Any) -> str:
        return "There are 77 on stock."

    model = ScriptedModel([{"data": {"stock": 77}, "basis": []}])
    async with room(agent(counts), model=model) as (client, _):
        thread = (await does(client, "runs", query="Q", plan=plan("a"), schema=schema))["thread_id"]
        done = await until(client, thread, "complete")
        refused = await does(client, "runs", 422, query="Q", schema={"$ref": "#"})

    assert done["run"]["data"] == {"stock": 77}
    assert "refers to itself" in str(refused)


async def test_a_run_is_started_answered_with_an_edit_and_read_over_http() -> None:
    async with room(agent(asks)) as (client, _):
        thread = (await does(client, "runs", query="Q", plan=plan("a", "b <- a")))["thread_id"]
        waiting = await until(client, thread, "waiting")
        listed = await told(client, "runs")
        (question,) = waiting["run"]["approvals"]
        answers = {question["id"]: {"type": "edit", "args": {"name": "two"}}}
        await does(client, f"runs/{thread}/answer", answers=answers, by="ana")
        done = await until(client, thread, "complete")
        after = await told(client, "runs")
        again = await does(client, f"runs/{thread}/answer", 422, answers=answers)

    assert [one["thread_id"] for one in listed["needs_you"]] == [thread]
    assert (listed["needs_you"][0]["questions"][0]["action"], listed["ended"]) == ("launch", [])
    assert [one["thread_id"] for one in after["ended"]] == [thread]
    assert after["needs_you"] == after["running"] == []
    assert [task["result"] for task in done["run"]["tasks"]] == ["edit two", "b is done"]
    answered = next(entry for entry in done["audit"]["entries"] if entry["kind"] == "answered")
    assert (answered["by"], answered["door"], done["audit"]["broken"]) == ("ana", "server", "")
    assert again["detail"] == "a.0.q1 was answered before: ana said edit; the first answer stands"
    line = Timeline.model_validate(done["timeline"]).tasks
    assert [part.kind for part in line["a"].segments if part.kind in ("work", "park")] == ["work", "park", "work"]
    assert line["b"].segments[0].kind == "wait"


async def test_a_run_is_paused_taken_over_handed_back_with_a_result_and_a_plan_and_gets_a_recruit() -> None:
    began, free = asyncio.Event(), asyncio.Event()

    async def works(brief: Brief, desk: Any) -> str:
        if brief.task.id == "a":
            began.set()
            while not free.is_set():
                await desk.pause_point()
                await asyncio.sleep(0.01)
        return f"{brief.task.id} is done"

    async with room(agent(works)) as (client, _):
        thread = (await does(client, "runs", query="Q", plan=plan("a", "b <- a")))["thread_id"]
        await began.wait()
        await does(client, f"runs/{thread}/mail", to="ada", text="Look twice.", by="ana")
        await does(client, f"runs/{thread}/pause", reason="wait", by="ana")
        await until(client, thread, "paused")
        await does(client, f"runs/{thread}/takeover", by="ana")
        held = await until(client, thread, "handed_over")
        late = await does(client, f"runs/{thread}/resume", 422, of="paused", by="bea")
        refused = await does(client, f"runs/{thread}/hand-back", 422, results={"nobody": "x"})
        free.set()
        new = plan("a", "b <- a", "c <- b")
        await does(client, f"runs/{thread}/hand-back", results={"a": "By hand."}, plan=new, by="ana")
        done = await until(client, thread, "complete")

    assert late["detail"] == f"thread {thread} is not paused any more, but handed_over; look at it again"
    assert "nobody" in refused["detail"]
    assert held["run"]["hint"] == ["hand-back", "cancel"]
    assert [task["result"] for task in done["run"]["tasks"]] == ["By hand.", "b is done", "c is done"]
    steered = [entry["action"] for entry in done["audit"]["entries"] if entry["kind"] == "steered"]
    assert steered == ["mail", "pause", "takeover", "hand_back"]
    assert "hold" in [part["kind"] for part in done["timeline"]["tasks"]["a"]["segments"]]


async def test_a_run_that_is_cancelled_says_so() -> None:
    async with room(agent(asks)) as (client, sup):
        await sup.start("Q", thread_id="t", plan=plan("a"))
        await does(client, "runs/t/cancel", reason="enough", rollback=True, by="ana")
        done = await until(client, "t", "cancelled")
        refused = await does(client, "runs/t/pause", 422)

    assert done["run"]["hint"] == []
    assert refused["detail"] == "thread t has ended (cancelled); nothing can be changed any more"


@pytest.mark.parametrize(
    ("path", "sent", "code"),
    [
        ("runs/nobody/pause", b"{}", 404),
        ("runs/nobody/start", b"{}", 404),
        ("runs", b"{", 400),
        ("runs", b"[]", 422),
        ("runs", b'{"query": NaN}', 400),
        ("runs", b"[" * 100_000, 400),
        ("runs", b'{"query": ""}', 422),
        ("runs", b'{"query": "Q", "door": "x"}', 422),
        ("runs", b'{"query": "Q", "plan": {"tasks": []}}', 422),
        ("runs", b'{"query": "Q", "sources": ["nowhere.md"]}', 422),
        ("runs", b" " * (MOST_BYTES + 1), 413),
    ],
    ids=range(11),
)
async def test_what_cannot_be_used_is_a_problem_in_one_line_and_starts_nothing(
    path: str, sent: bytes, code: int
) -> None:
    async with room() as (client, sup):
        done = await client.post(f"/api/{path}", content=sent, headers={"Content-Type": "application/json"})
        left = await sup.runs()

    assert (done.status_code, left) == (code, [])
    assert done.headers["content-type"] == "application/problem+json"
    assert done.json()["status"] == code
    assert "\n" not in done.json()["detail"]


async def test_what_a_form_of_another_page_can_send_is_refused() -> None:
    async with room() as (client, sup):
        codes = [
            (await client.post("/api/runs", content=b'{"query": "Q"}', headers={"Content-Type": kind})).status_code
            for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "")
        ]
        left = await sup.runs()

    assert (codes, left) == ([415] * 4, [])


async def test_a_file_that_is_dropped_is_kept_as_a_source_and_nothing_else_is(tmp_path: Path) -> None:
    async def sends(client: Client, name: str, body: bytes = b"It grew.", kind: str = MEDIA) -> httpx.Response:
        return await client.post("/api/uploads", params={"name": name}, content=body, headers={"Content-Type": kind})

    async with room() as (client, sup):
        path = (await sends(client, "../../ma rket.md")).json()["path"]
        await sup.start("Q", sources=[path], thread_id="t", plan=plan("a"))
        there = await told(client, "runs/t/source?file=ma_rket.md&place=L1")
        with_limit = replace(sup.services, max_source_bytes=10)
        async with client_of(Runs(with_limit, sup._runs.database, sup._runs.leases)) as narrow:
            codes = [
                (await sends(narrow, "a.md", b"It grew, and grew.")).status_code,
                (await sends(client, "a.md", kind="text/plain")).status_code,
                (await sends(client, "run.exe")).status_code,
                (await sends(client, "a.xlsx", b"no book")).status_code,
            ]
        offered = await told(client, "offers")

    assert Path(path).relative_to(tmp_path / "uploads").name == "ma_rket.md"
    assert there["units"][0]["text"] == "It grew."
    assert codes == [413, 415, 422, 422]
    assert [file.name for file in (tmp_path / "uploads").rglob("*.*")] == ["ma_rket.md"], "what is refused is not kept"
    assert offered["file_bytes"] == sup.services.max_source_bytes


async def test_a_run_is_done_by_the_team_that_is_chosen_and_keeps_it() -> None:
    async with opened(agent(asks), clock=SystemClock()) as base:
        night = Team((agent(asks, name="bo"),))
        offering = replace(base.services, offers={Choice(team="night"): replace(base.services, team=night)})
        async with client_of(Runs(offering, base._runs.database, base._runs.leases)) as client:
            offered = await told(client, "offers")
            thread = (await does(client, "runs", query="Q", plan=plan("a"), team="night"))["thread_id"]
            (question,) = (await until(client, thread, "waiting"))["run"]["approvals"]
            await does(client, f"runs/{thread}/answer", answers={question["id"]: {"type": "approve"}})
            done = await until(client, thread, "complete")
            refused = await does(client, "runs", 422, query="Q", team="day")

    assert offered["teams"] == [{"name": "", "agents": ["ada"]}, {"name": "night", "agents": ["bo"]}]
    assert [task["agent"] for task in done["run"]["tasks"]] == ["bo"]
    assert refused["detail"] == "there is no team 'day' here; there is night (BATON_TEAMS)"


@pytest.mark.of_files
async def test_a_run_waits_for_a_worker_only_where_the_database_has_a_queue() -> None:
    async with room() as (client, sup):
        offered = await told(client, "offers")
        refused = await does(client, "runs", 422, query="Q", queue=True)
        left = await sup.runs()

    assert (offered["queue"], left) == (False, [])
    assert refused["detail"].startswith("runs are queued on PostgreSQL")


@pytest.mark.services
async def test_a_queued_run_is_shown_followed_and_withdrawn(on_postgres: str) -> None:
    async with room(agent(), db=on_postgres) as (client, _):
        offered = await told(client, "offers")
        body: dict[str, Any] = {"query": "Q", "queue": True, "priority": 5, "model": "offline"}
        thread = (await does(client, "runs", plan=plan("a"), **body))["thread_id"]
        refused = await does(client, "runs", 422, team="night", **body)
        listed = await told(client, "runs")
        view = await told(client, f"runs/{thread}")
        await does(client, f"runs/{thread}/cancel", by="ana")
        after = await told(client, "runs")

    assert offered["queue"]
    assert [(one["thread_id"], one["status"]) for one in listed["running"]] == [(thread, "queued")]
    assert (view["run"]["status"], view["events"], view["run"]["hint"]) == ("queued", [], ["cancel"])
    assert refused["detail"] == "a queued run is done by the team of its worker; leave `team` out"
    assert after["running"] == []


async def test_what_many_ask_for_at_once_is_made_for_all_of_them_after_they_asked() -> None:
    shared, made = Shared[str, int](), list[int]()
    begun, go = asyncio.Event(), asyncio.Event()

    async def make() -> int:
        made.append(len(made))
        begun.set()
        await go.wait()
        return made[-1]

    first = asyncio.create_task(shared.get("x", make))
    await begun.wait()
    later = [asyncio.create_task(shared.get("x", make)) for _ in range(5)]
    await asyncio.sleep(0)
    go.set()
    assert (await first, await asyncio.gather(*later)) == (0, [1] * 5)
    await shared.close()


async def test_runs_that_have_ended_come_by_page() -> None:
    async with room() as (client, sup):
        for name in "abc":
            await sup.start("Q", thread_id=name, plan=plan("a"))
        first = await told(client, "runs?limit=2")
        rest = await told(client, f"runs?limit=2&offset={first['next']}")
        wrong = await told(client, "runs?limit=-1", 422)

    pages = [[one["thread_id"] for one in page["ended"]] for page in (first, rest)]
    assert ([len(page) for page in pages], sorted([*pages[0], *pages[1]])) == ([2, 1], ["a", "b", "c"])
    assert (rest["next"], wrong["status"]) == (None, 422)


async def test_a_citation_opens_its_source_at_its_line_and_says_so_where_it_is_gone(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs" / "market.md"
    file.write_text("".join(f"Line {n}.\n" for n in range(1, 61)), "utf-8")
    (tmp_path / "secret.md").write_text("Not for you.\n", "utf-8")
    async with room() as (client, sup):
        await sup.start("Q", sources=[str(tmp_path / "docs")], thread_id="t", plan=plan("a"))
        await sup.start("Q", thread_id="bare", plan=plan("a"))
        there = await told(client, "runs/t/source?file=market.md&place=L30-L31")
        refused = [
            (await told(client, f"runs/{path}", 404))["detail"]
            for path in (
                "t/source?file=../secret.md&place=L1",
                "t/source?file=market.md&place=L900",
                "t/source?file=market.md&place=nowhere",
                "bare/source?file=market.md&place=L1",
            )
        ]
        file.unlink()
        gone = await told(client, "runs/t/source?file=market.md&place=L30", 404)

    assert (there["unit"], there["first"], there["last"]) == ("line", 30, 31)
    assert [(one["n"], one["text"]) for one in there["units"]] == [(n, f"Line {n}.") for n in range(18, 44)]
    assert all("cannot be shown" in one for one in (*refused, gone["detail"]))


async def test_a_view_has_the_mail_that_was_read_and_what_a_rollback_would_undo_and_only_later_events() -> None:
    async def acts(brief: Brief, desk: Any) -> str:
        await desk.once("deliver", lambda to: "sent", {"to": "all"}, undo="unsend")
        await desk.once("announce", lambda to: "told", {"to": "press"})
        desk.mail("bob", "It is out.")
        desk.inbox()
        return str((await desk.ask("launch")).type)

    async with room(agent(acts), agent(name="bob", role="helper"), token_budget=5000) as (client, sup):
        await sup.start("Q", thread_id="t", plan=plan("a"))
        await does(client, "runs/t/mail", to="ada", text="Wait.", by="ana")
        view = await told(client, "runs/t")
        later = await told(client, f"runs/t?after={view['events'][-2]['seq']}")

    assert [(one["tool"], one["undo"]) for one in view["effects"]] == [("announce", ""), ("deliver", "unsend")]
    assert {(one["agent"], one["text"], one["read"]) for one in view["mail"]} >= {("bob", "It is out.", False)}
    assert (view["policy"]["token_budget"], view["policy"]["oversight"]) == (5000, "in_the_loop")
    assert (later["events"], later["timeline"]) == (view["events"][-1:], None)


async def test_a_run_that_another_process_drives_is_shown_and_steered() -> None:
    began = asyncio.Event()

    async def works(brief: Brief, desk: Any) -> str:
        began.set()
        while True:
            await desk.pause_point()
            await asyncio.sleep(0.01)

    async with opened(agent(works), clock=SystemClock()) as other, room(agent(works)) as (client, _):
        driving = asyncio.create_task(other.start("Q", thread_id="t", plan=plan("a")))
        await began.wait()
        seen = await until(client, "t", "running")
        await does(client, "runs/t/pause", by="ana")
        await until(client, "t", "paused")
        await driving
        await does(client, "runs/t/cancel", by="ana")
        ended = await until(client, "t", "cancelled")

    assert seen["run"]["hint"] == ["pause", "takeover", "cancel"]
    assert [one["action"] for one in ended["audit"]["entries"]] == ["pause", "cancel"]


@pytest.fixture
def _version_before(root: Path) -> None:
    Path("runs.db").write_bytes(gzip.decompress((root / "tests" / "fixtures" / "version_0_1.db.gz").read_bytes()))
    postgres.bring(Path("runs.db"))


@pytest.mark.usefixtures("_version_before")
async def test_every_run_of_the_version_before_is_listed_and_shown() -> None:
    async with room() as (client, _):
        listed = await told(client, "runs")
        shown = [
            await told(client, f"runs/{one['thread_id']}")
            for kind in ("needs_you", "running", "ended")
            for one in listed[kind]
        ]

    assert len(shown) >= 11
    assert all(view["timeline"]["seq"] == view["events"][-1]["seq"] for view in shown if view["events"])


async def test_events_go_on_after_the_last_one_that_the_client_has() -> None:
    async def lines(path: str, wanted: int, **headers: str) -> list[dict[str, Any]]:
        """The first events of a stream; the client then leaves."""
        found: list[dict[str, Any]] = []
        sent: list[bytes] = []
        enough = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if not sent:
                sent.append(b"")
                return {"type": "http.request", "body": b"", "more_body": False}
            await enough.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent_lines = message.get("body", b"").decode().splitlines()
            found.extend(json.loads(line.removeprefix("data: ")) for line in sent_lines if line.startswith("data: "))
            if len(found) >= wanted:
                enough.set()

        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        path, _, query = path.partition("?")
        scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": raw}
        await app(scope, receive, send)
        return found

    async with opened() as sup:
        run: Run = await sup.start("Q", thread_id="t", plan=plan("a"))
        app = Starlette(routes=ROUTES, exception_handlers=HANDLERS)
        async with opened_room(app, sup._runs):
            everything = [event.seq for event in await sup.events("t")]
            whole = await lines("/api/runs/t/events", len(everything))
            rest = await lines("/api/runs/t/events?after=1", len(everything) - 3, last_event_id="3")

    assert run.status == "complete"
    assert [event["seq"] for event in whole] == everything
    assert [event["seq"] for event in rest] == everything[3:]


async def test_the_document_names_every_route_and_the_page_comes_with_a_strict_policy() -> None:
    async with room() as (client, _):
        document = await told(client, "openapi.json")
        page = await client.get("/")

    served = {
        (path, method.lower())
        for route in ROUTES
        if (path := route.path).startswith("/api/") and path != "/api/openapi.json"
        for method in (route.methods or ())
    }
    named = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert named == {one for one in served if one[1] != "head"}
    assert {f"/api/runs/{{thread}}/{verb}" for verb in VERBS} <= document["paths"].keys()
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "<script>" not in page.text
    assert "style=" not in page.text
