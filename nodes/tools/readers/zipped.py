"""Zip files, also those that documents are (Word, Excel, EPUB): opened only when what is in them is of a sane size."""

import io
import lzma
import zipfile
import zlib

from nodes.tools.readers.decoding import Unreadable

MEMBERS = 20_000
UNPACKED = 400 * 1024 * 1024
"""Bytes of all that is in one file."""
RATIO = 200
"""How many times its size a file may unpack to; text that repeats itself reaches 20 to 100."""
SMALL = 10 * 1024 * 1024
"""Up to this it may unpack to, whatever its size."""
ENCRYPTED = 0x1
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,  # encrypted; and NotImplementedError: packed in an unknown way
)
"""What is raised where a member is read that is not whole."""
OLE = b"\xd0\xcf\x11\xe0"
"""How the files of offices began before they were zip files, and how those with a password still begin."""


def open_zip(data: bytes, what: str) -> zipfile.ZipFile:
    """The zip file that `data` is; `what` names it in a refusal: "a Word file".

    Raises:
        Unreadable: damaged, protected by a password, or too large once it is unpacked.
    """
    if data.startswith(OLE):
        raise Unreadable(f"it is protected by a password, or older than {what} of today; save it anew without one")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise Unreadable(f"it is damaged, or not {what}; export it again") from error
    check_size(len(members), sum(member.file_size for member in members), len(data))
    return archive


def check_size(members: int, unpacked: int, packed: int) -> None:
    """Whether what an archive would unpack to is sane.

    Raises:
        Unreadable: it is not.
    """
    if members > MEMBERS:
        raise Unreadable(f"there are {members} files in it, more than {MEMBERS}; split it")
    if unpacked > UNPACKED or unpacked > max(SMALL, RATIO * packed):
        raise Unreadable(f"it unpacks to {unpacked / 1_048_576:.0f} MB, too much for its size; unpack it by hand")
