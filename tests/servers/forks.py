"""Processes in hundredths of a second: forked from one that has imported everything, which takes seconds.

Each test process starts one such parent (`python -m tests.servers.forks SOCKET`) when it first needs a child, and the
parent ends with it. Whoever wants a child connects to the parent's socket and hands over what is to be run. The parent
forks a warden for it, and that forks the child: so the warden waits for nobody else, and says how it ended. A child
has its own streams, folder and environment, and leaves as any Python does: it waits for its threads, and calls what is
registered for the end. Only what was imported is not taken apart, which takes longer than most children work.
"""

import atexit
import functools
import gc
import importlib
import io
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

PRELOADED = ("tests.journeys.stories", "graph.cli.main", "langchain.agents", "langchain_openai", "pytest")
"""What children need; graphs, models, the command line."""

PATIENCE_S = 150
"""Seconds until a child is taken for hung: less than a test may take, more than a busy machine ever needs."""


@dataclass(frozen=True)
class _Wanted:
    """What a child is to do."""

    work: Callable[..., object]
    args: tuple[object, ...]
    cwd: str
    environment: dict[str, str]


@dataclass
class Child:
    """A process that was made, as `subprocess.Popen` has it."""

    pid: int
    _wire: socket.socket
    returncode: int | None = field(default=None)

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Its exit code; a signal that killed it, as a negative number.

        Raises:
            TimeoutError: it has not ended after so many seconds; it is killed.
        """
        if self.returncode is None:
            try:
                self.returncode = _number_from(self._wire, timeout)
            except TimeoutError:
                self.send_signal(signal.SIGKILL)
                raise TimeoutError(f"process {self.pid} did not end within {timeout:g} seconds") from None
            finally:
                self._wire.close()
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it was waited for."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


@dataclass(frozen=True)
class Done:
    """What a child said, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def spawn(
    work: Callable[..., object],
    *args: object,
    streams: tuple[int, int, int] | None = None,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Child:
    """Run a function of a module in a process of its own; what it returns is the exit code, None is 0.

    `streams`: what the child has for standard input, output and error; by default nothing and this process's.
    `environment`: what it has besides this process's variables.
    """
    variables = {**os.environ, **(environment or {})}
    wanted = pickle.dumps(_Wanted(work, args, str(cwd or Path.cwd()), variables))
    wire = socket.socket(socket.AF_UNIX)
    wire.connect(_parent())
    with Path(os.devnull).open("rb") as nothing:
        socket.send_fds(wire, [_number(len(wanted))], streams or (nothing.fileno(), 1, 2))
    wire.sendall(wanted)
    return Child(_number_from(wire, PATIENCE_S), wire)


def run(
    work: Callable[..., object],
    *args: object,
    given: str = "",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """The same, to its end, with text for its standard input."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        stdin.write(given.encode())
        stdin.seek(0)
        streams = (stdin.fileno(), out.fileno(), err.fileno())
        code = spawn(work, *args, streams=streams, cwd=cwd, environment=environment).wait()
        out.seek(0)
        err.seek(0)
        return Done(code, out.read().decode(), err.read().decode())


def _number(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def _number_from(wire: socket.socket, timeout: float) -> int:
    wire.settimeout(timeout)
    said = wire.recv(8, socket.MSG_WAITALL)
    if len(said) < 8:
        raise RuntimeError("the process that makes others has failed; its error is above")
    return int.from_bytes(said, "big", signed=True)


@functools.cache
def _parent() -> str:
    """The socket of this process's parent of children, which it starts."""
    folder = tempfile.TemporaryDirectory(prefix="forks-")
    path = str(Path(folder.name) / "socket")
    # Nothing is measured there: children that are killed leave no figures, and the rest would be slow for them.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tests.servers.forks", str(listening.fileno())],
        stdin=subprocess.PIPE,
        pass_fds=[listening.fileno()],
        env=environment,
    )
    listening.close()

    @atexit.register
    def end() -> None:
        process.communicate()  # it ends with its standard input
        folder.cleanup()

    return path


# ------------------------------------------------------------------------------------------- in the parent of children


def _serve(listening: socket.socket) -> _Wanted | None:
    """Fork until standard input ends. Returns None then; in a child, what it is to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the tests' terminal is for the tests
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a warden ended
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [])
        if listening not in ready:
            return None
        wire, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return _warden(wire)
        wire.close()


def _warden(wire: socket.socket) -> _Wanted:
    """Fork the child, tell its id, and how it ended. Returns in the child only."""
    size, streams, _, _ = socket.recv_fds(wire, 8, 3)
    with wire.makefile("rb") as said:
        wanted: _Wanted = pickle.loads(said.read(int.from_bytes(size, "big", signed=True)))  # noqa: S301 - from the tests
    child = os.fork()
    if child == 0:
        wire.close()
        _become(wanted, streams)
        return wanted
    wire.sendall(_number(child))
    _, status = os.waitpid(child, 0)
    with suppress(OSError):  # whoever asked has gone
        wire.sendall(_number(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def _become(wanted: _Wanted, streams: list[int]) -> None:
    """Be as a process that was just started."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lasts
    sys.stdout, sys.stderr = _writer(1), _writer(2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(wanted.environment)
    os.chdir(wanted.cwd)
    sys.path.insert(0, "")
    sys.argv = ["-c"]


def _writer(number: int) -> io.TextIOWrapper:
    by_line = number == 2 or os.isatty(number)
    errors = "backslashreplace" if number == 2 else "strict"
    return open(number, "w", encoding="utf-8", errors=errors, closefd=False, buffering=1 if by_line else -1)


def _leave(code: list[int]) -> None:
    """The last of what is registered for the end. Without a code, after an error, Python's own end follows."""
    if code:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code[0])
    gc.unfreeze()  # what is left over at that end would be printed as leaked


def _main() -> NoReturn:
    code: list[int] = []
    atexit.register(_leave, code)  # before what the modules register: the first is called last
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()  # wardens share what was imported: no collection of theirs copies it
    wanted = _serve(socket.socket(fileno=int(sys.argv[1])))
    result: Any = (wanted.work(*wanted.args) if wanted else None) or 0
    code += [result] if isinstance(result, int) else []
    sys.exit(result)


if __name__ == "__main__":
    # As its importable self: what is pickled is of that module, not of `__main__`.
    importlib.import_module("tests.servers.forks")._main()
