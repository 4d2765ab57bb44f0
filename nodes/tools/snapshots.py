"""Snapshots of pages, kept with a run: what is cited can be looked up later as it was, with its address and time."""

import json
import re
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from nodes.tools.files import put
from nodes.tools.pages import Page
from nodes.tools.storage import Location

FOLDER = "pages"
"""Below a run's folder."""
INDEX = ".pages.json"
"""In it, beside the pages: address and time of each, by its name."""


def keep(folder: Location, page: Page, now: float) -> str:
    """Write a page below a run's folder; its name there, as labels have it. Blocking.

    A page that has changed since it was last kept gets another name: what was cited stays.
    """
    home, name = folder / FOLDER, _name(page)
    known = addresses(home)
    path = home / name
    if path.exists() and path.read_bytes() != page.data:
        mark = sha256(page.data).hexdigest()[:8]
        name = f"{name.removesuffix(page.suffix)}~{mark}{page.suffix}"
    if name not in known:
        at = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M UTC")
        put(home / INDEX, json.dumps({**known, name: f"{page.url}, read {at}"}, indent=1).encode(), overwrite=True)
    put(home / name, page.data, overwrite=True)
    return name


def addresses(home: Location) -> dict[str, str]:
    """Address and time of every page in a folder of snapshots, by its name; nothing of any other folder."""
    try:
        found: Any = json.loads((home / INDEX).read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(name): str(said) for name, said in found.items()} if isinstance(found, dict) else {}


def _name(page: Page) -> str:
    """`example.org/docs/guide.html` for its address, with a mark for what was asked of it."""
    parts = urlsplit(page.url)
    path = re.sub(r"[^A-Za-z0-9/._~-]+", "_", parts.path).strip("/") or "index"
    path = "/".join(part.lstrip(".") or "_" for part in path.split("/"))[:150]
    if parts.query:
        path = f"{path.removesuffix(page.suffix)}-{sha256(parts.query.encode()).hexdigest()[:8]}"
    host = re.sub(r"[^A-Za-z0-9.-]+", "_", parts.netloc).lstrip(".")
    return f"{host}/{path}" if path.endswith(page.suffix) else f"{host}/{path}{page.suffix}"
