"""The pictures of a report, for whoever shows it: the control room, an exported page, a cell of a notebook."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from nodes.tools.storage import location
from state.record import PICTURES
from state.run import Run

PICTURE_BYTES = 5 * 1024 * 1024
"""Of all pictures of a run that are sent along."""


def pictures_of(run: Run) -> dict[str, str]:
    """The pictures that a report shows, by their names, as `data:` addresses; none that has changed since. Blocking."""
    found: dict[str, str] = {}
    left = PICTURE_BYTES
    for one in run.artifacts:
        kind = PICTURES.get(Path(one.name).suffix.lower())
        name = quote(one.name)
        if kind is None or one.bytes > left or f"]({name})" not in (run.report or ""):
            continue
        try:
            data = location(one.path).read_bytes()
        except OSError:
            continue
        if sha256(data).hexdigest() == one.sha256:
            found[name] = f"data:{kind};base64,{b64encode(data).decode()}"
            left -= one.bytes
    return found
