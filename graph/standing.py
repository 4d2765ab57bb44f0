"""How far agents are trusted, and what humans were asked and decided."""

from graph import deadlines
from graph.lookout import Lookout
from graph.runs import LOOKED_AFTER, SERVER
from nodes.policy.trust import trust_of
from nodes.runtime.audit import read_audit
from nodes.runtime.trust import read_trust, write_incident
from state.audit import Entry
from state.errors import BadInput
from state.trust import Incident, Severity, Trust


class Standing(Lookout):
    """The verbs of the facade about books that no run owns."""

    async def trust(self) -> dict[str, Trust]:
        """Where every agent stands: those of the team, and any other that has worked on this database."""
        now = self._runs.services.clock.now()
        fresh = {agent.name: trust_of(agent.name, [], now) for agent in self._runs.services.team}
        return {**fresh, **await read_trust(self._runs.database.store, now)}

    async def incident(self, agent: str, severity: Severity, note: str = "", by: str = "human") -> Trust:
        """Report that something went wrong through an agent; it takes effect at once.

        Raises:
            BadInput: nobody is called that.
        """
        known = await self.trust()
        if agent not in known:
            raise BadInput(f"there is no agent {agent!r}; there are: {', '.join(known)}")
        happened = Incident(at=self._runs.services.clock.now(), severity=severity, note=note, by=by)
        await write_incident(self._runs.database.store, agent, happened)
        return (await self.trust())[agent]

    async def audit(self, thread_id: str) -> tuple[list[Entry], str]:
        """What humans were asked and decided on a thread, oldest first, and where the record is broken, if it is.

        What cannot be read any more is left out, and the record is broken there.

        Raises:
            ThreadUnknown: no such thread.
        """
        await self._runs.view(thread_id)
        decided = await self._runs.decisions(thread_id)
        return await read_audit(self._runs.database.store, thread_id, decided)

    async def due(self, *, by_server: bool = False) -> list[str]:
        """Threads that could go on if somebody resumed them: their process died, or their questions are decided.

        What came in through a server that is up and looks after it is left to the server (`by_server`).
        """
        runs = [run for run in await self.runs(only_open=True) if await deadlines.is_due(self._runs, run)]
        if not runs or by_server or not await self._runs.is_held(LOOKED_AFTER):
            return [run.thread_id for run in runs]
        its_own = {row.thread_id for row in await self._runs.listed(only_open=True) if row.door == SERVER}
        return [run.thread_id for run in runs if run.thread_id not in its_own]
