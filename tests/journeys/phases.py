"""A run whose every phase a model or an agent is busy in, and somebody who says something in one of them, once.

North and south are looked into by two workers, each of whom leaves a note outside that can be taken back.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.store.base import Op, PutOp, Result
from pydantic import PrivateAttr

from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel, Step
from state.agent import AgentSpec
from state.replies import PlanDraft, Review, TaskDraft
from state.signal import Signal
from tests.journeys.doom import THREAD, note
from tests.runs import opened

PHASES = ("decomposing", "routing", "executing", "reviewing", "assembling")
NAMES = ("north", "south")
UNDISTURBED = Counter(decomposing=1, executing=4, reviewing=1, assembling=1)
"""Model calls of each phase: each worker asks once to leave its note, and once to answer."""


class Thinker(ScriptedModel):
    """Plans, works, accepts and puts together; what is said in `phase` is said while it thinks about that."""

    _somebody: "Somebody" = PrivateAttr()

    def __init__(self, somebody: "Somebody") -> None:
        super().__init__({lambda text: True: _reply})
        self._somebody = somebody

    async def areply_to(self, messages: Sequence[BaseMessage], options: dict[str, Any]) -> AIMessage:
        await self._somebody.may_speak(_phase(messages))
        return await super().areply_to(messages, options)

    @property
    def asked(self) -> Counter[str]:
        """How often it was asked, by phase."""
        return Counter(_phase(call.messages) for call in self.calls)


class Somebody:
    """Says something in a phase, when it comes for the first time: while a model thinks, or as it is put on record."""

    def __init__(self, phase: str, says: Iterable[Signal], *, on_record: bool) -> None:
        self.phase, self.says, self.on_record = phase, list(says), on_record
        self.sup: Supervisor

    async def may_speak(self, phase: str, *, on_record: bool = False) -> None:
        """The run is in that phase."""
        if (phase, on_record) == (self.phase, self.on_record):
            says, self.says = self.says, []
            for signal in says:  # what comes of it a model cannot wait for that holds up whoever looks at it
                await (self.sup.signal if self.is_heard else self.sup._runs.signal)(THREAD, signal)

    @property
    def is_heard(self) -> bool:
        """Whether the run listens meanwhile."""
        return self.phase == "executing" and not self.on_record


@asynccontextmanager
async def spoken_to(
    folder: Path, phase: str = "", *says: Signal, on_record: bool = False, **policy: Any
) -> AsyncIterator[tuple[Supervisor, Thinker]]:
    """The supervisor of that run, and its model. While tasks are given to agents nobody thinks."""
    somebody = Somebody(phase, says, on_record=on_record or phase == "routing")
    model = Thinker(somebody)
    worker = AgentSpec(name="ada", role="generalist", tools=_tools(folder))
    helper = AgentSpec(name="hal", role="helper", tools=_tools(folder))
    db = folder / "runs.db"
    async with opened(worker, helper, model=model, db=db, **{"oversight": "on_the_loop", **policy}) as sup:
        somebody.sup = sup
        _watch_records(sup, somebody)
        yield sup, model


def _watch_records(sup: Supervisor, somebody: Somebody) -> None:
    store = sup.graph.store
    assert store is not None
    batch = store.abatch

    async def abatch(ops: Iterable[Op]) -> list[Result]:
        listed = list(ops)
        made = await batch(listed)
        for row in (op.value for op in listed if isinstance(op, PutOp) and op.value):
            if row.get("kind") == "phase_entered":
                await somebody.may_speak(row["phase"], on_record=True)
        return made

    store.abatch = abatch  # type: ignore[method-assign]


def _phase(messages: Sequence[BaseMessage]) -> str:
    text = str(messages[0].text)
    phases = {"You are the supervisor": "decomposing", "You review": "reviewing", "You put the": "assembling"}
    return next((phase for start, phase in phases.items() if text.startswith(start)), "executing")


def _reply(messages: list[BaseMessage], tools: list[str]) -> Step:
    match _phase(messages):
        case "decomposing":
            drafts = [TaskDraft(id=name, description=f"Look into {name}.") for name in NAMES]
            return PlanDraft(tasks=drafts, complexity=0.5)
        case "reviewing":
            return Review(verdicts=[])
        case "assembling":
            return "North and south agree."
    task = str(messages[1].text).split('<task id="')[1].split('"')[0]
    said = [message for message in messages if isinstance(message, ToolMessage)]
    return f"{task} is looked into." if said else {"name": "leave_note", "args": {"about": task}}


def _tools(folder: Path) -> list[BaseTool]:
    @tool
    async def leave_note(about: str) -> str:
        """Leave a note."""
        note(folder, f"left {about}")
        return "left"

    @tool
    async def take_note(about: str) -> str:
        """Take a note back."""
        note(folder, f"took {about}")
        return "taken"

    leave_note.metadata = {"undo": "take_note"}
    return [leave_note, take_note]
