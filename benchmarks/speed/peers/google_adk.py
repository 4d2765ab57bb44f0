"""Google ADK: the model of an LlmAgent calls function tools, all that can begin at once, then is asked; in memory."""

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import plans
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types


class Leader(BaseLlm):
    """Calls whatever can begin."""

    model: str = "leader"
    plan: Any
    latency_s: float
    begun: set[str] = set()

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - it is not streamed
    ) -> AsyncGenerator[LlmResponse, None]:
        """The calls, or the end."""
        await asyncio.sleep(self.latency_s)
        parts = [part for content in llm_request.contents for part in content.parts or []]
        done = {part.function_response.response["step"] for part in parts if part.function_response}
        ready = self.plan.ready(done, self.begun)
        self.begun.update(ready)
        calls = [types.Part(function_call=types.FunctionCall(name="work", args={"step": step})) for step in ready]
        yield LlmResponse(content=types.Content(role="model", parts=calls or [types.Part(text="done")]))


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:  # noqa: ARG001 - it is kept in memory
    """Seconds of one run."""
    ended: list[str] = []

    async def work(step: str) -> dict[str, str]:
        """Have an agent do a step."""
        await asyncio.sleep(plan.by_id[step].seconds)
        ended.append(step)
        return {"step": step, "found": f"finding of {step}"}

    agent = LlmAgent(name="leader", model=Leader(plan=plan, latency_s=latency_s), tools=[work])
    runner = InMemoryRunner(agent=agent, app_name="measure")
    session = await runner.session_service.create_session(app_name="measure", user_id="u")
    asked = types.Content(role="user", parts=[types.Part(text="Measure.")])
    limits = RunConfig(max_llm_calls=5000)
    start = time.perf_counter()
    async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=asked, run_config=limits):
        pass
    taken = time.perf_counter() - start
    plans.check(plan, ended)
    return taken
