"""Whatever a server does: the run ends in order, what others finished is delivered, the budget is kept, words help.

Every third in `make test`, all in a campaign.
"""

import logging
from typing import Any

import pytest
from pydantic import SecretStr

from nodes.llm.choose import make_models
from state.agent import AgentSpec
from tests.runs import agent, opened, plan, statuses
from tests.servers.misbehaviours import ROWS
from tests.servers.openai_stub import OpenAIStub

BUDGET = 10_000


def _marked(number: int, name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.campaign) if number % 3 else name


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # by OpenAI's client, of what is odd
@pytest.mark.parametrize("name", [_marked(number, name) for number, name in enumerate(ROWS)])
async def test_it_ends_in_order_with_what_was_finished(name: str, caplog: pytest.LogCaptureFixture) -> None:
    behaviour, status, words = ROWS[name]
    with OpenAIStub(behaviour) as server:
        silence, trickle = "in time: nothing" in words, "still answering" in words
        more = {"base_url": server.url, "model": "m", "timeout_s": 0.4 if silence else 30}
        model = make_models(api_key=SecretStr("secret"), **more).default  # type: ignore[arg-type]
        odd = AgentSpec(name="odd", role="odd", tools=["calculate"], model=model)
        tasks = plan({"id": "a", "role": "odd"}, {"id": "b", "role": "generalist"})
        limits = {"token_budget": BUDGET, "call_timeout_s": 1 if trickle else 30, "max_attempts": 2}
        with caplog.at_level(logging.ERROR):
            async with opened(odd, agent(), model=model, max_iterations=0, **limits) as sup:  # type: ignore[arg-type]
                run = await sup.start("Q", plan=tasks)

    assert statuses(run) == {"a": status, "b": "done"}
    assert (run.status, run.waits_for) == ("complete" if status == "done" else "partial", "")
    assert "b is done" in str(run.report)
    is_in_one_reply = name == "a megabyte"  # which is not to be foreseen; no other call is made after it
    assert run.usage.total_tokens <= BUDGET * 1.05 or (is_in_one_reply and run.usage.calls == 1)
    error = str(run.tasks[0].error or "")
    assert words in error
    assert ("is the address right" in error) == ("not a chat completion" in words)
    assert "\n" not in error
    assert "Traceback" not in str(run.report)
    assert caplog.records == []
