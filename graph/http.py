"""What LangGraph's server has of ours besides the graph, for `http.app` in langgraph.json."""

from contextlib import AbstractAsyncContextManager

from langgraph_sdk import get_client
from starlette.applications import Starlette

from graph.upkeep import looked_after


def _while_up(_: Starlette) -> AbstractAsyncContextManager[None]:
    return looked_after(get_client)  # without a URL: the server that runs this


app = Starlette(lifespan=_while_up)
