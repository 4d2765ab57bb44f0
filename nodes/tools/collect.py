"""Finding the source files: what lies below the given paths, and nothing outside them.

A link is followed only where it ends inside one of the given paths, and each file is taken once, so links cannot
lead out and cannot loop. Hidden files and folders are passed over.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nodes.tools.document import Found, Skipped, safe_name
from nodes.tools.readers.table import is_readable
from nodes.tools.storage import Location, RemotePath, below, files_below, lies_in, location
from state.errors import BadInput, FilesUnreachable, SourcesInvalid

FILES = 5000
ENTRIES = 200_000
"""Directory entries that are looked at before giving up on a tree."""


@dataclass
class Collection:
    """All files below some roots."""

    found: list[Found] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def collect(paths: Sequence[str], *, max_files: int = FILES) -> Collection:
    """Every readable file below `paths` (files or folders, or addresses of such), in a fixed order.

    Raises:
        SourcesInvalid: a path does not exist or cannot be opened, or there are too many files.
    """
    return _Walk([_root(path) for path in paths], max_files).run()


def confined(paths: Sequence[str], roots: Sequence[Location] | None) -> list[str]:
    """The paths as they are, where there are no roots; else what they lead to, links followed, if it lies below a root.

    Raises:
        SourcesInvalid: one lies elsewhere, whether or not it exists, or is hidden there.
    """
    if roots is None:
        return list(paths)
    homes = [root.resolve() for root in roots]
    return [str(_below(path, homes)) for path in paths]


def _below(path: str, homes: Sequence[Location]) -> Location:
    try:
        found = _placed(path).resolve()
    except SourcesInvalid:
        raise
    except (OSError, RuntimeError, ValueError):
        found = Path("/")
    inside = [below(found, home) for home in homes if lies_in(found, home)]
    if not any(all(not part.startswith(".") for part in under.split("/") if under != ".") for under in inside):
        raise SourcesInvalid(
            f"the source {path!r} is not below a folder that clients may name sources in, or is hidden there; "
            "copy it there, or add its folder to BATON_SOURCE_ROOTS"
        )
    return found


def _placed(path: str) -> Location:
    try:
        return location(path)
    except BadInput as error:
        raise SourcesInvalid(str(error)) from None


def _root(path: str) -> Location:
    if not path.strip() or "\x00" in path:
        raise SourcesInvalid(f"the source path {path!r} is not a path; give a file or a folder")
    place = _placed(path)
    if isinstance(place, RemotePath):
        return place
    try:
        return place.expanduser().resolve(strict=True)
    except FileNotFoundError:
        raise SourcesInvalid(f"the source {path!r} does not exist; give a file or a folder that does") from None
    except (OSError, RuntimeError) as error:
        raise SourcesInvalid(f"the source {path!r} cannot be opened ({error}); check its permissions") from None


@dataclass(frozen=True, slots=True)
class _Taken:
    """A file that is read, and the root that it was found below."""

    root: Location
    path: str
    name: str
    """Below the root; the root's own where that was given as a file."""
    size: int
    version: int


