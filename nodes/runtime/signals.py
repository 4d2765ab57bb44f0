"""The log of signals, and what they have done to a run so far.

Anybody who can open the Store can send a signal; the run consumes them in order, each once. One waits under `signals`
until it is handled, and is kept under `signal_log` afterwards, with what came of it. The move and its effect are one
transaction, so a crash can neither lose a signal nor apply it twice. `SignalState` holds in memory, while the run
executes, what the Store keeps.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from uuid import uuid4
from weakref import WeakSet

from langgraph.store.base import BaseStore, PutOp

from nodes.policy.mail import Mailbox
from nodes.policy.takeover import STOPS
from nodes.runtime.clock import Clock
from nodes.runtime.rows import read_all, read_each, space
from state.agent import Mail
from state.approval import Decision
from state.record import TaskRecord
from state.signal import Control, HandBack, Signal, SignalOutcome
from state.text import Json

Waiting = tuple[str, Json]
"""A signal's key and its raw content, which may be malformed."""

_SENT = count(1)
"""Keeps signals apart, and in order, that one process sends at the same reading of its clock."""


async def send(store: BaseStore, thread_id: str, signal: Signal, clock: Clock) -> str:
    """Put a signal into the log; its key sorts by time. Returns the key."""
    key = f"{int(clock.now() * 1_000_000):017d}-{next(_SENT):06d}-{uuid4().hex[:12]}"
    await store.aput(space("signals", thread_id), key, signal.model_dump(mode="json"))
    return key


def sent_at(key: str) -> float:
    """When the signal of that key was sent, seconds since the epoch; 0 where the key does not say."""
    digits = key.partition("-")[0]
    return int(digits) / 1_000_000 if digits.isdecimal() else 0.0


async def waiting(store: BaseStore, thread_id: str) -> list[Waiting]:
    """The signals nobody has handled yet, oldest first."""
    return [(item.key, item.value) for item in await read_all(store, space("signals", thread_id))]


async def is_stop_waiting(store: BaseStore, thread_id: str) -> bool:
    """Whether somebody has asked the run to stop, and nobody has handled it yet."""
    return any(raw.get("kind") in STOPS for _, raw in await waiting(store, thread_id))


@dataclass(frozen=True)
class Handled:
    """A signal that was looked at, and what came of it."""

    key: str
    raw: Json
    """Its content, which may be malformed."""
    outcome: SignalOutcome
    at: float
    """Seconds since the epoch."""


def handled(thread_id: str, key: str, raw: Json, outcome: SignalOutcome, at: float) -> list[PutOp]:
    """The rows that move a signal to the log; to be written together with its effect."""
    entry: Json = {"signal": raw, "outcome": outcome.model_dump(mode="json"), "at": at}
    return [PutOp(space("signals", thread_id), key, None), PutOp(space("signal_log", thread_id), key, entry)]


async def read_log(store: BaseStore, thread_id: str) -> Sequence[Handled]:
    """Every handled signal with what came of it, oldest first."""
    rows = [(item.key, item.value) for item in await read_all(store, space("signal_log", thread_id))]
    return [Handled(key, row["signal"], SignalOutcome.model_validate(row["outcome"]), row["at"]) for key, row in rows]


LOADED = ("control", "mail", "retired", "recruits", "hand_backs")
"""Kinds of rows that `SignalState` holds."""


