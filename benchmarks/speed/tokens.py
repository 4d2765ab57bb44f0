"""Tokens that the market analysis sends, against those of a supervisor that sends each agent the whole conversation.

    python benchmarks/speed/tokens.py

Counted from the messages of one run with the offline model. Full history: a call gets all messages that came before it
in the run, whoever's they were, and its own; what stands in several calls is counted once in a call.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2])]

from langchain_core.messages import BaseMessage  # noqa: E402 - found by the line above
from langchain_core.outputs import ChatGenerationChunk, ChatResult  # noqa: E402

from graph import open_supervisor  # noqa: E402
from nodes.llm.offline.model import OfflineModel  # noqa: E402
from nodes.llm.tokens import message_tokens  # noqa: E402

MARKET = Path(__file__).parents[2] / "examples" / "market"
AT_MOST = 0.35


class Listening(OfflineModel):
    """Remembers what it was sent."""

    def __init__(self, sent: list[list[BaseMessage]]) -> None:
        super().__init__()
        self._sent = sent

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self._sent.append(list(messages))
        return await super()._agenerate(messages, *args, **kwargs)

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self._sent.append(list(messages))
        async for chunk in super()._astream(messages, *args, **kwargs):
            yield chunk


async def calls_of(folder: Path) -> list[list[BaseMessage]]:
    """The messages of each call of the run, in order."""
    sent: list[list[BaseMessage]] = []
    policy = {"oversight": "on_the_loop"}
    async with open_supervisor(folder / "runs.db", policy=policy, model=Listening(sent)) as sup:
        run = await sup.start((MARKET / "question.txt").read_text("utf-8"), [MARKET / "sources"])
    if run.status != "complete":
        raise SystemExit(f"the run ended as {run.status}: {run.error}")
    return sent


def main() -> None:
    """Count and print."""
    with tempfile.TemporaryDirectory() as folder:
        calls = asyncio.run(calls_of(Path(folder)))
    scoped = sum(message_tokens(message) for call in calls for message in call)
    known: dict[str, int] = {}
    full = 0
    for call in calls:
        known |= {f"{message.type}: {message.content!r}": message_tokens(message) for message in call}
        full += sum(known.values())
    print(
        f"{len(calls)} calls, {scoped} tokens sent; with full history {full}: {scoped / full:.2f} x (at most {AT_MOST})"
    )


if __name__ == "__main__":
    main()
