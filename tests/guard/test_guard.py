"""The guard bites: in this process, under asyncio, and in processes that tests start."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from tests.guard.sitecustomize import NetworkForbidden, attempts, is_local

OUTSIDE = "192.0.2.1"
"""An address for documentation (RFC 5737): nobody is there, so a guard that fails open does no harm."""


@pytest.fixture(autouse=True)
def _forgive(no_network: None) -> Iterator[None]:
    """These try on purpose."""
    yield
    attempts.clear()


def test_a_connection_to_the_outside_is_refused() -> None:
    with socket.socket() as sock, pytest.raises(NetworkForbidden, match=OUTSIDE):
        sock.connect((OUTSIDE, 80))


def test_a_connection_that_reports_by_code_is_refused() -> None:
    with socket.socket() as sock, pytest.raises(NetworkForbidden):
        sock.connect_ex((OUTSIDE, 80))


def test_a_datagram_to_the_outside_is_refused() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock, pytest.raises(NetworkForbidden):
        sock.sendto(b"x", (OUTSIDE, 53))


def test_a_name_of_the_outside_is_not_even_looked_up() -> None:
    with pytest.raises(NetworkForbidden, match="example"):
        socket.create_connection(("api.example.com", 443), timeout=1)


async def test_asyncio_is_refused_too() -> None:
    with pytest.raises(NetworkForbidden):
        await asyncio.open_connection(OUTSIDE, 80)


def test_http_clients_are_refused_too() -> None:
    with httpx.Client(trust_env=False) as client, pytest.raises(NetworkForbidden):
        client.get(f"http://{OUTSIDE}/")


def test_an_attempt_is_remembered_when_the_refusal_is_swallowed() -> None:
    with pytest.raises(NetworkForbidden):
        socket.getaddrinfo("example.com", 80)
    assert attempts == ["example.com"]


def test_a_process_that_a_test_starts_is_guarded_too() -> None:
    code = f"import socket; socket.create_connection(('{OUTSIDE}', 80), timeout=1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "NetworkForbidden" in done.stderr


async def test_a_server_on_this_machine_is_reached() -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


def test_sockets_of_the_file_system_are_left_alone() -> None:
    left, right = socket.socketpair()
    with left, right:
        left.send(b"x")
        assert right.recv(1) == b"x"


@pytest.mark.parametrize("host", [None, "", "localhost", "127.0.0.1", "127.8.8.8", "::1", "::"])
def test_this_machine_is_local(host: str | None) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["example.com", "10.0.0.1", "8.8.8.8", "2001:db8::1", "localhost.example.com"])
def test_everything_else_is_not(host: str) -> None:
    assert not is_local(host)
