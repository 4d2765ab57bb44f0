"""One thread driven from the command line until it ends or nobody answers, with what it was launched with."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from graph.address import Address
from graph.cli.ask import Asker, can_ask
from graph.cli.launch import Launch, existing, recall, remember
from graph.cli.live import watching
from graph.cli.result import report_result
from graph.cli.screen import command, one_line, print_err
from graph.steering import OnEvent
from graph.supervisor import Supervisor, open_supervisor
from nodes.runtime.context import run_folder
from state.record import HUMAN
from state.run import Run
from state.text import Json

DOOR = "command line"
TERMINAL = "terminal"
"""The door of what is answered where it was asked."""
Verb = Callable[[Supervisor, OnEvent], Awaitable[Run]]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while a run was at work; the message says how to go on."""


@dataclass(frozen=True)
class Session:
    """One thread, driven from the command line."""

    thread_id: str
    db: Address | None
    launch: Launch
    as_json: bool = False
    yes: bool = False
    """Whether whatever is asked is approved."""
    policy: Json = field(default_factory=dict)
    asker: Asker = field(default_factory=Asker)
    is_launch_new: bool = False
    """Whether the team or the model was given just now, and is kept if the run can go on with it."""

    def carry_out(self, verb: Verb) -> int:
        """Run until it ends or a human is needed who is not here; the exit code."""
        try:
            return self._carry_out(verb)
        except KeyboardInterrupt as error:
            again = command("resume", self.thread_id, db=self.db)
            raise Interrupted(f"interrupted; nothing is lost: {again}") from error

    def _carry_out(self, verb: Verb) -> int:
        run, artifacts = asyncio.run(self._go(verb))
        # Each answer opens the database anew: nothing is held while a human thinks.
        while run.status == "waiting" and (answers := self._answers(run)):
            run, artifacts = asyncio.run(self._go(self._answering(answers)))
        default = run_folder(artifacts, self.thread_id) / "report.md"
        report = Path(self.launch.out) if self.launch.out else default
        return report_result(run, report, db=self.db, as_json=self.as_json)

    async def _go(self, verb: Verb) -> tuple[Run, Path]:
        """The run after `verb`, and where artifacts go."""
        team, model = self.launch.team, self.launch.model
        async with (
            open_supervisor(self.db, team=team, policy=self.policy or None, model=model) as sup,
            watching(sup, self.thread_id, as_json=self.as_json) as on_event,
        ):
            run = await verb(sup, on_event)
            if self.is_launch_new and not run.missing_agents and sup.graph.store:
                await remember(sup.graph.store, self.thread_id, self.launch)
            return run, sup.services.artifacts

    def _answers(self, run: Run) -> dict[str, JsonValue]:
        if self.yes:
            return {
                question.id: {"type": "approve", "message": "given in advance (--yes)"} for question in run.approvals
            }
        return self.asker.ask(run.approvals) if can_ask() and not self.as_json else {}

    def _answering(self, answers: dict[str, JsonValue]) -> Verb:
        """Give the answers; of those to questions that were decided in the meantime, say so."""

        async def answering(sup: Supervisor, on_event: OnEvent) -> Run:
            run = await sup.view(self.thread_id)
            wanted = {question.id for question in run.approvals}
            late = [key for key in answers if key not in wanted]
            if late:
                print_err(f"decided meanwhile, your answer came second: {one_line(', '.join(late))}")
            left = {key: answer for key, answer in answers.items() if key in wanted}
            if not left:
                return run
            door = DOOR if self.yes else TERMINAL
            return await sup.answer(self.thread_id, left, by=who(None), door=door, on_event=on_event)

        return answering


def who(by: str | None) -> str:
    """Who says so: the name given, or whoever is at the keyboard as far as the system tells. It is kept."""
    try:
        return (by or "").strip() or getpass.getuser() or HUMAN
    except (OSError, KeyError):
        return HUMAN


def going_on(
    thread_id: str, db: Address | None, team: Path | None = None, model: str | None = None, *, as_json: bool
) -> Session:
    """The session of a thread that was started before, with what it was started with, or with another team or model.

    Raises:
        BadInput: there is no such database.
    """
    launch = asyncio.run(recall(existing(db), thread_id))
    if team is not None:
        launch = launch.model_copy(update={"team": str(team.absolute())})
    if model is not None:
        launch = launch.model_copy(update={"model": model})
    is_new = team is not None or model is not None
    return Session(thread_id, db, launch, as_json=as_json, is_launch_new=is_new)
