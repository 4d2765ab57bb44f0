"""Where files are: on this machine, or at an address that fsspec reads and writes (`s3://bucket/docs`).

A `Location` is a path or an address, with those methods of a path that Baton uses. What goes wrong at an address is an
`OSError` like that of a path, in words. Keys come from the environment, as the protocol's library or fsspec reads them
(`FSSPEC_S3_KEY`): an address with one in it is refused, because addresses are kept with runs and shown.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from state.errors import BadInput, ExtraMissing, FilesUnreachable

LOCAL = ("file", "local")
"""Schemes of paths of this machine."""
PAGES = ("http", "https")
"""Those of pages of the web, which are read another way (`nodes/tools/pages.py`)."""
OWN = "memory"
"""The scheme of what one process has for itself."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_LOST = re.compile(r"[A-Za-z][A-Za-z0-9+-]+:/[^/]")


@dataclass(frozen=True, slots=True, repr=False)
class RemotePath:
    """A file or a folder at an address. Every method that looks or writes blocks, and may raise what a path's does.

    Besides `FileNotFoundError` and `FileExistsError` that is FilesUnreachable, or ExtraMissing where fsspec is missing.
    """

    url: str
    """Without a slash at its end."""

    def __str__(self) -> str:
        return self.url

    __repr__ = __str__

    @property
    def name(self) -> str:
        """The last part."""
        return self.url.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """What its name ends in, with the dot."""
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> "RemotePath":
        """What it lies in; itself, if it lies in nothing."""
        above = self.url.rpartition("/")[0]
        return self if above.endswith("/") else RemotePath(above)

    def joinpath(self, *parts: str | Path) -> "RemotePath":
        """What lies below it."""
        return RemotePath(f"{self.url}{'/' if self.name else ''}{'/'.join(map(str, parts))}")

    def __truediv__(self, part: str | Path) -> "RemotePath":
        return self.joinpath(part)

    def absolute(self) -> "RemotePath":
        """Itself."""
        return self

    def resolve(self) -> "RemotePath":
        """Itself: there are no links."""
        return self

    def exists(self) -> bool:
        """Whether there is a file or a folder."""
        with _words(self.url), suppress(FileNotFoundError):
            fs, path = _opened(self.url)
            return bool(fs.exists(path))
        return False

    def is_dir(self) -> bool:
        """Whether there is a folder."""
        with _words(self.url), suppress(FileNotFoundError):
            fs, path = _opened(self.url)
            return bool(fs.isdir(path))
        return False

    def is_file(self) -> bool:
        """Whether there is a file."""
        with _words(self.url), suppress(FileNotFoundError):
            fs, path = _opened(self.url)
            return bool(fs.isfile(path))
        return False

    def read_bytes(self, most: int | None = None) -> bytes:
        """The content, its first `most` bytes."""
        with _words(self.url):
            fs, path = _opened(self.url)
            return bytes(fs.cat_file(path, end=most)) if most != 0 else b""

    def write_bytes(self, data: bytes) -> None:
        """Write the whole content; folders above it are made where the storage has such."""
        self._send(data, "overwrite")

    def create(self, data: bytes) -> None:
        """Write it where nothing is.

        Raises:
            FileExistsError: something is there.
        """
        self._send(data, "create")

    def unlink(self) -> None:
        """Delete the file."""
        with _words(self.url):
            fs, path = _opened(self.url)
            if not fs.exists(path):
                raise FileNotFoundError(path)
            fs.rm_file(path)

    def _send(self, data: bytes, mode: str) -> None:
        with _words(self.url):
            fs, path = _opened(self.url)
            try:
                fs.pipe_file(path, data, mode=mode)
            except FileNotFoundError:
                # Not `makedirs`, which would make a bucket where a name is misspelt.
                for folder in self._folders():
                    with suppress(FileExistsError):
                        fs.mkdir(_opened(folder.url)[1], create_parents=False)
                fs.pipe_file(path, data, mode=mode)

    def _folders(self) -> "list[RemotePath]":
        """The folders it lies in, the outermost first."""
        above = self.parent
        return [*above._folders(), above] if above != self and urlsplit(above.url).path.strip("/") else []


Location = Path | RemotePath


@dataclass(frozen=True, slots=True)
class Stored:
    """A file below a folder."""

    name: str
    """Below the folder, with `/`; empty where the folder is a file itself."""
    size: int
    version: int
    """Another one where the content has changed, as far as the storage says."""


def is_address(text: str) -> bool:
    """Whether a text is an address of files, not a path and not a page."""
    found = _SCHEME.match(text)
    return found is not None and found[1].lower() not in PAGES


