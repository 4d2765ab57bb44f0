"""Files that are dropped on the page: kept beside the database, where a run's sources may be."""

import asyncio
import shutil
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote
from uuid import uuid4

from starlette.requests import Request

from graph.web.problems import Problem
from nodes.tools.readers.table import READ, READABLE
from nodes.tools.sources import open_sources
from nodes.tools.uploads import file_name
from state.errors import SourcesInvalid

MEDIA = "application/octet-stream"
"""Forms of other pages cannot send it."""


async def keep_upload(request: Request, folder: Path | None, most: int) -> str:
    """Keep the body as a file of `folder`, under the name in the query; its path, which can be named as a source.

    `most`: bytes that it may have.

    Raises:
        Problem: it is too large, empty, or nothing that can be read.
    """
    if folder is None:
        raise Problem(403, "this server takes no files; name some that it has")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != MEDIA:
        raise Problem(415, f"send the file itself, as Content-Type: {MEDIA}")
    given = unquote(request.query_params.get("name", ""))
    name = file_name(given)
    if Path(name).suffix.lower() not in READABLE:
        raise Problem(422, f"{given[:80]!r} cannot be read; give {READ}")
    home = folder / uuid4().hex[:12]
    file = await asyncio.to_thread(_opened, home, name)
    size = 0
    try:
        with file:
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise Problem(413, f"{name} has more than {most:,} bytes (BATON_MAX_SOURCE_MB)")
                await asyncio.to_thread(file.write, part)
        await asyncio.to_thread(open_sources, [file.name], max_file_bytes=most)
    except BaseException as error:
        await asyncio.to_thread(shutil.rmtree, home, ignore_errors=True)
        if isinstance(error, SourcesInvalid):
            raise Problem(422, f"{name} cannot be used: {error}") from error
        raise
    return file.name


def _opened(home: Path, name: str) -> BinaryIO:
    home.mkdir(parents=True)
    return (home / name).resolve().open("xb")
