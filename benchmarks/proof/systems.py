"""The systems: each takes a world and gives its answer, and how many questions it asked a human.

One agent, a plain DAG and langgraph-supervisor are written as LangGraph's documentation shows them.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import or_
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_supervisor import create_supervisor
from typing_extensions import TypedDict
from world import UNHELPFUL, World

from graph import AgentSpec, open_supervisor
from nodes.llm.scripted import Delay, ScriptedModel
from state.agent import Brief
from state.replies import Gap, PlanDraft, Review, TaskDraft, Verdict

Answer = tuple[str, int]
TRIES = 3
A_DAY_S = 86_400.0


async def one_agent(world: World) -> Answer:
    """One call that does it all."""
    with suppress(ConnectionError):
        return await world.alone(world.request.text), 0
    return "", 0


class Findings(TypedDict):
    """What the nodes of the DAG share."""

    found: Annotated[dict[str, str], or_]
    answer: str


async def plain_dag(world: World, tries: int = 1) -> Answer:
    """A planning call, a node for each task, all at once, and one that writes; what fails is left out."""
    seconds, parts = world.plan(world.request.text)
    await asyncio.sleep(seconds)
    builder = StateGraph(Findings)

    def work(name: str) -> Callable[[Findings], Any]:
        async def node(_: Findings) -> dict[str, Any]:
            return {"found": await tried(lambda: world.work(name, f"{world.request.text} {name}"), name)}

        return node

    async def tried(do: Callable[[], Any], name: str) -> dict[str, str]:
        for _ in range(tries):
            with suppress(ConnectionError):
                return {name: await do()}
        return {}

    async def write(state: Findings) -> dict[str, str]:
        results = list(state["found"].values())
        made = await tried(lambda: world.write(results, " ".join([world.request.text, *results])), "answer")
        return {"answer": made.get("answer") or "\n\n".join(results)}

    builder.add_node("write", write)
    for part in parts:
        builder.add_node(part.name, work(part.name))
        builder.add_edge(START, part.name)
    builder.add_edge([part.name for part in parts], "write")
    builder.add_edge("write", END)
    made = await builder.compile().ainvoke({"found": {}, "answer": ""})
    return str(made["answer"]), 0


async def dag_with_retries(world: World) -> Answer:
    """The same; each node tries up to three times."""
    return await plain_dag(world, TRIES)


async def peer_supervisor(world: World) -> Answer:
    """langgraph-supervisor: the model hands over to one agent after the other, and back; then the writer's word counts.

    A worker that failed, or said nothing of use where that is noticed, is asked once more.
    """
    found: dict[str, str] = {}
    written: list[str] = []
    parts: list[str] = []
    asked: dict[str, int] = {}

    def lead(messages: list[BaseMessage], _: list[str]) -> Delay:
        prompt = " ".join(str(message.text) for message in messages)
        if not parts:
            seconds, planned = world.plan(prompt)
            parts.extend(part.name for part in planned)
        else:
            _, seconds = world.begin("lead", prompt)
        again = [name for name in parts if asked.get(name) == 1 and _is_poor(name)]
        todo = [name for name in parts if name not in asked] or again
        if not todo and not written and asked.get("writer", 0) < TRIES - 1:
            todo = ["writer"]
        if not todo:
            return Delay(seconds, "Done.")
        asked[todo[0]] = asked.get(todo[0], 0) + 1
        return Delay(seconds, {"name": f"transfer_to_{todo[0]}", "args": {}})

    def _is_poor(name: str) -> bool:
        return name not in found or (found[name] == UNHELPFUL and world.notices(name))

    def agent(name: str) -> Any:
        async def work(state: MessagesState) -> dict[str, Any]:
            prompt = " ".join(str(message.text) for message in state["messages"])
            try:
                if name == "writer":
                    written.append(await world.write([*found.values()], prompt))
                    return {"messages": [AIMessage(written[-1], name=name)]}
                found[name] = await world.work(name, prompt)
            except ConnectionError as error:
                return {"messages": [AIMessage(f"failed: {error}", name=name)]}
            return {"messages": [AIMessage(found[name], name=name)]}

        builder = StateGraph(MessagesState)
        builder.add_node("work", work)
        builder.add_edge(START, "work")
        builder.add_edge("work", END)
        return builder.compile(name=name)

    team = [agent(name) for name in [*(part.name for part in world.request.parts), "writer"]]
    graph = create_supervisor(team, model=ScriptedModel({"": lead})).compile()
    await graph.ainvoke({"messages": [HumanMessage(world.request.text)]}, {"recursion_limit": 500})
    return written[-1] if written else "\n\n".join(found.values()), 0


class WorldClock:
    """A clock whose seconds are the world's."""

    def __init__(self, second: float) -> None:
        self._second = second

    def now(self) -> float:
        """Simulated seconds since some time."""
        return 1_700_000_000 + time.monotonic() / self._second

    async def sleep(self, seconds: float) -> None:
        """Wait, as long as that really takes."""
        await asyncio.sleep(seconds * self._second)

    def jitter(self) -> float:
        """The middle."""
        return 0.5


