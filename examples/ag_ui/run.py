"""Baton for pages that speak AG-UI (CopilotKit and others): `python examples/ag_ui/run.py`, then POST to port 8000.

`state` of a turn may name `sources`, a `policy` and a `schema`. A question ends the turn as an interrupt.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite.aio import AsyncSqliteStore

from graph import build_supervisor

OWN_MESSAGES_ONLY: RunnableConfig = {"metadata": {"emit-messages": False, "emit-tool-calls": False}}
"""What agents think and call on the way is not the assistant's answer: the thread's messages tell the story."""


@asynccontextmanager
async def supervised(app: FastAPI) -> AsyncIterator[None]:
    """While the page is served, a supervisor whose runs outlive the process."""
    saver, store = (kind.from_conn_string("ag_ui.db") for kind in (AsyncSqliteSaver, AsyncSqliteStore))
    async with saver as checkpoints, store as rows:
        await rows.setup()
        graph = build_supervisor(checkpointer=checkpoints, store=rows)
        baton = LangGraphAgent(
            name="baton", graph=graph, config=OWN_MESSAGES_ONLY, emit_raw_events=False, emit_interrupt_outcome=True
        )
        add_langgraph_fastapi_endpoint(app, baton)
        yield


app = FastAPI(lifespan=supervised)
if __name__ == "__main__":
    uvicorn.run(app)
