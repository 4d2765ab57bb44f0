"""Archives (zip, tar, gz …): the files in them, named like files in a folder, within bounds on number, depth and size.

Nothing is written to disk, links are not followed, and a member whose suffix no reader takes is passed over.
"""

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Any

from nodes.tools.document import Skipped
from nodes.tools.readers.decoding import Unreadable
from nodes.tools.readers.zipped import DAMAGED, ENCRYPTED, RATIO, SMALL, UNPACKED, check_size, open_zip

MEMBER = 50 * 1024 * 1024
"""Bytes of one file in an archive."""
ARCHIVES = frozenset([".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz"])
STREAMS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
BROKEN = (*DAMAGED, tarfile.TarError)

Member = tuple[str, bytes]


def unpacked(file: str, data: bytes) -> Iterator[Member | Skipped]:
    """Each file in it, with its bytes; hidden ones are passed over.

    Raises:
        Unreadable: damaged, or too large once it is unpacked.
    """
    suffix = PurePosixPath(file).suffix.lower()
    if suffix == ".zip":
        yield from _of_zip(file, data)
        return
    stem = file[: -len(suffix)]
    if suffix in STREAMS:
        data = _of_stream(suffix, data)
    elif suffix == ".tgz":
        data, stem = _of_stream(".gz", data), f"{stem}.tar"
    if suffix == ".tar" or stem.lower().endswith(".tar"):
        yield from _of_tar(file, data)
    else:
        yield f"{file}/{PurePosixPath(stem).name}", data


def _of_stream(suffix: str, data: bytes) -> bytes:
    most = min(UNPACKED, max(SMALL, RATIO * len(data)))
    try:
        with STREAMS[suffix](io.BytesIO(data)) as stream:
            whole = stream.read(most + 1)
    except BROKEN as error:
        raise Unreadable(f"it is a damaged {suffix} file; make it again") from error
    check_size(1, len(whole), len(data))
    return bytes(whole)


def _of_zip(file: str, data: bytes) -> Iterator[Member | Skipped]:
    with open_zip(data, "a zip archive") as archive:
        for member in archive.infolist():
            name = _within(file, member.filename)
            if member.is_dir() or not name:
                continue
            if member.flag_bits & ENCRYPTED:
                yield Skipped(name, "it is protected by a password; unpack it by hand")
                continue
            try:
                with archive.open(member) as content:
                    yield _read(name, content)
            except BROKEN:
                yield Skipped(name, "it is damaged in the archive; make that again")


def _of_tar(file: str, data: bytes) -> Iterator[Member | Skipped]:
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            members = archive.getmembers()
            check_size(len(members), sum(member.size for member in members), len(data))
            for member in members:
                name = _within(file, member.name)
                content = archive.extractfile(member) if member.isfile() and name else None
                if content:
                    yield _read(name, content)
    except BROKEN as error:
        raise Unreadable("it is a damaged tar archive; make it again") from error


def _read(name: str, content: IO[bytes]) -> Member | Skipped:
    """Its bytes, whatever size the archive says it has."""
    data = content.read(MEMBER + 1)
    if len(data) > MEMBER:
        return Skipped(name, f"it is larger than {MEMBER // 1_048_576} MB; unpack the archive by hand")
    return name, data


def _within(file: str, member: str) -> str:
    """The name of a member; empty for one that is hidden. It names, and is never a path that is opened."""
    parts = [part for part in member.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    is_hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    return "" if is_hidden or not parts else "/".join([file, *parts])
