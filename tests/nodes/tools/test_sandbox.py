"""Code that an agent wrote: what it may do, and forty ways in which it tries to do more."""

import asyncio
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodes.tools import sandbox
from nodes.tools.python import make_python
from nodes.tools.sandbox import Ran, missing, run_script
from nodes.tools.sources import open_sources
from state.errors import ToolRefused

held_in = pytest.mark.skipif(bool(missing()), reason=missing() or "there is a sandbox")


async def run(code: str, work: Path, seconds: float = 10) -> Ran:
    return await run_script(code, made(work), made(work.parent / "given"), seconds=seconds)


def made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


@held_in
async def test_it_reads_what_it_was_given_and_its_files_and_words_come_back(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("plan,price\nfree,0\npro,20\n")
    tool = make_python(open_sources([str(tmp_path)]), tmp_path / "artifacts", "t1")
    code = """
        import csv, pathlib
        rows = list(csv.DictReader(open("/sources/prices.csv")))
        print("total", sum(float(row["price"]) for row in rows))
        pathlib.Path("charts").mkdir()
        pathlib.Path("charts/dot.png").write_bytes(b"PNG" + bytes(9))
        pathlib.Path("leak").symlink_to("/etc/hostname")
    """
    code = "\n".join(line.strip() for line in code.splitlines())

    said = await tool.ainvoke({"name": "python", "args": {"code": code}, "id": "1", "type": "tool_call"})

    assert said.content == "total 20.0\n\nArtifacts: charts/dot.png (12 bytes)"
    assert [one["name"] for one in said.artifact["artifacts"]] == ["charts/dot.png"]
    assert (tmp_path / "artifacts/charts/dot.png").read_bytes() == b"PNG" + bytes(9)


@held_in
async def test_an_error_comes_back_with_its_line(tmp_path: Path) -> None:
    ran = await run("x = 1\nx / 0", tmp_path / "work")

    assert ran.ended == "it ended with an error"
    assert "line 2" in ran.printed
    assert ran.printed.endswith("ZeroDivisionError: division by zero\n")


OUT = {
    "a connection": "import socket; socket.create_connection(('127.0.0.1', PORT), 2)",
    "a datagram": "import socket; socket.socket(2, 2).sendto(b'x', ('192.0.2.1', PORT))",
    "a name": "import socket; socket.getaddrinfo('example.org', 80)",
    "an abstract socket": "import socket; socket.socket(1).connect('\\0baton-test')",
    "a packet": "import socket; socket.socket(17, 3)",
    "the secret": "open('SECRET')",
    "the secret by a link": "import os; os.symlink('SECRET', 'a'); open('a')",
    "the secret by going up": "open('../..' + 'SECRET')",
    "the secret by proc": "open('/proc/1/root' + 'SECRET')",
    "the secret by the parent": "import os; open(f'/proc/{os.getppid()}/root' + 'SECRET')",
    "passwords": "open('/etc/shadow')",
    "users": "open('/etc/passwd')",
    "a program of the system, to write": "open('/usr/bin/env', 'a')",
    "a new program": "open('/usr/bin/evil', 'w')",
    "a package": "import os; os.unlink(os.__file__)",
    "what it was given": "open('/sources/new', 'w')",
    "a device": "import os; os.mknod('disk', 0o60600, os.makedev(8, 0)); open('disk', 'rb').read(1)",
    "a disk": "open('/dev/vda', 'rb')",
    "memory": "open('/dev/mem', 'rb')",
    "kernel settings": "open('/proc/sys/kernel/hostname', 'w').write('x')",
    "a trigger": "open('/proc/sysrq-trigger', 'w').write('c')",
    "a mount": "import ctypes; assert ctypes.CDLL(None).mount(b'/', b'/tmp', b'', 4096, 0) == 0",
    "a namespace": "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "another namespace": "import ctypes, os; assert ctypes.CDLL(None).setns(os.open('/proc/self/ns/user', 0), 0) == 0",
    "a trace": "import ctypes; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0",
    "a root": "import os; os.chroot('/work')",
    "a user": "import os; os.setuid(12345)",
    "a fork": "import os; os.fork()",
    "a spawned process": "import os; os.posix_spawn('/usr/bin/env', ['env'], {})",
    "a command": "import subprocess; subprocess.run(['ls'], check=True)",
    "a shell": "import os; assert os.system('true') == 0",
    "a process of a pool": "import multiprocessing as m; m.get_context('fork').Process(target=print).start()",
    "lifted limits": "import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1)); bytearray(3 * 1024**3)",
    "memory without end": "x = []\nwhile True: x.append(bytearray(10**8))",
    "one huge file": "f = open('a', 'wb')\nfor _ in range(100): f.write(bytes(10**6)); f.flush()",
    "the other's environment": "open('/proc/1/environ', 'rb').read().index(b'BATON_TEST_KEY')",
    "its own": "import os; os.environ['BATON_TEST_KEY']",
    "a key ring": "import ctypes; assert ctypes.CDLL(None).syscall(250, 0, -3, 0) > 0",
    "a program of the kernel": "import ctypes; assert ctypes.CDLL(None, use_errno=True).syscall(321, 0, 0, 0) >= 0",
    "a ring": "import ctypes; assert ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120)) >= 0",
}


@pytest.fixture(scope="module")
def outside() -> Iterator[tuple[Path, int]]:
    """A secret on this disk, a server on this machine, and a key in the environment."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        secret = Path(folder) / "secret.txt"
        secret.write_text("key 4711")
        os.environ["BATON_TEST_KEY"] = "key 4711"
        yield secret, server.getsockname()[1]
        del os.environ["BATON_TEST_KEY"]


@held_in
async def test_nothing_gets_out_and_nothing_is_reached(outside: tuple[Path, int], tmp_path: Path) -> None:
    """Each attack is tried and caught in one script, but for those that end it: these have one each."""
    secret, port = outside
    attempts = {what: code.replace("SECRET", str(secret)).replace("PORT", str(port)) for what, code in OUT.items()}
    fatal = {"memory without end"}
    script = "\n".join(
        f"try:\n    exec({code!r}, {{}})\nexcept BaseException as e: pass\nelse: print({what!r})"
        for what, code in attempts.items()
        if what not in fatal
    )

    ran = await run(f"{script}\nprint('tried')", tmp_path / "work")
    alone = [await run(attempts[what], tmp_path / what.replace(" ", "-")) for what in fatal]

    assert ran.printed.splitlines() == ["tried"], ran.ended
    assert all(one.ended for one in alone)


DEAF = """
import signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
time.sleep(1000)
"""


@held_in
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("while True: pass", "it took more than 1 s"),
        ("import time; time.sleep(1000)", "it took more than 1 s"),
        ("while True: print('x' * 10**6)", "it printed more than 1000000 bytes"),
        ("for n in range(100): open(str(n), 'wb').write(bytes(10**7))", "its files take more than 50 MB"),
        ("import os\nfor n in range(10**6): os.mkdir(str(n))", "it made more than 500 files"),
        (DEAF, "it took more than 1 s"),
        ("import os, time; os.close(1); os.close(2); time.sleep(1000)", "it took more than 1 s"),
    ],
)
async def test_what_does_not_end_by_itself_is_ended_with_the_reason(code: str, why: str, tmp_path: Path) -> None:
    ran = await run(code, tmp_path / "work", seconds=1 if why.endswith(" s") else 60)

    assert ran.ended in (why, "it took too much time or memory")
    assert len(ran.printed) <= sandbox.PRINTED


@held_in
async def test_threads_and_packages_are_there(tmp_path: Path) -> None:
    code = "import threading; t = threading.Thread(target=print, args=['a thread']); t.start(); t.join()"

    assert (await run(code, tmp_path / "work")).printed == "a thread\n"


@held_in
async def test_cancelled_it_leaves_no_process(tmp_path: Path) -> None:
    pipe = tmp_path / "work" / "pipe"
    made(pipe.parent)
    os.mkfifo(pipe)
    working = asyncio.ensure_future(
        run("f = open('pipe', 'wb')\nf.write(b'up'); f.flush()\nwhile True: pass", pipe.parent)
    )
    with await asyncio.to_thread(pipe.open, "rb") as end:
        await asyncio.to_thread(end.read, 2)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)

        assert await asyncio.to_thread(end.read) == b""  # whoever held the other end is gone


async def test_where_there_is_no_sandbox_it_is_refused_with_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ToolRefused, match="needs bubblewrap"):
        await run("print(1)", tmp_path / "work")
