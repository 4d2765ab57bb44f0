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
from nodes.tools.readers.table import CONVERT, READABLE
from state.errors import SourcesInvalid

FILES = 5000
ENTRIES = 200_000
"""Directory entries that are looked at before giving up on a tree."""


@dataclass
class Collection:
    """All files below some roots."""

    found: list[Found] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def collect(paths: Sequence[str], *, max_files: int = FILES) -> Collection:
    """Every readable file below `paths` (files or folders), in a fixed order.

    Raises:
        SourcesInvalid: a path does not exist or cannot be opened, or there are too many files.
    """
    return _Walk([_root(path) for path in paths], max_files).run()


def confined(paths: Sequence[str], roots: Sequence[Path] | None) -> list[str]:
    """The paths as they are, where there are no roots; else what they lead to, links followed, if it lies below a root.

    Raises:
        SourcesInvalid: one lies elsewhere, whether or not it exists, or is hidden there.
    """
    if roots is None:
        return list(paths)
    homes = [root.resolve() for root in roots]
    return [str(_below(path, homes)) for path in paths]


def _below(path: str, homes: Sequence[Path]) -> Path:
    try:
        found = Path(path).resolve()
    except (OSError, RuntimeError, ValueError):
        found = Path("/")
    inside = [found.relative_to(home) for home in homes if found.is_relative_to(home)]
    if not any(all(not part.startswith(".") for part in below.parts) for below in inside):
        raise SourcesInvalid(
            f"the source {path!r} is not below a folder that clients may name sources in, or is hidden there; "
            "copy it there, or add its folder to BATON_SOURCE_ROOTS"
        )
    return found


def _root(path: str) -> Path:
    if not path.strip() or "\x00" in path:
        raise SourcesInvalid(f"the source path {path!r} is not a path; give a file or a folder")
    try:
        return Path(path).expanduser().resolve(strict=True)
    except FileNotFoundError:
        raise SourcesInvalid(f"the source {path!r} does not exist; give a file or a folder that does") from None
    except (OSError, RuntimeError) as error:
        raise SourcesInvalid(f"the source {path!r} cannot be opened ({error}); check its permissions") from None


class _Walk:
    """One pass over the roots: real files first, then links, so that a file keeps its real name."""

    def __init__(self, roots: list[Path], max_files: int) -> None:
        self.roots = list(dict.fromkeys(roots))
        self.max_files = max_files
        self.entries = 0
        self.seen: set[str] = set()
        self.taken: list[tuple[Path, str, str, os.stat_result]] = []
        self.links: list[tuple[Path, str, str]] = []
        self.skipped: list[Skipped] = []
        self.unread: Counter[str] = Counter()

    def run(self) -> Collection:
        for root in self.roots:
            if root.is_dir():
                self._folder(root, str(root), "")
            else:
                self._file(root, str(root), root.name, given=True)
        while self.links:
            root, target, name = self.links.pop(0)
            self._link(root, target, name)
        if self.unread:
            kinds = ", ".join(f"*{kind}" for kind in sorted(self.unread))
            count = self.unread.total()
            reason = f"{count} of a kind that is not read; {CONVERT}"
            self.skipped.append(Skipped(kinds, reason))
        return Collection(list(self._named()), sorted(self.skipped, key=lambda skipped: skipped.file))

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
        if not any(target.is_relative_to(allowed) for allowed in self.roots):
            self._skip(name, "the link leads out of the sources; give its target as a source of its own")
        elif target.is_dir():
            self._folder(root, str(target), name)
        else:
            self._file(root, str(target), name)

    def _file(self, root: Path, path: str, name: str, *, given: bool = False) -> None:
        if path in self.seen:
            return
        self.seen.add(path)
        suffix = Path(name).suffix.lower()
        if suffix not in READABLE and not given:
            self.unread[suffix or "(no suffix)"] += 1
            return
        try:
            status = Path(path).lstat()
        except OSError as error:
            self._skip(name, f"it cannot be opened ({error.strerror}); check its permissions")
            return
        if not stat.S_ISREG(status.st_mode):
            self._skip(name, "it is not a regular file; copy its content into one")
            return
        if len(self.taken) >= self.max_files:
            raise SourcesInvalid(f"the sources hold more than {self.max_files} readable files; give a smaller folder")
        self.taken.append((root, path, name, status))

    def _skip(self, name: str, reason: str) -> None:
        self.skipped.append(Skipped(safe_name(name), reason))

    def _named(self) -> Iterator[Found]:
        """The files with names that differ: with their root's name in front where two roots have the same path."""
        counts = Counter(safe_name(name) for _, _, name, _ in self.taken)
        used: set[str] = set()
        for root, path, name, status in self.taken:
            safe = safe_name(name)
            if counts[safe] > 1 and root.is_dir():
                safe = safe_name(f"{root.name}/{name}")
            elif counts[safe] > 1:
                safe = safe_name(f"{root.parent.name}/{name}")
            suffix = Path(safe).suffix
            stem = safe.removesuffix(suffix)
            number = 2
            while safe in used:
                safe, number = f"{stem}~{number}{suffix}", number + 1
            used.add(safe)
            yield Found(safe, path, status.st_size, status.st_mtime_ns)
