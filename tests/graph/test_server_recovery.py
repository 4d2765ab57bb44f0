"""A server looks after its runs: it goes on with its own, and decides for all of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from langgraph.types import Command
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError

from graph import app
from graph.address import address_of
from graph.database import open_database
from graph.lease import STEP_S, Leases
from graph.runs import SERVER_LEASE
from graph.server import AGAIN_S, ServerRecovery, recovering
from graph.settings import read_settings
from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.policy.answers import LOOK_AT_SIGNALS
from nodes.runtime.clock import Clock, SystemClock
from state.agent import Brief
from state.errors import AgentsMissing, SettingsInvalid, ThreadBusy
from state.signal import Pause
from tests.runs import agent, opened, plan
from tests.served import THREAD, Two, config, two

HALF_AN_HOUR = 1800.0


@dataclass
class Threads:
    """The server's own record of threads: their status, by id."""

    both: Two
    status: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    async def get(self, thread_id: str) -> dict[str, Any]:
        self.asked += 1
        if thread_id not in self.status:
            raise NotFoundError("no such thread", response=answered(404), body=None)
        found = await self.both.graph.aget_state(config(thread_id))
        asked = {task.id: [{"value": one.value} for one in task.interrupts] for task in found.tasks if task.interrupts}
        return {
            "thread_id": thread_id,
            "status": self.status[thread_id],
            "interrupts": asked,
            "values": found.values,
        }

    async def search(self, status: str, limit: int) -> list[dict[str, Any]]:
        return [{"thread_id": one} for one, now in self.status.items() if now == status][:limit]

    async def update_state(self, thread_id: str, values: None) -> None:
        self.status[thread_id] = "idle"

    async def create(self, thread_id: str, if_exists: str, graph_id: str) -> None:
        assert (if_exists, graph_id) == ("do_nothing", "supervisor")
        self.status.setdefault(thread_id, "idle")


@dataclass
class RunsThere:
    """The server's runs: each drives the served graph."""

    both: Two
    threads: Threads
    commands: list[Any] = field(default_factory=list)
    last: list[dict[str, Any]] = field(default_factory=list)
    is_late: bool = False
    """Somebody else's run begins before ours."""
    is_empty: bool = False
    """What is begun does nothing at all."""

    async def list(self, thread_id: str, limit: int) -> list[dict[str, Any]]:
        return self.last[:limit]

    async def create(self, thread_id: str, graph: str, *, command: Any, multitask_strategy: str, **_: Any) -> None:
        assert (thread_id in self.threads.status, graph, multitask_strategy) == (True, "supervisor", "reject")
        if self.is_late:
            raise ConflictError("busy", response=answered(409), body=None)
        self.commands.append(command)
        if self.is_empty:
            return
        given: Any = Command(resume=command["resume"]) if command else None
        await self.both.graph.ainvoke(given, config(thread_id))


@dataclass
class FakeServer:
    """The part of LangGraph's server that the upkeep sees."""

    threads: Threads
    runs: RunsThere
    both: Two

    @property
    def upkeep(self) -> ServerRecovery:
        return ServerRecovery(self.both.other._runs, cast(LangGraphClient, self))

    async def look(self, upkeep: ServerRecovery | None = None) -> list[Any]:
        """What the server was told to run, after one look."""
        upkeep = upkeep or self.upkeep
        async with self.both.other._runs.leases.hold(SERVER_LEASE):
            for thread_id in await upkeep.due():
                await upkeep.take_up(thread_id)
        return self.runs.commands


def answered(code: int) -> httpx.Response:
    return httpx.Response(code, request=httpx.Request("GET", "http://api"))


@asynccontextmanager
async def serving(work: Any, **policy: Any) -> AsyncIterator[FakeServer]:
    async with two(agent(work), **policy) as both:
        threads = Threads(both)
        yield FakeServer(threads, RunsThere(both, threads), both)


async def asks(brief: Brief, desk: Any) -> str:
    return str((await desk.ask("launch", risk="medium")).type)


async def waits_on_the_server(server: FakeServer) -> None:
    """A run of the server that asks, and whose deadline has passed."""
    await server.both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config())
    server.threads.status[THREAD] = "interrupted"
    server.both.clock.time += HALF_AN_HOUR


async def answers(sup: Supervisor) -> list[tuple[str, str]]:
    entries, broken = await sup.audit(THREAD)
    assert broken == ""
    return [(entry.decision, entry.by) for entry in entries if entry.kind == "answered"]


@pytest.mark.parametrize("last", ["success", "error", "interrupted"])
async def test_a_run_of_the_server_whose_question_expired_goes_on_as_a_run_of_the_server(last: str) -> None:
    async with serving(asks) as server:
        await waits_on_the_server(server)
        server.runs.last = [{"status": last}]
        told = await server.look()
        run = await server.both.other.view(THREAD)
        made = await answers(server.both.other)

    assert (told, run.status, run.tasks[0].result) == ([{"resume": LOOK_AT_SIGNALS}], "complete", "reject")
    assert made == [("reject", "policy")]


