"""A question to a human, its answer, why it was asked (chapter 15.12.2), and the audit line of both."""

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from state.drawn import Drawn, Sight
from state.text import LONGEST_TITLE, as_text, counted, shortened, unmarked

Answer = Literal["approve", "reject", "edit"]
Subject = Literal["action", "task", "result", "plan", "escalation"]

POLICY = "policy"
"""Who decides where no human did: after a deadline, or where the oversight mode only wants to know."""


Priority = Literal["highest", "high", "medium", "low"]
TriggerName = Literal["critical", "sensitive", "cost", "confidence", "failures", "timeout", "scope", "oversight"]


class FiredTrigger(BaseModel):
    """One reason to call a human."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trigger: TriggerName
    priority: Priority
    reason: str
    """In words, with the figures."""


Risk = Literal["low", "medium", "high", "critical"]


OBJECTS = ("name", "path", "file", "filename", "title", "to", "recipient", "subject", "url", "query")
"""Arguments that say best what an action is done to, the first that there is."""
END = "?!. "
"""What a title does not have before its question mark."""


class Approval(Drawn, BaseModel):
    """A question that waits for a human: may this agent do this?"""

    model_config = ConfigDict(extra="forbid")

    id: str
    """Stable across restarts: made of the task, the round and a number."""
    task_id: str
    agent: str
    path: list[str] = []
    """Agents from the outermost to the one that asks, where that is not `agent` itself."""
    subject: Subject = "action"
    """What is asked about: one action, whether a task may begin, what came of it, the whole plan, or what becomes of a
    task that its agent could not finish."""
    action: str
    """The tool or action asked about."""
    args: dict[str, JsonValue] = {}
    args_schema: dict[str, JsonValue] | None = None
    """JSON Schema of `args`, where the tool has one: what an edit has to fit."""
    choices: list[Answer] = ["approve", "edit", "reject"]
    """What it can be answered with."""
    takes_anything: bool = False
    """Whether it is one of a graph that takes any answer, not only yes or no."""
    risk: Risk = "medium"
    priority: Priority = "medium"
    """Of the highest trigger that fired."""
    triggers: list[FiredTrigger] = []
    """Why, one by one, highest priority first."""
    reason: str
    """Why a human is asked: every trigger that fired, in words."""
    description: str = ""
    """Markdown for the person who decides."""
    asked_at: float = 0.0
    timeout_s: float | None = None
    """Seconds there are to answer it, where whoever asks says so; None: the policy's."""
    expires_at: float | None = None
    """Seconds since the epoch; then the policy decides. None: not yet asked. When it is asked: nobody can answer it."""
    needs_human: bool = False
    """Whether silence never approves it, whatever the policy says of its risk."""
    escalated: bool = False
    """Whether the first deadline has passed and somebody else was told."""

    @property
    def title(self) -> str:
        """What is asked, as somebody would ask it: `Publish launch.md?`."""
        match self.subject:
            case "plan":
                tasks = self.args.get("tasks")
                return f"Carry out this plan of {counted(len(tasks) if isinstance(tasks, list) else 0, 'task')}?"
            case "task":
                task = shortened(str(self.args.get("description", self.task_id)))
                return f"Let {self.agent} begin: {task.rstrip(END)}?"
            case "result":
                return f"Does what {self.agent} delivered count?"
            case "escalation":
                return f"{self.agent} could not finish: what shall become of it?"
            case "action":
                said, what = _spoken(self.action), _object(self.args).rstrip(END)
                return f"{said} {what}?" if what and f" {what} ".lower() not in f" {said} ".lower() else f"{said}?"

    def _sight(self) -> Sight:
        return Sight(
            title=self.title,
            status=f"{self.risk} risk",
            facts=[
                f"asked by {self.agent}",
                f"why: {self.reason}",
                f"answer: {' or '.join(self.choices)}, as {self.id}",
            ],
            columns=["argument", "value"],
            rows=[[name, as_text(value)] for name, value in self.args.items()],
            text=unmarked(self.description),
        )

    @model_validator(mode="before")
    @classmethod
    def _as_written_before(cls, value: object) -> object:
        """What rows of versions without these fields say by the action and the id; they have all the other fields."""
        if not isinstance(value, dict) or "escalated" not in value or "takes_anything" in value:
            return value
        is_escalation = re.fullmatch(rf"{re.escape(str(value['task_id']))}\.\d+\.escalate\d+", str(value["id"]))
        return {
            **value,
            "takes_anything": value["action"] == "answer" and value.get("args_schema") is None,
            "subject": "escalation" if is_escalation else value.get("subject", "action"),
        }


