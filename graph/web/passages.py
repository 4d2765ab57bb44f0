"""A place in a run's sources, with what stands around it: what a citation opens."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress

from graph.reading import Reading
from nodes.tools.sources import FILE_BYTES, open_sources
from state.channels import terms_of
from state.citation import LABEL, SPAN, UNITS
from state.errors import BadInput, ToolRefused
from state.run import Run
from state.text import Json, as_text

AROUND = 12
"""Units (lines, rows, paragraphs) shown before and behind the place; where a unit is a page, only the place."""
SINGLE = "psh"
"""Units that are long: pages, slides, chapters."""
MOST = 20_000
"""Characters of a unit that are shown."""


class PassageMissing(BadInput):
    """The source is gone, has changed, or never was one of the run."""


NUMBERED = re.compile(
    rf"^\d+\. (?P<file>.+?)(?:, section \".*\")?, (?P<unit>{'|'.join(UNITS.values())})s? "
    r"(?P<first>\d+)(?:-(?P<last>\d+))?(?=$|[ ,(])",
    re.MULTILINE,
)
"""A numbered source of a report, as `Citation.shown_file` and `shown_place` say it."""
KEPT = 400
"""Places that are written into an exported file at most."""


async def passages(reading: Reading, run: Run) -> Json:
    """Every place that the run's results and report cite, by label without brackets; what is gone is left out."""
    texts = [*(as_text(task.result) for task in run.tasks), run.report or ""]
    labels = {
        f"{one['file']}#{one['place']}": (one["file"], one["place"]) for text in texts for one in LABEL.finditer(text)
    }
    letters = {name: letter for letter, name in UNITS.items()}
    for one in NUMBERED.finditer(run.report or ""):
        unit, file = letters[one["unit"]], one["file"].replace(", sheet ", "/", 1)
        place = f"{unit}{one['first']}" + (f"-{unit}{one['last']}" if one["last"] else "")
        labels[f"{file}#{place}"] = file, place
    found: Json = {}
    for label, (file, place) in list(labels.items())[:KEPT]:
        with suppress(PassageMissing):
            found[label] = await passage(reading, run.thread_id, file, place)
    return found


async def passage(reading: Reading, thread_id: str, file: str, place: str, max_file_bytes: int = FILE_BYTES) -> Json:
    """The units of `file` around `place` (`L12-L14`, `p3`, `r2`, `table`): `units` of `n` and `text`, `first`, `last`.

    Only what the run was given as sources is read.

    Raises:
        ThreadUnknown: no such thread.
        PassageMissing: there is nothing to show, and why.
    """
    terms = terms_of((await reading.position(thread_id)).state)
    try:
        return await asyncio.to_thread(_read, terms.sources, file, place, max_file_bytes)
    except (BadInput, ToolRefused) as error:
        raise PassageMissing(f"{file[:200]} cannot be shown: {error}") from error


def _read(paths: Sequence[str], file: str, place: str, max_file_bytes: int) -> Json:
    sources = open_sources(paths, max_file_bytes=max_file_bytes)
    if place == "table":
        return {"file": file, "place": place, "unit": "table", "units": [], "about": sources.text_at(file, place)}
    if not re.fullmatch(SPAN, place):
        raise BadInput(f"{place[:40]!r} is no place; give one such as L12-L14, p3, r2 or table")
    first, last = (int(number) for number in (re.findall(r"\d+", place) * 2)[:2])
    sources.text_at(file, place)  # refuses what is not there
    around = 0 if place[0] in SINGLE else AROUND
    start, units = max(1, first - around), list[Json]()
    for number in range(start, min(last, first + 400) + around + 1):
        try:
            text = sources.text_at(file, f"{place[0]}{number}")
        except ToolRefused:
            break
        units.append({"n": number, "text": text[:MOST]})
    return {
        "file": sources.resolve(file),
        "place": place,
        "unit": UNITS[place[0]],
        "first": first,
        "last": last,
        "units": [*units],
    }
