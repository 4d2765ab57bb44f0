"""One thread driven from the command line until it ends or nobody answers, with what it was launched with."""

import asyncio
import getpass
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from graph.address import Address
from graph.cli.ask import Asker, can_ask
from graph.cli.launch import Launch, existing, recall, remember
from graph.cli.live import Watch, watching
from graph.cli.result import report_result
from graph.cli.screen import command, one_line, print_err
from graph.steering import OnEvent
from graph.supervisor import Supervisor, open_supervisor
from nodes.runtime.background import stop
from nodes.runtime.context import run_folder
from nodes.tools.storage import Location, location
from state.errors import BadInput, BatonError
from state.record import HUMAN
from state.run import Run
from state.signal import Pause
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
        while run.status == "waiting" and (answers := asyncio.run(self._answers(run))):
            run, artifacts = asyncio.run(self._go(self._answering(answers)))
        self.asker.end()
        default = run_folder(artifacts, self.thread_id) / "report.md"
        report = location(self.launch.out) if self.launch.out else default
        return report_result(run, report, db=self.db, as_json=self.as_json)

    async def _go(self, verb: Verb) -> tuple[Run, Location]:
        """The run after `verb`, and where artifacts go."""
        team, model = self.launch.team, self.launch.model
        async with (
            open_supervisor(self.db, team=team, policy=self.policy or None, model=model) as sup,
            watching(sup, self.thread_id, as_json=self.as_json) as watch,
        ):
            async with self._pausing(sup):
                run = await self._driven(sup, verb, watch)
            if self.is_launch_new and not run.missing_agents and sup.graph.store:
                await remember(sup.graph.store, self.thread_id, self.launch)
            return run, sup.services.artifacts

    @asynccontextmanager
    async def _pausing(self, sup: Supervisor) -> AsyncIterator[None]:
        """While inside, the first Ctrl-C at a terminal pauses the run where it can go on, and the next one quits.

        Elsewhere it is as Python has it: whoever sends a program this signal wants it to end.
        """
        is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
        if not is_terminal or threading.current_thread() is not threading.main_thread():
            yield
            return
        loop, driving = asyncio.get_running_loop(), asyncio.current_task()
        pausing: list[asyncio.Task[None]] = []

        async def pause() -> None:
            try:
                await sup.signal(self.thread_id, Pause(by=who(None), reason="Ctrl-C", door=DOOR))
            except BatonError:  # it has not begun, or has just ended
                quit_now()

        def quit_now() -> None:
            if driving:
                driving.cancel()

        def pressed() -> None:
            if pausing:
                quit_now()
                return
            if self.asker.is_asking:
                print_err("")
            print_err("pausing: what is at work comes to a point where it can go on; Ctrl-C again quits at once")
            pausing.append(asyncio.create_task(pause()))

        loop.add_signal_handler(signal.SIGINT, pressed)
        try:
            yield
        except asyncio.CancelledError:
            if pausing and driving:
                driving.uncancel()
                raise KeyboardInterrupt from None
            raise
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            for task in pausing:
                task.cancel()

    async def _driven(self, sup: Supervisor, verb: Verb, watch: Watch) -> Run:
        """The run after `verb`; whoever sits at the terminal is asked as soon as there is a question."""
        if not self._can_ask():
            return await verb(sup, watch.hear)
        news, giving = asyncio.Event(), asyncio.Lock()

        def hear(event: Json) -> None:
            watch.hear(event)
            if event["kind"] in ("approval_requested", "task_parked", "task_started"):
                news.set()

        async def ask_on() -> None:
            while await news.wait():
                news.clear()
                while answers := await self._asked_meanwhile(sup, watch):
                    async with giving:
                        await self._given(sup, answers, hear)

        asking = asyncio.create_task(ask_on())
        try:
            run = await verb(sup, hear)
            async with giving:  # it may have been the last thing that was waited for
                self.asker.keep([] if run.has_ended else (await sup.view(self.thread_id)).approvals)
                asking.cancel()
        finally:
            await stop(asking)
        return run if run.has_ended else await sup.view(self.thread_id)

    async def _asked_meanwhile(self, sup: Supervisor, watch: Watch) -> dict[str, JsonValue]:
        """The answers to what is asked while the rest of the run is at work; what waits alone is asked at its end."""
        while True:
            run = await sup.view(self.thread_id)
            new = self.asker.new(run.approvals)
            if not new or not any(task.status == "running" for task in run.tasks):
                return {}
            async with watch.aside():
                if answers := await self.asker.ask(new):
                    return answers

    async def _given(self, sup: Supervisor, answers: dict[str, JsonValue], on_event: OnEvent) -> None:
        try:
            await sup.answer(self.thread_id, answers, by=who(None), door=TERMINAL, on_event=on_event)
        except BadInput as error:
            print_err(f"your answer came second: {one_line(str(error))}")
        self.asker.took(answers)

    def _can_ask(self) -> bool:
        return not self.yes and not self.as_json and can_ask()

    async def _answers(self, run: Run) -> dict[str, JsonValue]:
        if self.yes:
            return {
                question.id: {"type": "approve", "message": "given in advance (--yes)"} for question in run.approvals
            }
        return await self.asker.ask(run.approvals) if self._can_ask() else {}

    def _answering(self, answers: dict[str, JsonValue]) -> Verb:
        """Give the answers; of those to questions that were decided in the meantime, say so."""

        async def answering(sup: Supervisor, on_event: OnEvent) -> Run:
            self.asker.took(answers)
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
