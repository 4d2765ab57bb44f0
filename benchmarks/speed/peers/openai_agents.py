"""OpenAI Agents SDK: the model calls function tools, all that can begin at once, then is asked again; in memory."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import plans
from agents import Agent, RunConfig, Runner, function_tool
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class Leader(Model):
    """Calls whatever can begin."""

    def __init__(self, plan: plans.Plan, latency_s: float) -> None:
        self.plan, self.latency_s = plan, latency_s
        self.begun: set[str] = set()

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002, ARG002
        """The calls, or the end."""
        await asyncio.sleep(self.latency_s)
        items = input if isinstance(input, list) else []
        done = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
        ready = self.plan.ready(done, self.begun)
        self.begun.update(ready)
        output: list[Any] = [
            ResponseFunctionToolCall(
                arguments=f'{{"step": "{step}"}}', call_id=step, name="work", type="function_call", id=step
            )
            for step in ready
        ]
        if not output:
            text = ResponseOutputText(annotations=[], text="done", type="output_text", logprobs=[])
            output = [
                ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
            ]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """It is not streamed."""
        raise NotImplementedError


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:  # noqa: ARG001 - it is kept in memory
    """Seconds of one run."""
    ended: list[str] = []

    @function_tool
    async def work(step: str) -> str:
        """Have an agent do a step."""
        await asyncio.sleep(plan.by_id[step].seconds)
        ended.append(step)
        return f"finding of {step}"

    agent = Agent(name="leader", tools=[work], model=Leader(plan, latency_s))
    start = time.perf_counter()
    await Runner.run(agent, "Measure.", max_turns=5000, run_config=RunConfig(tracing_disabled=True))
    taken = time.perf_counter() - start
    plans.check(plan, ended)
    return taken