@pytest.mark.parametrize("thread", ["by-hand", THREAD])
async def test_of_what_was_started_elsewhere_only_the_deadline_is_applied(thread: str) -> None:
    async with serving(asks) as server:
        sup, clock = server.both.other, server.both.clock
        await sup.start("Q", thread_id=thread, plan=plan("a"))
        clock.time += HALF_AN_HOUR
        told = await server.look()
        run = await sup.view(thread)
        entries, _ = await sup.audit(thread)

    assert (told, run.status, run.waits_for, run.can_go_on) == ([], "paused", "resume", True)
    assert [entry.kind for entry in entries] == ["requested", "answered"]
    assert server.threads.asked == (thread == THREAD)


class Once:
    """An agent that is cut off at its first try."""

    def __init__(self) -> None:
        self.began, self.tries = asyncio.Event(), 0

    async def __call__(self, brief: Brief, desk: Any) -> str:
        self.tries += 1
        self.began.set()
        if self.tries == 1:
            await asyncio.Event().wait()
        return "So."


async def dies_at_work(server: FakeServer, work: Once, thread_id: str = THREAD) -> None:
    """A run of the server that is cut off in the middle of a task."""
    running = asyncio.create_task(server.both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config(thread_id)))
    await work.began.wait()
    running.cancel()
    await asyncio.wait({running})
    server.both.clock.time += STEP_S + 1


@pytest.mark.parametrize("status", [None, "idle", "interrupted"])
async def test_a_run_of_a_server_that_was_killed_goes_on_whatever_the_server_still_knows(status: str | None) -> None:
    async with serving(work := Once()) as server:
        await dies_at_work(server, work)
        if status:
            server.threads.status[THREAD] = status
        told = await server.look()
        run = await server.both.other.view(THREAD)

    assert (told, run.status, work.tries) == ([None], "complete", 2)
    assert THREAD in server.threads.status


async def test_a_run_whose_agents_the_server_no_longer_has_is_left_alone() -> None:
    async with serving(work := Once()) as server, opened(agent(name="zoe"), clock=server.both.clock) as stranger:
        await dies_at_work(server, work)
        with pytest.raises(AgentsMissing, match="ada"):
            await server.look(ServerRecovery(stranger._runs, cast(LangGraphClient, server)))

    assert (server.runs.commands, work.tries) == ([], 1)


async def test_what_somebody_stopped_through_the_server_stays_stopped() -> None:
    async with serving(work := Once()) as server:
        await dies_at_work(server, work)
        server.threads.status[THREAD] = "interrupted"
        server.runs.last = [{"status": "interrupted"}, {"status": "success"}]

        assert await server.look() == []


async def test_a_thread_at_which_the_server_is_at_work_is_left_alone() -> None:
    async with serving(asks) as server:
        await waits_on_the_server(server)
        server.threads.status[THREAD] = "busy"
        assert await server.look() == []
        server.threads.status[THREAD], server.runs.is_late = "interrupted", True
        assert await server.look() == []


async def test_what_somebody_else_took_up_since_the_look_is_left_alone() -> None:
    async with serving(asks) as server:
        await waits_on_the_server(server)
        due = await server.upkeep.due()
        await server.both.other.resume(THREAD)
        await server.upkeep.take_up(THREAD)

    assert (due, server.runs.commands) == ([THREAD], [])


async def test_what_a_human_paused_is_left_to_the_human() -> None:
    async with serving(asks) as server:
        await server.both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config())
        await server.both.other.signal(THREAD, Pause())
        server.threads.status[THREAD] = "interrupted"
        server.both.clock.time += HALF_AN_HOUR
        told = await server.look()
        run = await server.both.other.view(THREAD)

    assert (told, run.status, run.approvals) == ([], "paused", [])


async def test_what_could_not_be_gone_on_with_is_tried_again_after_a_while() -> None:
    async with serving(asks) as server:
        await waits_on_the_server(server)
        server.threads.status[THREAD] = "busy"
        upkeep = server.upkeep
        await server.look(upkeep)
        server.threads.status[THREAD] = "error"
        soon = list(await server.look(upkeep))
        server.both.clock.time += AGAIN_S
        later = await server.look(upkeep)

    assert (soon, later) == ([], [{"resume": LOOK_AT_SIGNALS}])


