"""`baton worker`: takes runs off the queue and works on them, beside any number of others."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from graph.address import Address
from graph.cli.options import COMPLETE, AsJson, Db
from graph.cli.result import summary
from graph.cli.screen import one_line, print_err, put_json, run_as_json
from graph.supervisor import open_supervisor
from graph.worker import DRAIN_S
from state.run import Run


def worker(
    runs: Annotated[
        int, typer.Option("--runs", metavar="N", min=1, help="Runs at once, beside those of dead workers")
    ] = 8,
    drain: Annotated[
        float, typer.Option("--drain", metavar="S", min=0, help="Seconds for what is at work when told to stop")
    ] = DRAIN_S,
    team: Annotated[Path | None, typer.Option("--team", metavar="FILE", help="Team file [default: built-in]")] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Chat model, or `offline`")] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> int:
    """Take runs of a team off the queue, until told to stop (SIGTERM or Ctrl-C); needs PostgreSQL.

    Any number of workers, anywhere, share the runs that `baton run --queue` puts in. What one was at that died is
    another's within ten seconds.

    Examples:
      baton worker --runs 8 --db postgresql://baton@db/baton
      baton worker --team team.yaml
    """

    def done(run: Run) -> None:
        if as_json:
            put_json(run_as_json(run))
        else:
            print_err(summary(run))

    asyncio.run(_work(db, team, model, runs, drain, done))
    return COMPLETE


async def _work(
    db: Address | None, team: Path | None, model: str | None, runs: int, drain: float, done: object
) -> None:
    async with open_supervisor(db, team=team, model=model) as sup:
        print_err(f"a worker for {', '.join(sup.services.team.names)}: {runs} runs at once; Ctrl-C stops it")
        await sup.work(runs, drain_s=drain, on_run=done, complain=_complain)  # type: ignore[arg-type]


def _complain(problem: str) -> None:
    print_err(f"baton: {one_line(problem)}")
