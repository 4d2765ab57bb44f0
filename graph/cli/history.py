"""`baton history`: what is remembered of runs, newest first, and forgetting it."""

import asyncio
from datetime import datetime
from typing import Annotated

import typer

from graph.cli.console import out, table
from graph.cli.launch import existing
from graph.cli.look import look, opened
from graph.cli.options import AsJson, Db
from graph.cli.screen import one_line, print_err, put_json
from nodes.policy.advice import SIMILAR_FROM
from nodes.policy.request_shape import shape_of, similarity
from nodes.runtime.episodes import forget_episodes, read_episodes
from state.episode import Episode
from state.errors import BadInput
from state.text import counted

PAGE = 50


def history(
    like: Annotated[str | None, typer.Option("--like", metavar="TEXT", help="Only requests that ask the same")] = None,
    forget: Annotated[str | None, typer.Option("--forget", metavar="THREAD", help="Forget this thread's runs")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Runs that are shown")] = PAGE,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Show what is remembered of runs, pruned ones too: later plans can learn from it.

    Examples:
      baton history
      baton history --like "Analyze the RPA market"
      baton history --forget launch
    """
    if forget is not None:
        return _forget(forget, db=db, as_json=as_json)
    found = look(db, lambda reading: read_episodes(reading.database.store))
    if like is not None:
        asked = shape_of(like)
        found = [one for one in found if similarity(asked, shape_of(one.request)) >= SIMILAR_FROM]
    _show(found[:limit], as_json=as_json)
    return 0


def _forget(thread: str, *, db: Db, as_json: bool) -> int:
    async def forgotten() -> int:
        async with opened(existing(db), for_writing=True) as reading:
            return await forget_episodes(reading.database.store, thread)

    count = asyncio.run(forgotten())
    if not count:
        raise BadInput(f"nothing is remembered of a thread {thread!r}; `baton history` lists what is")
    if as_json:
        put_json({"thread_id": thread, "forgotten": count})
    print_err(f"{counted(count, 'run')} forgotten")
    return 0


def _show(episodes: list[Episode], *, as_json: bool) -> None:
    if as_json:
        put_json([one.model_dump(mode="json") for one in episodes])
        return
    listed = table("thread", "status", "ended", "mode", "tasks", "corrected", "tokens", "request")
    for one in episodes:
        listed.add_row(*_row(one))
    out().print(listed)


def _row(one: Episode) -> list[str]:
    ended = datetime.fromtimestamp(one.finished_at).astimezone().strftime("%Y-%m-%d %H:%M")
    done = sum(task.status == "done" for task in one.tasks)
    tasks, tokens = f"{done}/{len(one.tasks)}", f"{one.tokens:,}"
    corrected = ", ".join(one.corrections)
    return [one_line(one.thread_id), one.status, ended, one.mode, tasks, corrected, tokens, one_line(one.request, 60)]
