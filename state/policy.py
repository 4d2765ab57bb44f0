"""What a run may do. Frozen into the run's state when it starts: a policy that changes later changes new runs only."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from state.errors import PolicyInvalid
from state.text import Json

Oversight = Literal["auto", "in_command", "in_the_loop", "on_the_loop"]
Timeout = Literal["approve", "reject", "escalate"]
OnReject = Literal["revise", "replan", "fail"]
Learning = Literal["off", "suggest", "apply"]
Reply = Literal["plan", "review", "answer", "worker"]
"""What models are asked for: by the supervisor, and (`worker`) by agents."""
Share = Field(ge=0, le=1)


class Price(BaseModel):
    """What a model's tokens cost: US dollars per million."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)


class Policy(BaseModel):
    """What a run may do, and when it asks. Unknown or out-of-range values are refused by name.

    Sources: thresholds and limits from the book's chapter 15, by section beside the field, and the supervisor guide.
    Users read the text below each field.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    oversight: Oversight = "in_the_loop"  # 15.12.3
    """How closely a human watches: `in_command` asks about the plan and every step, `in_the_loop` where something is
    sensitive, costly or uncertain, `on_the_loop` about what is critical and where failures pile up (the rest is told),
    `auto` as each agent's trust has it."""
    max_parallel: int = Field(default=10, ge=1, le=1000)
    """Tasks at work at the same time."""
    max_team_size: int = Field(default=10, ge=1, le=1000)  # 15.10
    """Agents at work or waiting in one run, recruits included; the rest of a larger plan goes to those."""
    max_attempts: int = Field(default=3, ge=1, le=20)  # 15.5
    """Tries of one task by one agent."""
    failure_threshold: dict[str, float] = {"default": 0.5, "analysis": 0.2, "critical": 0.0}  # 15.5
    """By kind of task, which share of the run's tasks may fail; with one more the run gives up."""
    max_iterations: int = Field(default=2, ge=0, le=20)
    """Rounds in which review may send work back, or add what was left out; after the last it looks once more."""
    reviewer: str = Field(default="", max_length=64)
    """The agent of the team that reviews, by name, with its model and instructions, whoever did the work. Empty: who
    writes the answer says what the results lack; else the model that plans reviews what chat models did."""
    approval_timeout_s: float | dict[str, float] = 1800.0  # 15.12.5
    """Seconds a human has to answer, also by risk: `{"default": 1800, "high": 300}`."""
    on_timeout: dict[str, Timeout] = {"low": "approve", "default": "reject"}
    """By risk, what happens when nobody answers in time; `escalate` tells somebody else first. What is critical is
    always rejected."""
    on_reject: OnReject = "revise"  # 15.12.5
    """What a human's no means: the agent goes on with the feedback (`revise`), the plan is made anew with it, at most
    `max_iterations` times (`replan`), or the task fails (`fail`). With the last two a task that is not required is
    skipped."""
    confidence_threshold: float = Field(default=0.6, ge=0, le=1)  # 15.12.2
    """A result whose agent is less sure of it counts as uncertain, and a human is asked.

    Not where only the offline model has worked: that it finds nothing is an answer, and asked again it finds the same.
    """
    cost_limit: float = Field(default=1.0, ge=0)  # 15.12.2
    """US dollars that a single action may cost without a human."""
    sensitive_actions: list[str] = ["delete", "publish", "pay", "send", "share"]  # 15.12.8
    """Actions whose name contains one of these ask a human first."""
    consecutive_failures: int = Field(default=3, ge=1)  # 15.12.2
    """Failures in a row that call a human: tasks of one agent, or tries of one required task."""
    decision_timeout_s: float | None = Field(default=None, gt=0)  # 15.12.2
    """Seconds an agent has for one try before a human is called; without, only its own `limits.timeout_s`."""
    token_budget: int | None = Field(default=None, ge=1)
    """Tokens, input and output together, that the run may use; without, there is no limit."""
    max_tokens: dict[Reply, int] = {"plan": 4096, "review": 4096, "answer": 4096, "worker": 4096}
    """Tokens a reply of a model may have at most, by what is asked for; less where the `token_budget` has less left."""
    call_timeout_s: float = Field(default=300, gt=0)
    """Seconds one call of a model may take in all, however steadily its reply arrives. Keep it below what an agent has
    for a try (`limits.timeout_s`): then the model is named as what is slow, and is not asked the same again."""
    cost_budget: float | None = Field(default=None, gt=0)
    """US dollars that the run may use: what tools and agents declare, and tokens at `prices`; without, no limit.

    A call of a model with a price is made only if prompt and longest reply fit. What an agent declares is known when it
    is done: that may overrun it, which is warned of, as are models without a price."""
    prices: dict[str, Price] = {}
    """By name of a model, US dollars per million tokens; none is built in. What a model without one costs is told as
    unknown, never as nothing."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Seconds that the tasks may take in all, without the time in which a human is waited for; without, no limit."""
    recruit_roles: list[str] | None = None
    """Roles that agents may recruit on the way; without, any."""
    on_failed_input: Literal["degrade", "skip"] = "degrade"
    """What happens to a task some of whose inputs failed: it works with the rest, or is skipped."""
    max_agent_iterations: int = Field(default=200, ge=1)
    """Calls of models that all agents of a run may make together."""
    max_delegation_depth: int = Field(default=2, ge=0, le=20)
    """How deep an agent's workers may have workers of their own."""
    delegation: Literal["allowed", "needs_approval", "forbidden"] = "allowed"
    """Whether agents with `workers` may give parts of a task to those: freely, asking a human each time, or not."""
    learning: Learning = "apply"  # 15.7
    """Whether a plan that went well for similar requests is used again: `apply` takes it without asking a model for
    one, `suggest` shows it to whoever plans, `off` remembers nothing and looks nothing up."""

    @field_validator("*", mode="before")
    @classmethod
    def _no_booleans(cls, value: object) -> object:
        given = value if isinstance(value, Mapping) else {"": value}
        for name, one in given.items():
            if isinstance(one, bool):  # Python would count it as 1 or 0
                raise ValueError(f"{f'{name}: ' if name else ''}{str(one).lower()} is no value for it")
        return value

    @field_validator("failure_threshold")
    @classmethod
    def _shares(cls, value: dict[str, float]) -> dict[str, float]:
        for kind, share in value.items():
            if not 0 <= share <= 1:
                raise ValueError(f"failure_threshold[{kind!r}] is {share}; give a share from 0 to 1")
        return {"default": 0.5, **value}

    @field_validator("max_tokens")
    @classmethod
    def _caps(cls, value: dict[Reply, int]) -> dict[Reply, int]:
        for reply, cap in value.items():
            if cap < 1:
                raise ValueError(f"max_tokens[{reply!r}] is {cap}; give at least 1")
        return {"plan": 4096, "review": 4096, "answer": 4096, "worker": 4096, **value}

    @field_validator("approval_timeout_s")
    @classmethod
    def _deadlines(cls, value: float | dict[str, float]) -> float | dict[str, float]:
        by_risk = value if isinstance(value, dict) else {"default": value}
        _check_risks("approval_timeout_s", by_risk)
        for risk, seconds in by_risk.items():
            if not 0 < seconds < inf:
                raise ValueError(f"approval_timeout_s[{risk!r}] is {seconds}; give seconds, more than 0")
        return {"default": 1800.0, **value} if isinstance(value, dict) else value

    @field_validator("on_timeout")
    @classmethod
    def _risks(cls, value: dict[str, Timeout]) -> dict[str, Timeout]:
        _check_risks("on_timeout", value)
        return {"default": "reject", **value}


def _check_risks(name: str, given: Iterable[str]) -> None:
    known = {"low", "medium", "high", "critical", "default"}
    if unknown := sorted(set(given) - known):
        raise ValueError(f"{name} has unknown risks {unknown}; known are {sorted(known)}")


def merged_policy(policy: Policy, changes: Json | None) -> Policy:
    """`policy` with some fields changed.

    Raises:
        PolicyInvalid: names the fields that are unknown or out of range.
    """
    if not isinstance(changes or {}, Mapping):  # it may come from a file or a client
        raise PolicyInvalid(f"a policy is a mapping of its fields, not {type(changes).__name__}; give `field: value`")
    try:
        return Policy.model_validate({**policy.model_dump(mode="json"), **(changes or {})})
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise PolicyInvalid(f"the policy cannot be used: {' '.join(wrong.split())}") from error
