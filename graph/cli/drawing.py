"""`baton graph`: the graph of a run, drawn."""

from typing import Annotated, cast

import typer
from pydantic import JsonValue

from graph.app import supervisor
from graph.cli.options import AsJson, Db
from graph.cli.screen import print_out, put_json


def graph(
    xray: Annotated[bool, typer.Option("--xray", help="With the worker graph inside")] = False,
    db: Db = None,  # noqa: ARG001 # every command takes it
    as_json: AsJson = False,
) -> int:
    """Print the graph as Mermaid.

    Examples:
      baton graph > graph.mmd
      baton graph --xray
    """
    drawn = supervisor.get_graph(xray=xray)
    if as_json:
        put_json(cast(JsonValue, drawn.to_json()))
    else:
        print_out(drawn.draw_mermaid())
    return 0