class _Walk:
    """One pass over the roots: real files first, then links, so that a file keeps its real name."""

    def __init__(self, roots: list[Location], max_files: int) -> None:
        self.roots = list(dict.fromkeys(roots))
        self.max_files = max_files
        self.entries = 0
        self.seen: set[str] = set()
        self.taken: list[_Taken] = []
        self.links: list[tuple[Path, str, str]] = []
        self.skipped: list[Skipped] = []
        self.unread: Counter[str] = Counter()

    def run(self) -> Collection:
        for root in self.roots:
            if isinstance(root, RemotePath):
                self._remote(root)
            elif root.is_dir():
                self._folder(root, str(root), "")
            else:
                self._file(root, str(root), root.name, given=True)
        while self.links:
            root, target, name = self.links.pop(0)
            self._link(root, target, name)
        if self.unread:
            kinds = ", ".join(f"*{kind}" for kind in sorted(self.unread))
            count = self.unread.total()
            reason = f"{count} of a kind that is not read; convert what matters of it to text, HTML or PDF"
            self.skipped.append(Skipped(kinds, reason))
        return Collection(list(self._named()), sorted(self.skipped, key=lambda skipped: skipped.file))

    def _remote(self, root: RemotePath) -> None:
        try:
            files = files_below(root)
        except FileNotFoundError as error:
            raise SourcesInvalid(f"the source {root} does not exist ({error.strerror}); check the name") from None
        except FilesUnreachable as error:
            raise SourcesInvalid(f"the source {error}") from None
        if len(files) > ENTRIES:
            raise SourcesInvalid(f"the sources hold more than {ENTRIES} files; give a smaller folder than {root}")
        for file in files:
            place = root / file.name if file.name else root
            if any(part.startswith(".") for part in file.name.split("/")) or str(place) in self.seen:
                continue
            self.seen.add(str(place))
            try:
                location(str(place))
            except BadInput:
                self._skip(file.name, "no file of that name is read from an address; rename it")
                continue
            if self._is_read(file.name or root.name, given=not file.name):
                self._take(_Taken(root, str(place), file.name or root.name, file.size, file.version))

    def _folder(self, root: Path, folder: str, prefix: str) -> None:
        if folder in self.seen:
            return
        self.seen.add(folder)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._skip(prefix or root.name, f"the folder cannot be opened ({error.strerror}); check its permissions")
            return
        self.entries += len(entries)
        if self.entries > ENTRIES:
            raise SourcesInvalid(f"the sources hold more than {ENTRIES} files; give a smaller folder than {root}")
        for entry in entries:
            name = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                self.links.append((root, entry.path, name))
            elif entry.is_dir(follow_symlinks=False):
                self._folder(root, entry.path, name)
            else:
                self._file(root, entry.path, name)

    def _link(self, root: Path, link: str, name: str) -> None:
        try:
            target = Path(link).resolve(strict=True)
        except (OSError, RuntimeError):
            self._skip(name, "the link leads nowhere; remove or repair it")
            return
        if not any(lies_in(target, allowed) for allowed in self.roots):
            self._skip(name, "the link leads out of the sources; give its target as a source of its own")
        elif target.is_dir():
            self._folder(root, str(target), name)
        else:
            self._file(root, str(target), name)

    def _file(self, root: Path, path: str, name: str, *, given: bool = False) -> None:
        if path in self.seen:
            return
        self.seen.add(path)
        if not self._is_read(name, given=given):
            return
        try:
            status = Path(path).lstat()
        except OSError as error:
            self._skip(name, f"it cannot be opened ({error.strerror}); check its permissions")
            return
        if not stat.S_ISREG(status.st_mode):
            self._skip(name, "it is not a regular file; copy its content into one")
            return
        self._take(_Taken(root, path, name, status.st_size, status.st_mtime_ns))

    def _is_read(self, name: str, *, given: bool) -> bool:
        """Whether there is a reader for it, or it was given by its own name; what is not read is counted."""
        if given or is_readable(name):
            return True
        self.unread[Path(name).suffix.lower() or "(no suffix)"] += 1
        return False

    def _take(self, file: _Taken) -> None:
        if len(self.taken) >= self.max_files:
            raise SourcesInvalid(f"the sources hold more than {self.max_files} readable files; give a smaller folder")
        self.taken.append(file)

    def _skip(self, name: str, reason: str) -> None:
        self.skipped.append(Skipped(safe_name(name), reason))

    def _named(self) -> Iterator[Found]:
        """The files with names that differ: with their root's name in front where two roots have the same path."""
        counts = Counter(safe_name(file.name) for file in self.taken)
        used: set[str] = set()
        for file in self.taken:
            safe = safe_name(file.name)
            if counts[safe] > 1:
                above = file.root.parent if file.path == str(file.root) else file.root
                safe = safe_name(f"{above.name}/{file.name}")
            suffix = Path(safe).suffix
            stem = safe.removesuffix(suffix)
            number = 2
            while safe in used:
                safe, number = f"{stem}~{number}{suffix}", number + 1
            used.add(safe)
            yield Found(safe, file.path, file.size, file.version)