class SignalState:
    """Control, mailboxes, retired agents, recruits and decisions of one run."""

    def __init__(self, store: BaseStore, thread_id: str) -> None:
        self._store = store
        self._thread_id = thread_id
        self.control = Control()
        self.mailboxes: dict[str, Mailbox] = {}
        self.retired: set[str] = set()
        self.recruits: list[TaskRecord] = []
        """In the order in which they were granted."""
        self.decisions: dict[str, Decision] = {}
        self.hand_backs: list[HandBack] = []
        """In the order in which they came."""
        self.taken_back = 0
        """How many of them the state of the graph has."""
        self.changed = asyncio.Event()
        """Set at every change; who waits for one clears it first."""
        self.on_control: Callable[[Control], None] = lambda _: None
        self._parent: SignalState | None = None
        self._question_prefix = ""
        """What stands before the ids of its questions at the leader's."""
        self._children: WeakSet[SignalState] = WeakSet()
        self._unsaved: set[str] = set()

    async def load(self) -> None:
        """Read what was there, besides the decisions."""
        pages = await read_each(self._store, [space(kind, self._thread_id) for kind in LOADED])
        rows = dict(zip(LOADED, pages, strict=True))
        own = Control.model_validate(rows["control"][0].value) if rows["control"] else Control()
        self.control = self._parent.control if self._parent else own
        self.mailboxes = {item.key: Mailbox.model_validate(item.value) for item in rows["mail"]}
        self.retired = {item.key for item in rows["retired"]}
        self.recruits = [TaskRecord.model_validate(item.value) for item in rows["recruits"]]
        self.hand_backs = [HandBack.model_validate(item.value) for item in rows["hand_backs"]]
        self.know({})

    def know(self, decisions: Mapping[str, Json]) -> None:
        """Take these for the decisions that count (`nodes.runtime.audit.decided`)."""
        own = {key: Decision.model_validate(value) for key, value in decisions.items()}
        self.decisions = {**own, **self._from_above()}

    @property
    def is_stopping(self) -> bool:
        """Whether work is to stop at its next safe point: somebody holds the run, or has handed it back changed."""
        above = self._parent is not None and self._parent.is_stopping
        return above or self.control.driving != "running" or len(self.hand_backs) > self.taken_back

    def mail(self, agent: str) -> Mailbox:
        """An agent's mailbox."""
        return self.mailboxes.get(agent) or Mailbox()

    def read_mail(self, agent: str) -> Mailbox:
        """The mailbox of an agent that is given all of it now."""
        mailbox = self.mail(agent)
        if mailbox.unread:
            self.mailboxes[agent] = mailbox.model_copy(update={"read": mailbox.received})
            self._unsaved.add(agent)
        return mailbox

    def deliver(self, agent: str, mails: list[Mail]) -> bool:
        """Put mail into a mailbox; it is there at once, and stored with `unsaved`. False if all of it was known."""
        before = self.mail(agent)
        after = before.add(mails)
        if after is not before:
            self.mailboxes[agent] = after
            self._unsaved.add(agent)
            self.changed.set()
        return after is not before

    def unsaved(self) -> list[PutOp]:
        """The rows of mailboxes that changed since the last call; the caller writes them."""
        place = space("mail", self._thread_id)
        rows = [PutOp(place, agent, self.mailboxes[agent].model_dump(mode="json")) for agent in sorted(self._unsaved)]
        self._unsaved.clear()
        return rows

    def set_control(self, control: Control) -> PutOp:
        """Change who is driving; returns the row to write."""
        self._driven(control)
        return PutOp(space("control", self._thread_id), "now", control.model_dump(mode="json"))

    def attach_to(self, parent: "SignalState", question_prefix: str) -> None:
        """Be driven and answered by whoever drives and answers `parent`: the supervisor that this one is nested in.

        `question_prefix`: what stands before the ids of its questions there. Decisions are kept by the outermost alone.
        """
        self._parent, self._question_prefix = parent, question_prefix
        self.control = parent.control
        parent._children.add(self)

    def _driven(self, control: Control) -> None:
        self.control = control
        self.on_control(control)
        self.changed.set()
        for child in list(self._children):
            child._driven(control)

    def retire(self, agent: str) -> PutOp:
        """Take an agent out of further assignment; returns the row to write."""
        self.retired.add(agent)
        return PutOp(space("retired", self._thread_id), agent, {"agent": agent})

    def add_recruit(self, record: TaskRecord) -> PutOp:
        """Add a recruit; returns the row to write. Its key keeps the order, which LangGraph's @tasks depend on."""
        self.recruits.append(record)
        row = record.model_dump(mode="json")
        return PutOp(space("recruits", self._thread_id), f"{len(self.recruits):06d}", row)

    def forget_recruits(self, ids: Collection[str]) -> list[PutOp]:
        """Take recruits out of the run; returns the rows to write."""
        before, self.recruits = self.recruits, [record for record in self.recruits if record.id not in ids]
        place = space("recruits", self._thread_id)
        rows = [record.model_dump(mode="json") for record in self.recruits]
        return [PutOp(place, f"{n:06d}", rows[n - 1] if n <= len(rows) else None) for n in range(1, len(before) + 1)]

    def hand_back(self, signal: HandBack) -> PutOp:
        """Keep what a human handed back; returns the row to write."""
        self.hand_backs.append(signal)
        row = signal.model_dump(mode="json")
        return PutOp(space("hand_backs", self._thread_id), f"{len(self.hand_backs):06d}", row)

    def decide(self, approval_id: str, decision: Decision) -> PutOp:
        """Keep an answer, and let whoever asked know at once, at any depth; returns the row to write."""
        if self._parent:
            return self._parent.decide(f"{self._question_prefix}{approval_id}", decision)
        self._decided(approval_id, decision)
        return PutOp(space("decisions", self._thread_id), approval_id, decision.model_dump(mode="json"))

    def _decided(self, approval_id: str, decision: Decision) -> None:
        self.decisions[approval_id] = decision
        self.changed.set()
        for child in list(self._children):
            if approval_id.startswith(child._question_prefix):
                child._decided(approval_id.removeprefix(child._question_prefix), decision)

    def _from_above(self) -> dict[str, Decision]:
        known = self._parent.decisions if self._parent else {}
        return {
            key.removeprefix(self._question_prefix): said
            for key, said in known.items()
            if key.startswith(self._question_prefix)
        }


async def read_recruits(store: BaseStore, thread_id: str) -> list[TaskRecord]:
    """The recruits of a run, in the order in which they were granted."""
    return [TaskRecord.model_validate(item.value) for item in await read_all(store, space("recruits", thread_id))]
