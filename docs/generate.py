"""Writes docs/policy.md and docs/events.md from the models, and draws the graph: `python docs/generate.py`."""

import json
from pathlib import Path

from graph.policy_text import fields
from nodes.policy.phases import END, EXITS
from state.event import FIELDS, MEANINGS, OPTIONAL

HERE = Path(__file__).resolve().parent
BEGINS, ENDS = "<!-- graph: written by docs/generate.py -->", "<!-- end of graph -->"
POLICY = """\
# Policy: what a run may do

Made from the model by `python docs/generate.py`. `baton policy` prints the same, with what holds where you are; `baton policy THREAD` says what a run works under. Fields are set by `--set KEY=VALUE` or `--policy FILE`, by `policy:` in a team file, and for everything by `BATON_POLICY`; the first of these that says something holds. Times may be written as `1h30m` after `--set`.

| field | default | may be | what it does |
|---|---|---|---|
"""
EVENTS = """\
# Events: what a run tells

Made from the model by `python docs/generate.py`. They come from `sup.stream()`, in LangGraph's stream mode `custom`, from `baton run --json`, a line each, and from `baton log THREAD`. Each has `type` (`baton.event`), `v` (1), `seq` (from 1, without gaps), `thread_id`, `kind`, `phase`, `task_id`, `agent`, `ts` (seconds since 1970) and `path` (agents from the outermost to the one it is about, where one works for another); `data` holds what its kind tells. A name with `?` is there where there is something to tell. More kinds and more names may come; those there are stay.

| kind | says | data |
|---|---|---|
"""


def policy_page() -> str:
    """The page of all policy fields."""
    rows = (
        f"| `{one.name}` | `{json.dumps(one.default)}` | {_cell(one.kind)} | {_cell(one.effect)} |" for one in fields()
    )
    return POLICY + "\n".join(rows) + "\n"


def events_page() -> str:
    """The page of all events."""
    return (
        EVENTS
        + "\n".join(f"| `{kind}` | {MEANINGS[kind]} | {_names(names)} |" for kind, names in FIELDS.items())
        + "\n"
    )


def readme() -> str:
    """The README, with the graph as it is: where each node leads, without the ways back to `intake` for what is rare."""
    ways = [
        f"    {node} --> {place}"
        for node, places in EXITS.items()
        for place in places
        if place not in ("intake", END) and (node != "intake" or place in ("decompose", "finish")) and place != node
    ]
    drawn = "\n".join(["```mermaid", "flowchart LR", *ways, "```"])
    text = (HERE.parent / "README.md").read_text("utf-8")
    before, _, rest = text.partition(BEGINS)
    return f"{before}{BEGINS}\n\n{drawn}\n\n{ENDS}{rest.partition(ENDS)[2]}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name.removesuffix(OPTIONAL)}`{OPTIONAL * name.endswith(OPTIONAL)}" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


PAGES = {"policy.md": policy_page, "events.md": events_page, "../README.md": readme}

if __name__ == "__main__":
    for name, made in PAGES.items():
        (HERE / name).write_text(made(), encoding="utf-8")
