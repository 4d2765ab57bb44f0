"""Builders for state: a test names what matters to it, the rest is ordinary."""

from typing import Unpack

from pydantic import JsonValue
from typing_extensions import TypedDict

from state.agent import AgentSpec, Brief, Limits, Mail, Skills
from state.plan import Plan, Task
from state.record import Failure, Outcome, OutcomeStatus, Route, TaskRecord, TaskStatus, Usage


def make_task(
    task_id: str = "t1",
    *after: str,
    description: str | None = None,
    role: str = "generalist",
    kind: str = "general",
    required: bool = True,
    action: str | None = None,
    tools: bool = True,
) -> Task:
    """A task; `after` are the ids of the tasks it depends on: `make_task("c", "a", "b")`."""
    return Task(
        id=task_id,
        description=description or f"Do {task_id}.",
        role=role,
        kind=kind,
        depends_on=list(after),
        required=required,
        action=action,
        tools=tools,
    )


def make_plan(*tasks: Task | str, complexity: float | None = None) -> Plan:
    """A plan of tasks, or of ids with what they depend on: `make_plan("a", "b", "c <- a b")`; one task by default."""
    made = [_parse(task) if isinstance(task, str) else task for task in tasks or ("t1",)]
    return Plan(tasks=made, complexity=complexity)


def _parse(text: str) -> Task:
    task_id, _, after = text.partition("<-")
    return make_task(task_id.strip(), *after.split())


def make_agent(
    name: str = "ada",
    role: str = "generalist",
    *,
    specialty: str = "",
    kinds: dict[str, float] | None = None,
    keywords: list[str] | None = None,
    tools: list[str] | None = None,
    limits: Limits | None = None,
) -> AgentSpec:
    """An agent that the worker graph runs."""
    return AgentSpec(
        name=name,
        role=role,
        specialty=specialty,
        skills=Skills(kinds=kinds or {}, keywords=keywords or []),
        tools=list(tools or []),
        limits=limits or Limits(),
    )


class OutcomeFields(TypedDict, total=False):
    """The fields of an outcome that a test may care about."""

    confidence: float | None
    usage: Usage
    attempts: int
    tried: list[str]
    iteration: int
    started_at: float
    finished_at: float


def make_outcome(
    task_id: str = "t1",
    result: JsonValue = "Done.",
    *,
    agent: str = "ada",
    status: OutcomeStatus = "done",
    failure: str | None = None,
    **fields: Unpack[OutcomeFields],
) -> Outcome:
    """An outcome; `failure="why"` makes it a failed one, for good."""
    if failure is not None:
        status, result = "failed", ""
    failed = None if failure is None else Failure(kind="permanent", message=failure)
    return Outcome(task_id=task_id, agent=agent, status=status, result=result, failure=failed, **fields)


def make_record(
    task: Task | str = "t1",
    status: TaskStatus = "pending",
    *,
    agent: str | None = "ada",
    outcome: Outcome | None = None,
) -> TaskRecord:
    """A task with its route and, where given, its outcome."""
    route = None if agent is None else Route(agent=agent, reason="the only one", scores=[])
    return TaskRecord(task=_parse(task) if isinstance(task, str) else task, route=route, status=status, outcome=outcome)


def make_brief(
    task: Task | str = "t1",
    query: str = "What is the market like?",
    *,
    inputs: dict[str, JsonValue] | None = None,
    mail: list[Mail] | None = None,
    feedback: str = "",
) -> Brief:
    """What an agent gets to know about `task`."""
    made = _parse(task) if isinstance(task, str) else task
    return Brief(query=query, task=made, inputs=inputs or {}, mail=mail or [], feedback=feedback)
