"""Refuses every connection that leaves this machine.

The tests' conftest calls `install`. Python processes that tests start find this folder first on their PYTHONPATH, and
Python imports a module of this name by itself as it starts: so the guard holds there too.
"""

import ipaddress
import os
import socket
from collections.abc import Callable
from typing import Any

attempts: list[str] = []
"""Where somebody tried to go: a test that swallowed the refusal still fails for it."""


class NetworkForbidden(RuntimeError):
    """A test tried to leave this machine. Not an OSError: nothing should take it for a server that is down."""


def is_local(host: object) -> bool:
    """Whether `host` is this machine: a loopback or unspecified address, or a name of it."""
    if host is None or host in ("", "localhost", b"localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def refuse(host: object) -> None:
    """Note the attempt and refuse it."""
    attempts.append(str(host))
    raise NetworkForbidden(f"this test tried to reach {host!r}; use a server on 127.0.0.1, or a scripted model")


def install() -> None:
    """Put the guard in front of the socket functions of this process. A second call changes nothing."""
    if getattr(socket, "guarded", False):
        return
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _to_address(getattr(socket.socket, name)))
    for name in ("sendto", "sendmsg"):
        setattr(socket.socket, name, _to_last(getattr(socket.socket, name)))
    for name in ("getaddrinfo", "gethostbyname"):
        setattr(socket, name, _of_name(getattr(socket, name)))
    setattr(socket, "guarded", True)  # noqa: B010 -- a plain assignment is an unknown attribute to mypy


def _check(sock: socket.socket, address: object) -> None:
    if sock.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple) and not is_local(address[0]):
        refuse(address[0])


def _to_address(real: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(sock: socket.socket, address: object) -> Any:
        _check(sock, address)
        return real(sock, address)

    return guarded


def _to_last(real: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(sock: socket.socket, *args: Any) -> Any:
        _check(sock, args[-1] if len(args) > 1 else None)
        return real(sock, *args)

    return guarded


def _of_name(real: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(host: object, *args: Any, **kwargs: Any) -> Any:
        if not is_local(host):
            refuse(host)
        return real(host, *args, **kwargs)

    return guarded


if __name__ == "sitecustomize":
    if os.environ.get("TESTS_POSTGRES"):
        from tests import postgres

        postgres.install()
    install()
