"""Files that are dropped on the page: kept beside the database, where a run's sources may be."""

import asyncio
from urllib.parse import unquote
from uuid import uuid4

from starlette.requests import Request

from graph.web.problems import Problem
from nodes.tools.files import put
from nodes.tools.readers.table import READ, is_readable
from nodes.tools.sources import open_sources
from nodes.tools.storage import Location, remove_all
from nodes.tools.uploads import file_name
from state.errors import SourcesInvalid, ToolRefused

MEDIA = "application/octet-stream"
"""Forms of other pages cannot send it."""


async def keep_upload(request: Request, folder: Location | None, most: int) -> str:
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
    if not is_readable(name):
        raise Problem(422, f"{given[:80]!r} cannot be read; give {READ}")
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise Problem(413, f"{name} has more than {most:,} bytes (BATON_MAX_SOURCE_MB)")
    file = (folder / uuid4().hex[:12] / name).resolve()
    try:
        await asyncio.to_thread(put, file, bytes(data), overwrite=False)
        await asyncio.to_thread(open_sources, [str(file)], max_file_bytes=most)
    except BaseException as error:
        await asyncio.to_thread(remove_all, file.parent)
        if isinstance(error, SourcesInvalid | ToolRefused):
            raise Problem(422, f"{name} cannot be used: {error}") from error
        raise
    return str(file)
