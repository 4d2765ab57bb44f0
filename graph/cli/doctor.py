"""`baton doctor`: what is wrong with the database, the set-up and the `langgraph.json`, and saving what can be."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from graph.address import Address, file_at
from graph.cli.console import out, table
from graph.cli.options import COMPLETE, FAILED, AsJson, Db
from graph.cli.screen import one_line, print_err, put_json
from graph.doctor import Finding, check_config, check_database, check_setup, save_copy
from graph.settings import read_settings
from graph.sqlite.salvage import Saved
from graph.witness import seals_of
from nodes.runtime.audit import Seals
from nodes.runtime.clock import SystemClock
from state.errors import SettingsInvalid
from state.text import counted

Save = Annotated[Path | None, typer.Option("--save", metavar="COPY", help="Copy what can be read into a new database")]
Config = Annotated[Path, typer.Option("--config", metavar="FILE", help="The configuration of LangGraph's server")]

LANGGRAPH_JSON = Path("langgraph.json")
LOOKS = "`baton doctor --save` needs"


def doctor(save: Save = None, config: Config = LANGGRAPH_JSON, db: Db = None, as_json: AsJson = False) -> int:
    """Say what is wrong with the database, the set-up and langgraph.json; exit code 1 if anything is.

    Examples:
      baton doctor
      baton doctor --db broken.db --save saved.db
    """
    found = asyncio.run(_findings(db))
    if config.exists() or config != LANGGRAPH_JSON:
        found += check_config(config)
    if as_json:
        put_json([{"about": one.about, "ok": one.is_well, "says": one.says} for one in found])
    else:
        listed = table("", "what", "says")
        for one in found:
            listed.add_row("ok" if one.is_well else "WRONG", one_line(one.about), one_line(one.says))
        out().print(listed)
    if save is not None:
        _tell_saved(asyncio.run(save_copy(file_at(db or read_settings().db, LOOKS), save)), save)
    return COMPLETE if all(one.is_well for one in found) else FAILED


async def _findings(db: Address | None) -> list[Finding]:
    try:
        settings = read_settings()
    except SettingsInvalid as error:
        found = [Finding("environment", False, str(error))]
        return found + ([one async for one in check_database(db, SystemClock(), Seals())] if db else [])
    found = [Finding("environment", True, "understood")]
    found += [one async for one in check_database(db or settings.db, SystemClock(), seals_of(settings))]
    return found + [one async for one in check_setup(settings)]


def _tell_saved(saved: dict[str, Saved], copy: Path) -> None:
    rows = sum(one.rows for one in saved.values())
    lost = sum(one.lost for one in saved.values())
    gaps = sum(one.gaps for one in saved.values())
    owners = sorted({owner for one in saved.values() for owner in one.owners})
    told = f"saved {counted(rows, 'row')} in {copy}"
    if lost or gaps:
        told += f"; left out {counted(lost, 'damaged row')}, and what stood in {counted(gaps, 'unreadable place')}"
    if owners:
        told += f", of {', '.join(owners[:20])}"
    print_err(one_line(told))
