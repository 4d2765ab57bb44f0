"""Runs Python that an agent wrote, by bubblewrap: without network, processes of its own, or files but its folder's.

What holds it in, outermost first:

- namespaces: it sees no network, no process but itself, and of the disk only the system's programs and this Python with
  its packages, all read-only, what it was given, and one folder that it may write to;
- a filter of system calls: it cannot start processes, and reach no kernel interface that such code has no use for;
- limits: of memory, time, open files and the size of a file by the kernel, of all files together and of what it prints
  by whoever waits for it, who looks ten times a second.

Nothing of the environment is handed in. Packages are those that are installed; nothing is fetched.
"""

import asyncio
import os
import platform
import shutil
import signal
import struct
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from state.errors import ToolRefused

SECONDS = 30
MEMORY = 2 * 1024**3
"""Bytes of address space."""
FILE_BYTES = 20 * 1024**2
ALL_BYTES = 50 * 1024**2
FILES = 500
"""Files and folders that it may make."""
PRINTED = 100_000
"""Bytes of output that are kept; whoever prints ten times as much is ended."""
LOOKS_EVERY_S = 0.1
CODE_CHARS = 100_000
WORK = "/run/work"
"""The folder that the code is run in: a place where no installation is, which it would hide."""
ENVIRONMENT = {
    "HOME": WORK,
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp",  # noqa: S108 # the sandbox's own
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""All that is set: each thread of a library's pool would take its share of the memory."""

START = f"""
import resource, sys
for limit, most in (
    (resource.RLIMIT_AS, {MEMORY}),
    (resource.RLIMIT_CPU, {SECONDS}),
    (resource.RLIMIT_FSIZE, {FILE_BYTES}),
    (resource.RLIMIT_NOFILE, 256),
    (resource.RLIMIT_CORE, 0),
):
    resource.setrlimit(limit, (most, most))
code = sys.stdin.read()
sys.stdin = open("/dev/null")
sys.argv = ["script.py"]
exec(compile(code, "script.py", "exec"), {{"__name__": "__main__"}})
"""
"""What runs first in the sandbox: it takes the limits on itself, which nothing after it can lift."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a script."""

    printed: str
    """Standard output and error, in the order in which they came."""
    ended: str
    """Empty where it came to its end; else why it did not, in words."""


def missing() -> str:
    """What the sandbox lacks on this machine, with what to do; empty where it can be used."""
    if sys.platform != "linux":
        return "the sandbox needs Linux with bubblewrap"
    if not shutil.which("bwrap"):
        return "the sandbox needs bubblewrap (Debian, Ubuntu, Fedora: install the package `bubblewrap`)"
    if platform.machine() not in ARCHITECTURES:
        return f"the sandbox is not made for {platform.machine()} processors"
    return ""


async def run_script(code: str, folder: Path, given: Path, *, seconds: float = SECONDS) -> Ran:
    """Run `code` with `folder` as its working directory, where alone it may write, and `given` to read as /sources.

    Raises:
        ToolRefused: this machine has no sandbox, or the code is too long.
    """
    if why := missing():
        raise ToolRefused(f"code cannot be run here: {why}")
    if len(code) > CODE_CHARS:
        raise ToolRefused(f"the code has {len(code)} characters, more than {CODE_CHARS}; shorten it")
    with _filter() as filtered:
        process = await asyncio.create_subprocess_exec(
            *_command(folder, given, filtered),
            pass_fds=[filtered],
            env={},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return await _watched(process, code.encode("utf-8", "replace"), folder, seconds)
    finally:
        if process.returncode is None:
            process.kill()  # the first process of its namespace: the kernel ends the rest with it
            await process.wait()


async def _watched(process: asyncio.subprocess.Process, code: bytes, folder: Path, seconds: float) -> Ran:
    """Feed and follow it until it ends or goes over a limit."""
    feeding, output = process.stdin, process.stdout
    if feeding is None or output is None:
        raise TypeError("a process without pipes")
    printed = bytearray()
    too_much = asyncio.Event()

    async def feed() -> None:
        try:
            feeding.write(code)
            await feeding.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass
        feeding.close()

    async def follow() -> None:
        total = 0
        while data := await output.read(65536):
            total += len(data)
            printed.extend(data[: max(0, PRINTED - len(printed))])
            if total > 10 * PRINTED:
                too_much.set()  # and read on: a pipe that nobody empties holds up the end of its process

    reading, ending = asyncio.gather(feed(), follow()), asyncio.ensure_future(process.wait())
    ended, clock = "", asyncio.get_running_loop().time
    until = clock() + seconds
    while not ended and not ending.done():
        await asyncio.wait([ending], timeout=LOOKS_EVERY_S)
        if too_much.is_set():
            ended = f"it printed more than {10 * PRINTED} bytes"
        elif clock() > until:
            ended = f"it took more than {seconds:g} s"
        else:
            ended = await asyncio.to_thread(over_limit, folder)
    if not ending.done():
        process.kill()
    code_of_end = await ending
    await reading
    text = printed.decode("utf-8", "replace").replace("\x00", "")
    return Ran(text, ended or over_limit(folder) or _end(code_of_end))


def _end(code: int) -> str:
    """Why it ended, if not well: an exception has told so itself."""
    if code in (0, 1):
        return "" if code == 0 else "it ended with an error"
    number = code - 128 if code > 128 else -code
    if number in (signal.SIGXCPU, signal.SIGKILL):
        return "it took too much time or memory"
    return f"it ended with code {code}"


def over_limit(folder: Path) -> str:
    """Which limit the files below `folder` are over, in words; empty for none."""
    size = count = 0
    for root, folders, files in os.walk(folder):
        count += len(folders) + len(files)
        if count > FILES:
            return f"it made more than {FILES} files"
        for name in files:
            try:
                size += os.lstat(os.path.join(root, name)).st_blocks * 512  # noqa: PTH118 # ten times a second
            except OSError:
                continue
    return f"its files take more than {ALL_BYTES // 1_048_576} MB" if size > ALL_BYTES else ""


def _command(folder: Path, given: Path, filtered: int) -> list[str]:
    """The command line: everything that is not named here is not there."""
    shown: list[str] = []
    for path in _readable():
        shown += ["--ro-bind", path, path]
    for link in ("bin", "lib", "lib32", "lib64", "sbin"):
        if (target := Path("/", link)).is_symlink():
            shown += ["--symlink", str(target.readlink()), f"/{link}"]
        elif target.is_dir():
            shown += ["--ro-bind", str(target), str(target)]
    own = ("--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev")  # noqa: S108 # the sandbox's own
    kernel = ("--ro-bind", "/proc/sys", "/proc/sys")  # which its files alone protect from the system's root
    return [
        *("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"),
        *("--size", str(FILE_BYTES), *own, *kernel, *shown),
        *("--ro-bind", str(given), "/sources", "--bind", str(folder), WORK, "--chdir", WORK),
        *(word for name, value in ENVIRONMENT.items() for word in ("--setenv", name, value)),
        *("--seccomp", str(filtered), "--", sys.executable, "-I", "-B", "-u", "-c", START),
    ]


def _readable() -> list[str]:
    """Folders of the system's programs, and of this Python with its packages; none of them below another."""
    paths = sysconfig.get_paths()
    wanted = ["/usr", "/etc/alternatives", "/etc/ld.so.cache", sys.base_prefix, paths["purelib"], paths["platlib"]]
    wanted += [str(Path(sys.executable).parent), str(Path(sys.prefix, "pyvenv.cfg"))]
    found: list[str] = []
    for path in sorted({path for path in wanted if Path(path).exists()}, key=len):
        if not any(Path(path).is_relative_to(above) for above in found):
            found.append(path)
    return found


# ---------------------------------------------------------------------------------------------------- system calls

ARCHITECTURES = {
    # AUDIT_ARCH_*, and the numbers of: clone, clone3, fork and vfork, what else is refused.
    "x86_64": (
        0xC000003E,
        56,
        435,
        (57, 58),
        (101, 165, 166, 175, 246, 250, 272, 298, 308, 310, 311, 321, 323, 425, 426, 427),
    ),
    "aarch64": (
        0xC00000B7,
        220,
        435,
        (),
        (117, 40, 39, 105, 104, 219, 97, 241, 268, 270, 271, 280, 282, 425, 426, 427),
    ),
}
"""Refused besides new processes: ptrace, mount and umount, kernel modules, kexec, keyctl, unshare, perf, setns,
process_vm_readv and _writev, bpf, userfaultfd, io_uring. Numbers: the kernel's tables of system calls."""
CLONE_THREAD = 0x00010000
ALLOW, DENY, ABSENT, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
"""Let it pass; fail with EPERM, with ENOSYS (as a kernel that does not have it: libraries do without); end it."""


@contextmanager
def _filter() -> Iterator[int]:
    """A file with the filter of system calls, in classic BPF as `seccomp(2)` takes it."""
    with tempfile.TemporaryFile() as file:
        file.write(_program(platform.machine()))
        file.seek(0)
        yield file.fileno()


def _program(machine: str) -> bytes:
    """The filter: checks the architecture, then the number of the call, then of `clone` whether it makes a thread."""
    audit, clone, clone3, forks, refused = ARCHITECTURES[machine]
    load, equal, at_least, any_of, give = 0x20, 0x15, 0x35, 0x45, 0x06
    lines = [(load, 0, 0, 4), (equal, 1, 0, audit), (give, 0, 0, KILL), (load, 0, 0, 0)]
    if machine == "x86_64":  # the numbers of its x32 form
        lines += [(at_least, 0, 1, 0x40000000), (give, 0, 0, DENY)]
    for number in (*forks, *refused):
        lines += [(equal, 0, 1, number), (give, 0, 0, DENY)]
    lines += [(equal, 0, 1, clone3), (give, 0, 0, ABSENT)]
    lines += [(equal, 0, 3, clone), (load, 0, 0, 16), (any_of, 1, 0, CLONE_THREAD), (give, 0, 0, DENY)]
    lines += [(give, 0, 0, ALLOW)]
    return b"".join(struct.pack("<HBBI", *line) for line in lines)
