"""What can be seen of the runs of one database, without changing anything."""

from contextlib import suppress

from graph import deadlines
from graph.builder import Graph
from graph.runs import Runs
from graph.views import has_ended
from nodes.policy.directory import directory
from nodes.runtime.journal import Json
from nodes.runtime.services import Services
from nodes.runtime.steering import Steering
from state.directory import Member
from state.errors import ThreadUnknown
from state.event import Event
from state.record import TaskRecord
from state.run import Run


class Lookout:
    """The verbs of the facade that only look."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    @property
    def services(self) -> Services:
        """What the graph is built from."""
        return self._runs.services

    @property
    def graph(self) -> Graph:
        """The compiled LangGraph underneath."""
        return self._runs.graph

    async def view(self, thread_id: str) -> Run:
        """What is true of a run now, also while another process runs it.

        Raises:
            ThreadUnknown: no such thread.
        """
        return await deadlines.view(self._runs, thread_id)

    async def check_team(self, thread_id: str) -> None:
        """Whether the thread's run could go on from here.

        Raises:
            AgentsMissing: it needs agents that are not in the team.
        """
        await self._runs.check_team(thread_id)

    async def team(self, thread_id: str) -> list[Member]:
        """The directory of a run: every agent, what it is doing, and whether it was recruited.

        Raises:
            ThreadUnknown: no such thread.
        """
        run = await self.view(thread_id)
        steering = Steering(self._runs.database.store, thread_id)
        await steering.load({})
        state = (await self._runs.snapshot(thread_id)).values
        records = {task["task"]["id"]: TaskRecord.model_validate(task) for task in state.get("tasks") or []}
        records.update({record.id: records.get(record.id, record) for record in steering.recruits})
        now = {task.id: task for task in run.tasks}
        current = [r.model_copy(update={"status": now[r.id].status} if r.id in now else {}) for r in records.values()]
        return directory(current, self.services.team, steering.retired)

    async def runs(self, *, only_open: bool = False) -> list[Run]:
        """All runs in the database, newest first; `only_open`: those that have not ended."""
        found = []
        for row in await self._runs.listed(only_open=only_open):
            with suppress(ThreadUnknown):  # its checkpoints were pruned, or it died before the first
                run = await self.view(row.thread_id)
                if row.is_open and row.started_at == run.started_at:
                    await self._runs.note_end(run)
                if not (only_open and has_ended(run)):
                    found.append(run)
        return found

    async def plan(self, thread_id: str) -> Json:
        """The plan a run uses, in the form in which one can be given.

        Raises:
            ThreadUnknown: no such thread, or it has no plan yet.
        """
        draft = (await self._runs.snapshot(thread_id)).values.get("draft")
        if not draft:
            raise ThreadUnknown(f"thread {thread_id!r} has no plan; `baton runs` lists the threads there are")
        return dict(draft)

    async def events(self, thread_id: str, after: int = 0) -> list[Event]:
        """The recorded events of a thread with a `seq` above `after`."""
        return await self._runs.events(thread_id, after)