async def test_what_going_on_does_not_change_is_left_alone_until_somebody_changes_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(asks) as server:
        await waits_on_the_server(server)
        server.runs.is_empty, upkeep = True, server.upkeep
        for _ in range(5):
            await server.look(upkeep)
            server.both.clock.time += AGAIN_S
        tried, said = len(server.runs.commands), [record.getMessage() for record in caplog.records]
        await server.both.graph.aupdate_state(config(), {"notes": ["Be brief."]})
        server.runs.is_empty = False
        await server.look(upkeep)
        run = await server.both.other.view(THREAD)

    assert (tried, len(server.runs.commands), run.status) == (1, 2, "complete")
    assert [text for text in said if "going on has changed nothing" in text] == [
        f"{THREAD}: going on has changed nothing; it is left alone until somebody changes it"
    ]


@pytest.mark.of_files  # PostgreSQL's own clock says how long ago the last step was, and no other
async def test_a_run_of_the_server_whose_question_a_page_marked_as_resolved_goes_on_without_it() -> None:
    async with serving(asks) as server:
        await server.both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config())
        server.threads.status[THREAD] = "idle"
        await server.both.graph.aupdate_state(config(), None, as_node="__end__")
        server.both.clock.time += STEP_S + 1
        told = await server.look()
        run = await server.both.other.view(THREAD)
        made = await answers(server.both.other)

    assert (told, run.status, run.tasks[0].result) == ([None], "complete", "reject")
    assert made == [("reject", "human")]
    assert run.warnings[0].startswith("Marked as resolved while this was asked: Launch? That")


async def test_while_a_server_looks_after_its_runs_nobody_else_takes_them_up() -> None:
    async with serving(asks) as server:
        await waits_on_the_server(server)
        sup = server.both.other
        await sup.start("Q", thread_id="by-hand", plan=plan("a"))
        server.both.clock.time += HALF_AN_HOUR
        async with sup._runs.leases.hold(SERVER_LEASE):
            besides = (await sup.due(), sorted(await sup.due(by_server=True)))
        alone = sorted(await sup.due())

    assert besides == (["by-hand"], sorted(["by-hand", THREAD]))
    assert alone == sorted(["by-hand", THREAD])


async def test_of_two_servers_on_one_file_one_looks_and_the_other_when_it_is_gone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(asks) as server:
        leases, clock = server.both.other._runs.leases, server.both.clock
        looks: list[str] = []
        first, second = (asyncio.create_task(noted(server.upkeep, n, looks).keep(2.0)) for n in ("one", "other"))
        await slept(clock, 6)
        before = set(looks)
        first.cancel()
        await asyncio.wait({first})
        looks.clear()
        await slept(clock, 6)
        after = set(looks)
        second.cancel()
        await asyncio.wait({second})

        assert (before, after, set(clock.slept)) == ({"one"}, {"other"}, {2.0})
        assert await leases.holder(SERVER_LEASE) is None
    assert [record for record in caplog.records if record.name == "baton"] == []


def noted(upkeep: ServerRecovery, name: str, looks: list[str]) -> ServerRecovery:
    """The upkeep, whose looks are noted under a name."""
    due = upkeep.due

    async def noting() -> list[str]:
        looks.append(name)
        return await due()

    upkeep.due = noting  # type: ignore[method-assign]
    return upkeep


async def slept(clock: HeldClock, times: int) -> None:
    """Wait until somebody has slept so many times more."""
    until = len(clock.slept) + times
    while len(clock.slept) < until:  # noqa: ASYNC110 # what is awaited is a clock
        await asyncio.sleep(0.001)


@pytest.fixture
def fresh_services() -> Any:
    app.served.cache_clear()
    yield
    app.served.cache_clear()


async def is_looked_after(clock: Clock) -> bool:
    """Whether a server looks after the runs of the file."""
    async with open_database(address_of("baton.db")) as database:
        while await holds(database.leases(clock)):
            pass
        return True


async def holds(leases: Leases) -> bool:
    try:
        async with leases.hold(SERVER_LEASE, patience_s=0):
            return True
    except ThreadBusy:
        return False


@pytest.mark.usefixtures("fresh_services")
async def test_a_server_looks_every_two_seconds_unless_told_otherwise() -> None:
    reached: list[str] = []

    def client() -> Any:
        reached.append("server")

    async with recovering(client), asyncio.timeout(90):
        assert await is_looked_after(SystemClock())

    assert (reached, read_settings().watch_every_s) == (["server"], 2.0)
    async with open_database(address_of("baton.db")) as database:
        assert await holds(database.leases(SystemClock()))  # it was given back


@pytest.mark.usefixtures("fresh_services")
async def test_a_server_that_is_told_not_to_look_does_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BATON_WATCH_EVERY_S", "0")

    def client() -> Any:
        pytest.fail("nobody was to look")

    async with recovering(client):
        assert files(tmp_path) == []


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_how_often_a_server_looks_is_no_negative_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_WATCH_EVERY_S", "-1")
    with pytest.raises(SettingsInvalid, match="BATON_WATCH_EVERY_S"):
        read_settings()
