"""smolagents: a ToolCallingAgent's model calls tools, all that can begin at once, in threads; kept in memory."""

import asyncio
import time
from pathlib import Path
from typing import Any

import plans
from smolagents import LogLevel, Tool, ToolCallingAgent
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model


class Leader(Model):
    """Calls whatever can begin."""

    def __init__(self, plan: plans.Plan, latency_s: float, ended: list[str]) -> None:
        super().__init__(model_id="leader")
        self.plan, self.latency_s, self.ended = plan, latency_s, ended
        self.begun: set[str] = set()

    def generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatMessage:  # noqa: ARG002 - it knows what is done
        """The calls, or the end."""
        time.sleep(self.latency_s)
        ready = self.plan.ready(self.ended, self.begun)
        self.begun.update(ready)
        asked = [("work", {"step": step}) for step in ready] or [("final_answer", {"answer": "done"})]
        calls = [
            ChatMessageToolCall(
                id=f"{name}-{number}", type="function", function=ChatMessageToolCallFunction(name=name, arguments=given)
            )
            for number, (name, given) in enumerate(asked)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)


class Work(Tool):
    """Does a step."""

    name = "work"
    description = "Have an agent do a step."
    inputs = {"step": {"type": "string", "description": "Its id."}}
    output_type = "string"

    def __init__(self, plan: plans.Plan, ended: list[str]) -> None:
        super().__init__()
        self.plan, self.ended = plan, ended

    def forward(self, step: str) -> str:
        """Do it."""
        time.sleep(self.plan.by_id[step].seconds)
        self.ended.append(step)
        return f"finding of {step}"


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:  # noqa: ARG001 - it is kept in memory
    """Seconds of one run."""
    ended: list[str] = []
    agent = ToolCallingAgent(
        tools=[Work(plan, ended)],
        model=Leader(plan, latency_s, ended),
        max_steps=5000,
        max_tool_threads=len(plan.steps),
        verbosity_level=LogLevel.OFF,
    )
    start = time.perf_counter()
    await asyncio.to_thread(agent.run, "Measure.")
    taken = time.perf_counter() - start
    plans.check(plan, ended)
    return taken
