"""Pictures for a report: what its figures were computed from, drawn where that helps (the extra `charts`)."""

import asyncio
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from nodes.policy.charts import MOST, Chart, alternative, as_csv, chart_of, vega_lite
from nodes.tools.files import put_artifact
from nodes.tools.storage import Location, location
from nodes.tools.tables import Tables
from state.citation import Claim, without_labels
from state.errors import ToolRefused
from state.record import PICTURES, Artifact

FOLDER = "charts"
"""Below the run's folder; each chart is there as a picture, with the figures behind it beside it."""
CHARTS = 3
"""In one report, at most."""
ALTERNATIVE = 300
"""Characters of what stands for a picture, at most."""


async def pictured(text: str, claims: Sequence[Claim], tables: Tables, folder: Location) -> tuple[str, list[Artifact]]:
    """The text with a picture behind each ranking or series that its claims rest on, and the files that it shows."""
    said: dict[str, str] = {}
    for claim in claims:
        for one in claim.citations:
            if one.place == "table" and one.quote:
                said.setdefault(one.quote, claim.text)
    if not said:
        return text, []
    shown, files = await asyncio.to_thread(_drawn, list(said), tables, folder)
    return beside(text, {said[sql]: picture for sql, picture in shown.items()}), files


def beside(text: str, pictures: Mapping[str, str]) -> str:
    """The text with each picture behind the paragraph that has its statement, else at the end."""
    blocks = text.split("\n\n")
    for statement, picture in pictures.items():
        at = next((n for n, block in enumerate(blocks) if statement in without_labels(block)), len(blocks) - 1) + 1
        while at < len(blocks) and blocks[at].startswith("!["):
            at += 1
        blocks.insert(at, picture)
    return "\n\n".join(blocks)


def _drawn(queries: Sequence[str], tables: Tables, folder: Location) -> tuple[dict[str, str], list[Artifact]]:
    shown: dict[str, str] = {}
    files: list[Artifact] = []
    for sql in queries:
        if len(shown) == CHARTS:
            break
        try:
            found = tables.query(sql, MOST + 1)
            chart = chart_of(found.columns, found.rows)
            picture = svg(chart) if chart else None
            if chart is None or picture is None:
                continue
            name = f"{FOLDER}/{len(shown) + 1}"
            files.append(put_artifact(folder, f"{name}.svg", picture, ""))
            files.append(put_artifact(folder, f"{name}.csv", as_csv(chart).encode(), ""))
        except ToolRefused:  # a table that has changed, a disk that is full: the words stand anyway
            continue
        words = alternative(chart).replace("[", "(").replace("]", ")")
        shown[sql] = f"![{words}]({name}.svg)"
    return shown, files


def made(artifacts: Sequence[Artifact], answer: str) -> str:
    """Markdown with the pictures among what agents have made that the answer does not show itself. Blocking."""
    names = dict.fromkeys(one.name for one in artifacts if Path(one.name).suffix.lower() in PICTURES)
    left = [one for name in names for one in artifacts if one.name == name and f"]({name})" not in answer]
    last = {one.name: one for one in left}
    return "\n\n".join(f"![{_told(one)}]({quote(one.name)})" for one in last.values())


def _told(artifact: Artifact) -> str:
    """What a picture says of itself, where it does; else its name."""
    said = ""
    if artifact.name.lower().endswith(".svg"):
        try:
            root = fromstring(location(artifact.path).read_bytes())
            parts = (one.text for one in root if str(one.tag).rpartition("}")[2] in ("title", "desc"))
            said = ": ".join(filter(None, [root.get("aria-label"), *parts]))
        except (OSError, ParseError, DefusedXmlException, ValueError):
            said = ""
    told = " ".join((said or f"{artifact.name}, made by task {artifact.task_id}").split())[:ALTERNATIVE]
    return told.replace("[", "(").replace("]", ")")


def svg(chart: Chart) -> bytes | None:
    """The chart as an SVG picture that says what it shows; None where vl-convert is not installed. Blocking."""
    try:
        renderer: Any = import_module("vl_convert")
    except ModuleNotFoundError:
        return None
    drawn = str(renderer.vegalite_to_svg(vega_lite(chart)))
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(alternative(chart))}" ', 1).encode()