def location(given: object) -> Location:
    """Where somebody says that files are: a path, or text.

    Raises:
        BadInput: an address that cannot be used; no secret of it is shown.
    """
    text = str(given)
    scheme = _SCHEME.match(text)
    if scheme is None:
        if _LOST.match(text) and not Path(text).exists():
            raise BadInput(f"{text[:100]!r} may be an address that was made a path, which has lost a slash; give text")
        return Path(text)
    name, rest = scheme[1].lower(), text[scheme.end() :]
    shown = f"{name}://{rest.rpartition('@')[2].partition('?')[0]}"[:200]
    if name in PAGES:
        raise BadInput(f"{shown} is a page of the web; give a folder, or an address of files such as s3://bucket/docs")
    if name in LOCAL:
        if not rest.startswith("/"):
            raise BadInput(f"{shown} names no path of this machine; write it with three slashes: file:///mnt/docs")
        return Path(rest)
    if re.match(r"[^/@]*:(?!\d*/)[^@]*@", rest):
        raise BadInput(f"the address {shown} has a password or key in it; leave it out and set it in the environment")
    if re.search(r"\?[^/]*=", rest):
        raise BadInput(f"the address {shown} has settings after `?`; leave them out and set them in the environment")
    parts = rest.rstrip("/").split("/")
    if "::" in text or not text.isprintable() or any(part in ("", ".", "..") for part in parts[1:]):
        raise BadInput(f"the address {shown!r} cannot be used; give one such as s3://bucket/docs")
    return RemotePath(f"{name}://{'/'.join(parts)}")


def lies_in(place: Location, folder: Location) -> bool:
    """Whether it is the folder or lies below it. Links of paths are not looked at."""
    if isinstance(place, Path):
        return isinstance(folder, Path) and place.is_relative_to(folder)
    return isinstance(folder, RemotePath) and f"{place.url}/".startswith(f"{folder.url.rstrip('/')}/")


def below(place: Location, folder: Location) -> str:
    """The part of it that lies below the folder, with `/`."""
    if isinstance(place, Path) and isinstance(folder, Path):
        return place.relative_to(folder).as_posix()
    return str(place).removeprefix(str(folder)).strip("/")


def files_below(folder: RemotePath) -> list[Stored]:
    """Every file at an address, in a fixed order; the address itself where that is one. Blocking.

    Raises:
        FileNotFoundError: there is nothing.
        FilesUnreachable: it cannot be looked at.
    """
    with _words(folder.url):
        fs, path = _opened(folder.url)
        found: dict[str, dict[str, Any]] = fs.find(path, detail=True)
        if list(found) == [path] and not found[path]:  # a storage that says no more of a file that was named
            found = {path: fs.info(path)}
        if not found and not fs.isdir(path):
            raise FileNotFoundError(path)
    files = [(name, about) for name, about in found.items() if about.get("type", "file") == "file"]
    return [Stored(_name(name, path), int(about.get("size") or 0), _version(about)) for name, about in sorted(files)]


def size_of(folder: Location) -> int:
    """The bytes of all files below a folder; 0 where there is none. Blocking."""
    if isinstance(folder, Path):
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        return sum(path.stat().st_size for path in files)
    try:
        return sum(file.size for file in files_below(folder))
    except FileNotFoundError:
        return 0


def remove_all(folder: Location) -> None:
    """Delete a folder with all that is in it. Blocking.

    Raises:
        FilesUnreachable: at an address, where it could not be deleted; of paths what can be deleted is.
    """
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
        return
    with _words(folder.url), suppress(FileNotFoundError):
        fs, path = _opened(folder.url)
        fs.rm(path, recursive=True)


def _name(found: str, folder: str) -> str:
    return found.strip("/").removeprefix(folder.strip("/")).lstrip("/")


def _version(about: dict[str, Any]) -> int:
    return int.from_bytes(sha256(repr(sorted(about.items(), key=str)).encode()).digest()[:8])


def _opened(url: str) -> tuple[Any, str]:
    """The filesystem of an address, and what it calls the place. Nothing that was listed before is believed.

    Raises:
        ExtraMissing: fsspec is not installed.
        FilesUnreachable: there is no such protocol, or what it needs is not installed.
    """
    try:
        core = import_module("fsspec.core")
    except ModuleNotFoundError as error:
        raise ExtraMissing("files at addresses", "files") from error
    scheme = url.partition("://")[0]
    try:
        fs, path = core.url_to_fs(url)
    except ImportError as error:
        why = " ".join(str(error).split()) or "its library is missing"
        raise FilesUnreachable(f"{scheme}:// needs a package that is not installed ({why}): pip install it") from error
    except ValueError as error:
        if "Protocol not known" in str(error):
            raise FilesUnreachable(f"{scheme}:// is no protocol of fsspec's; give s3://, gs://, sftp:// …") from None
        raise
    fs.invalidate_cache()
    return fs, str(path)


@contextmanager
def _words(url: str) -> Iterator[None]:
    """Errors of any storage's library in words."""
    try:
        yield
    except FileNotFoundError as error:
        said = " ".join(str(error).split())
        why = "there is no such bucket" if re.search("bucket", said, re.IGNORECASE) else "nothing is there"
        raise FileNotFoundError(2, why, url) from error
    except FileExistsError as error:
        raise FileExistsError(17, "something is there already", url) from error
    except (BadInput, MemoryError):
        raise
    except Exception as error:
        raise FilesUnreachable(f"{url} cannot be reached: {_why(error)}") from error


def _why(error: Exception) -> str:
    kind, said = type(error).__name__, " ".join(str(error).split())[:200]
    if "Credential" in kind:
        return f"{said or kind}; set the keys in the environment, as its library reads them (AWS_ACCESS_KEY_ID …)"
    if isinstance(error, PermissionError):
        return f"access is refused ({said or kind}); check the keys in the environment and their rights"
    if isinstance(error, OSError | TimeoutError) or "Connect" in kind or "Timeout" in kind:
        return f"{said or kind}; check the network and where its server is (AWS_ENDPOINT_URL …)"
    return f"{kind}: {said}" if said else kind