async def baton(world: World, database: Path, thread: str = "t", **policy: Any) -> Answer:
    """Baton: the agents are functions, the planner and the reviewer one scripted model."""

    def plans(messages: list[BaseMessage], _: list[str]) -> Delay:
        seconds, parts = world.plan(" ".join(str(message.text) for message in messages))
        research = [
            TaskDraft(id=f"t{n}", description=_wanted(world, part.name), role="researcher", kind="research")
            for n, part in enumerate(parts, 1)
        ]
        ids = [task.id for task in research]
        last = TaskDraft(
            id="text",
            description=f"Write the answer: {world.request.text}",
            role="writer",
            kind="writing",
            depends_on=ids,
        )
        is_dynamic = policy.get("max_iterations") != 0
        return Delay(seconds, PlanDraft(tasks=[*research, last], complexity=0.5, dynamic=is_dynamic))

    async def researches(brief: Brief, _: object) -> str:
        return await world.work(world.part_in(brief.task.description), _prompt(brief))

    async def writes(brief: Brief, _: object) -> dict[str, Any]:
        inputs = {other: str(result) for other, result in brief.inputs.items()}
        text = await world.write([*inputs.values()], _prompt(brief))
        judged = {other: inputs[other] for other in brief.reviews}
        return {"result": text, "review": _opinion(world, brief.reviews, judged).model_dump()}

    def reviews(messages: list[BaseMessage], _: list[str]) -> Delay:
        return _review(world, " ".join(str(message.text) for message in messages))

    model = ScriptedModel({"You are the supervisor of a team": plans, "You review the results": reviews})
    team = [
        AgentSpec(name="researcher", role="researcher", run=researches),
        AgentSpec(name="writer", role="writer", run=writes),
        AgentSpec(name="critic", role="critic", model=model),
    ]
    given = {"learning": "off", "approval_timeout_s": A_DAY_S, **policy}  # whoever is asked answers at once
    async with open_supervisor(database, team, given, model, clock=WorldClock(world.second)) as sup:
        run = await sup.start(world.request.text, thread_id=thread)
        questions = 0
        while run.status == "waiting":
            questions += len(run.approvals)
            run = await sup.answer(thread, {question.id: {"type": "approve"} for question in run.approvals})
    return run.report or "", questions


def _wanted(world: World, name: str) -> str:
    return f"Find out the “{name}” for: {world.request.text}"


def _prompt(brief: Brief) -> str:
    inputs = map(str, brief.inputs.values())
    return " ".join([brief.query, brief.task.description, *inputs, *brief.reviews.values(), brief.feedback])


_SECTION = re.compile(r'<(task|result|other)\s[^>]*?(?:id|task)="([^"]+)"[^>]*>\n(.*?)\n</\1>', re.DOTALL)


def _review(world: World, prompt: str) -> Delay:
    """What a reviewer says of what it is shown."""
    _, seconds = world.begin("review", prompt)
    tasks: dict[str, str] = {}
    results: dict[str, str] = {}
    for kind, task_id, body in _SECTION.findall(prompt):
        (results if kind == "result" else tasks)[task_id] = body
    return Delay(seconds, _opinion(world, tasks, results))


def _opinion(world: World, tasks: Mapping[str, str], results: Mapping[str, str]) -> Review:
    """A verdict on each result, and the parts that no task is about: each is a section of the answer."""
    about = {task_id: world.part_in(said) for task_id, said in tasks.items()}
    faults = world.faults({about[task_id]: text for task_id, text in results.items()})
    verdicts = [
        Verdict(task_id=task_id, accept=about[task_id] not in faults, feedback=faults.get(about[task_id], ""))
        for task_id in results
    ]
    missed = [part.name for part in world.request.parts if part.name not in about.values()]
    gaps = [
        Gap(description=_wanted(world, name), role="researcher", kind="research")
        for name in missed
        if world.notices(f"gap {name}")
    ]
    world.said("x" * 60 * len(verdicts))
    return Review(verdicts=verdicts, gaps=gaps, beside=True)
