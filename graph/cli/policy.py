"""`baton policy`: every policy field, what may be given, its default, and what it does."""

import json

from pydantic import JsonValue

from graph.cli.console import out, table
from graph.cli.launch import existing
from graph.cli.look import look
from graph.cli.options import AsJson, Db, MaybeThread
from graph.cli.screen import put_json
from graph.composition import policy_of
from graph.policy_text import fields
from graph.reading import Reading
from graph.settings import read_settings
from state.channels import terms_of
from state.policy import Policy


def policy(thread: MaybeThread = None, db: Db = None, as_json: AsJson = False) -> int:
    """List every policy field with its default and what it does; with a thread, what its run works under.

    Fields are set by `--set KEY=VALUE` or `--policy FILE`, by `policy:` in a team file, and for everything by
    BATON_POLICY; the first of these that says something holds.

    Examples:
      baton policy
      baton policy launch --json
    """
    holds = policy_of(read_settings()) if thread is None else look(existing(db), lambda reading: _of(reading, thread))
    given = holds.model_dump(mode="json")
    if as_json:
        put_json([{"name": one.name, "values": one.kind, "default": one.default, "holds": given[one.name],
                   "effect": one.effect} for one in fields()])  # fmt: skip
        return 0
    listed = table("field", "holds", "values", "what it does", least=("values",))
    for one in fields():
        changed = "" if given[one.name] == one.default else f" (default: {_shown(one.default)})"
        listed.add_row(one.name, _shown(given[one.name]) + changed, one.kind, one.effect)
    out().print(listed)
    return 0


async def _of(reading: Reading, thread: str) -> Policy:
    """The policy that was frozen when the thread's run began."""
    position = await reading.position(thread)
    return terms_of(position.state).policy


def _shown(value: JsonValue) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)
