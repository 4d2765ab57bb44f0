"""`baton log`: what happened in a run, from any point, and as it happens."""

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from graph.cli.codes import FAILED
from graph.cli.launches import existing
from graph.cli.looking import look
from graph.cli.options import AsJson, Db, Thread
from graph.cli.screen import complain, one_line, put, put_json, say
from graph.cli.watching import line_of
from graph.supervisor import open_supervisor
from state.audit import Entry
from state.errors import BadInput
from state.run import RunStatus

LOOK_EVERY_S = 0.25
SHOWN = 300
"""Characters of a question's arguments on a line."""
AT_WORK: frozenset[RunStatus] = frozenset({"running"})


def log(
    thread: Thread,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the run ends or waits")] = False,
    first: Annotated[int, typer.Option("--from", metavar="N", min=1, help="Begin with event number N")] = 1,
    approvals: Annotated[bool, typer.Option("--approvals", help="What humans were asked and decided")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="With --approvals: whether none was changed")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Print the events of a run, in order, or the record of its approvals."""
    if verify and not approvals:
        raise BadInput("only the record of approvals can be verified: add --approvals")
    if approvals:
        return _print_approvals(db, thread, verify=verify, as_json=as_json)
    asyncio.run(_print(existing(db), thread, first, follow=follow, as_json=as_json))
    return 0


def _print_approvals(db: Path | None, thread: str, *, verify: bool, as_json: bool) -> int:
    """Who asked and who decided what, when, through which door; with `verify`, 1 where the chain is broken."""
    entries, broken = look(db, lambda sup: sup.audit(thread))
    for entry in entries:
        if as_json:
            put_json(entry.model_dump(mode="json"))
        else:
            put(one_line(_line(entry)))
    if verify and broken:
        return complain(f"the record of {thread} cannot be trusted: {broken}", FAILED)
    if verify:
        say(f"the record holds: {len(entries)} entries, none changed, missing or moved")
    return 0


def _line(entry: Entry) -> str:
    """`3 2026-11-21 07:12:01 answered t1.0.c1 publish high by ana (command line) edit {...} -> {...}: message`."""
    at = datetime.fromtimestamp(entry.at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    words = [f"{entry.number:>4} {at} {entry.kind} {entry.approval} {entry.action} {entry.risk}"]
    if entry.decision:
        words.append(f"{entry.decision} by {entry.by} ({entry.door or 'signal'})")
    words.append(_args(entry.args))
    if entry.args_after is not None:
        words.append(f"-> {_args(entry.args_after)}")
    if told := entry.message or ("" if entry.decision else entry.reason):
        words.append(f": {told}")
    return " ".join(words)


def _args(args: dict[str, JsonValue]) -> str:
    """The arguments as JSON; `--json` has those in full that are cut here."""
    return one_line(json.dumps(args, ensure_ascii=False), SHOWN)


async def _print(db: Path, thread: str, first: int, *, follow: bool, as_json: bool) -> None:
    after = first - 1
    async with open_supervisor(db) as sup:
        while True:
            run = await sup.view(thread)
            is_over = not follow or run.status not in AT_WORK
            for event in await sup.events(thread, after):
                after = event.seq
                if as_json:
                    put_json(event.model_dump(mode="json"))
                else:
                    put(f"{event.seq:>5} {line_of(event)}")
            if is_over:
                return
            await asyncio.sleep(LOOK_EVERY_S)
