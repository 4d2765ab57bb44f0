"""What a model is asked to reply with, loosely typed on purpose: weak models leave fields out and mix up names.

`maxItems` and `maxLength` stand only in the schema that the model is given: a weak model that is held to the schema
goes on with a list or a text for ever otherwise. What is longer is read all the same.

These are drafts. `nodes.policy.plans` repairs a draft into a `Plan`, or says what is wrong with it.
"""

from pydantic import BaseModel, ConfigDict, Field, JsonValue

FINITE: dict[str, JsonValue] = {"maxItems": 20}
NAME: dict[str, JsonValue] = {"maxLength": 40}
SENTENCES: dict[str, JsonValue] = {"maxLength": 400}


class TaskDraft(BaseModel):
    """A task as a model proposes it."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field(default="", description="Short unique id, such as t1", json_schema_extra=NAME)
    description: str = Field(
        default="", description="What is to be done, in one or two sentences", json_schema_extra=SENTENCES
    )
    role: str = Field(
        default="generalist", description="A role or an agent's name from the team", json_schema_extra=NAME
    )
    kind: str = Field(
        default="general",
        description="research, analysis, strategy, implementation, writing, review, action, critical or general",
        json_schema_extra=NAME,
    )
    depends_on: list[str] = Field(
        default_factory=list, description="Ids of the tasks whose results this one needs", json_schema_extra=FINITE
    )
    required: bool = Field(default=True, description="False if the request can be answered without it")
    action: str = Field(
        default="",
        description="publish, send, delete … if it changes the outside world, else empty",
        json_schema_extra=NAME,
    )
    needs_tools: bool = Field(default=True, description="False if it can be answered without tools and sources")


class PlanDraft(BaseModel):
    """A plan: the tasks that together answer the request."""

    model_config = ConfigDict(extra="ignore")

    tasks: list[TaskDraft] = Field(
        default_factory=list, description="The tasks, in a sensible order", json_schema_extra=FINITE
    )
    complexity: float = Field(default=0.5, description="How hard the request is: 0 trivial, 1 very hard")
    dynamic: bool = Field(default=False, description="True if more tasks will probably turn up on the way")
    communicates: bool = Field(default=False, description="True if agents must talk to each other while they work")


class Verdict(BaseModel):
    """What a reviewer thinks of one task's result."""

    model_config = ConfigDict(extra="ignore")

    task_id: str = Field(default="", description="The task", json_schema_extra=NAME)
    accept: bool = Field(default=True, description="False if it must be done again")
    feedback: str = Field(
        default="",
        description="What to do better, in one or two sentences; empty if accepted",
        json_schema_extra=SENTENCES,
    )


class Gap(BaseModel):
    """Something that a request asks for and that no task was given."""

    model_config = ConfigDict(extra="ignore")

    description: str = Field(default="", description="A task that would find it out, in one or two sentences")
    role: str = Field(default="generalist", description="A role or an agent's name from the team")
    kind: str = Field(default="general", description="research, analysis, strategy, implementation, writing or general")


class Review(BaseModel):
    """What a reviewer thinks of the results."""

    model_config = ConfigDict(extra="ignore")

    verdicts: list[Verdict] = Field(
        default_factory=list,
        description="One for each task that was shown",
        json_schema_extra=FINITE,
    )
    gaps: list[Gap] = Field(
        default_factory=list,
        description="What the request asks for and no task was given; usually none",
        json_schema_extra=FINITE,
    )
    beside: bool = Field(
        default=False,
        description="True if all of that can stand below the answer in sections of its own; else it is written again",
    )