def _spoken(action: str) -> str:
    words = " ".join(action.replace("_", " ").replace("-", " ").split())
    return words[:1].upper() + words[1:]


def _object(args: Mapping[str, JsonValue]) -> str:
    named = [args[key] for key in OBJECTS if key in args]
    short = [
        one for one in (*named, *args.values()) if isinstance(one, str | int | float) and not isinstance(one, bool)
    ]
    lines = [str(one) for one in short if str(one).strip() and "\n" not in str(one) and len(str(one)) <= LONGEST_TITLE]
    return lines[0] if lines else ""


class Decision(BaseModel):
    """What a human (or, after a deadline, the policy) said to an approval."""

    model_config = ConfigDict(extra="forbid")

    type: Answer
    args: dict[str, JsonValue] | None = None
    """The arguments to use instead, for `edit`."""
    message: str = ""
    by: str = Field(default="human", min_length=1)
    door: str = ""
    """The way it came: `terminal`, `command line`, `python`, `server`, `resume` (LangGraph's own), `deadline` …"""

    @property
    def who(self) -> str:
        """Who decided, for people: the name, where one was given."""
        return {"human": "a person", POLICY: "the policy"}.get(self.by, self.by)


PRIORITIES: tuple[Priority, ...] = ("highest", "high", "medium", "low")
"""Most urgent first."""

OF_RISK: dict[Risk, Priority] = {"critical": "highest", "high": "high", "medium": "medium", "low": "low"}
"""The priority of a question that an agent asks by itself."""


class TriggerInput(BaseModel):
    """What triggers look at. What is not known does not fire."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: str = ""
    """The tool, or what the task does to the outside world."""
    is_marked: bool = False
    """Whether the tool itself says that it is sensitive."""
    risk: Risk = "low"
    cost: float = 0.0
    """US dollars of this one action."""
    confidence: float | None = None
    failures_in_a_row: int = 0
    """Tasks that the agent has failed without delivering one in between."""
    overdue_s: float | None = None
    """Seconds the agent was given to come to a decision, and did not."""
    misfit: str = ""
    """Why nobody and no tool fits, in words; empty if somebody does."""


EntryKind = Literal["requested", "answered", "escalated", "noted", "steered"]
"""`noted`: done without asking, because the oversight mode only wants to know. `steered`: a human changed the run."""


class Entry(BaseModel):
    """A request, a decision, or what a human did to a run: who, when, through which door, with what arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: int = 0
    """From 1, without gaps, per thread."""
    at: float
    kind: EntryKind
    approval: str
    """The question; empty where there was none."""
    task_id: str = ""
    agent: str = ""
    path: list[str] = []
    """Agents from the outermost to the one that asked, where that is not `agent` itself."""
    action: str = ""
    """What was asked about, or the kind of signal that steered."""
    risk: str = ""
    reason: str = ""
    """Why it was asked."""
    args: dict[str, JsonValue] = {}
    """The arguments as asked about; of a signal, what came with it."""
    args_after: dict[str, JsonValue] | None = None
    """The arguments as decided, where they were edited."""
    decision: str = ""
    by: str = ""
    door: str = ""
    message: str = ""
    expires_at: float | None = None
    before: str = ""
    """The seal of the line before; empty for the first."""
    seal: str = ""
    """SHA-256 of all of the above, or `hmac-sha256:` and the HMAC by the key (`BATON_AUDIT_KEY`), in hex."""
