"""A server on the loopback interface that speaks OpenAI's chat-completions protocol, well or badly, as told.

with OpenAIStub("Hello.") as server:                      # every request gets the same
with OpenAIStub(["one", Failure(500), Say("two")]) as server:    # one after the other, the last again and again
with OpenAIStub(lambda request: request.body["model"]) as server:
    ChatOpenAI(base_url=server.url, ...)
    server.requests[0].body["response_format"]
"""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.servers import wire


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any]


@dataclass(frozen=True)
class Say:
    """A proper answer, streamed if the request wants that."""

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    """Tool calls: name, and arguments (a text is sent as it is, valid or not)."""
    finish: str | None = None
    usage: tuple[int, int] | None = (11, 7)
    every_s: float = 0.0
    """Seconds between two chunks of a stream."""
    streams: bool = True
    """False: everything at once, also where a stream was asked for."""


@dataclass(frozen=True)
class Failure:
    """An HTTP error in OpenAI's form."""

    status: int
    message: str = "it went wrong"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """These bytes with status 200."""

    content: bytes
    content_type: str = "application/json"


@dataclass(frozen=True)
class Events:
    """A stream of these bytes, piece by piece, and its proper end."""

    pieces: Sequence[bytes]
    every_s: float = 0.0
    """Seconds between two pieces."""


@dataclass(frozen=True)
class Hang:
    """No answer until the server is closed."""


@dataclass(frozen=True)
class Hangup:
    """A stream that breaks off after some chunks; without chunks the connection is closed without any answer."""

    text: str = ""
    chunks: int = 0
    politely: bool = False
    """Ends the stream as if it were complete, but without finish reason and `[DONE]`."""


Behaviour = str | Say | Failure | Raw | Events | Hang | Hangup


class OpenAIStub:
    """The server, as a context manager: listens on a port of its own, records `requests`."""

    def __init__(
        self,
        behaviour: Behaviour | Sequence[Behaviour] | Callable[[Request], Behaviour],
        *,
        key: str | None = None,
        models: Sequence[str] | None = None,
        refuses: Sequence[str] = (),
    ) -> None:
        self._behaviour = behaviour
        self._key, self._models, self._refuses = key, models, refuses
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.arrived = threading.Event()
        self.closing = threading.Event()

    def __enter__(self) -> Self:
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base URL, with `/v1`."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def served(self) -> list[str]:
        """The models it says it has."""
        return list(self._models or ["stub-model"])

    def answer_to(self, request: Request) -> Behaviour:
        """What to do about `request`."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
        self.arrived.set()
        if refusal := self._refusal(request):
            return refusal
        if callable(self._behaviour):
            return self._behaviour(request)
        if isinstance(self._behaviour, Sequence) and not isinstance(self._behaviour, str):
            return self._behaviour[min(number, len(self._behaviour)) - 1]
        return self._behaviour

    def _refusal(self, request: Request) -> Failure | None:
        given, model = request.headers.get("authorization", ""), request.body.get("model")
        if self._key is not None and given != f"Bearer {self._key}":
            return Failure(401, f"Incorrect API key provided: {given.removeprefix('Bearer ')}.", "invalid_api_key")
        if self._models is not None and model not in self._models:
            return Failure(404, f"The model `{model}` does not exist", "model_not_found")
        refused = [name for name in self._refuses if name in request.body]
        return Failure(400, f"{refused[0]} is not supported", "unsupported") if refused else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, stub: OpenAIStub) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.stub = stub


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Keeps the test output clean."""

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            return self._send(404, wire.error("unknown path", None))
        return self._send(200, wire.models(self.server.stub.served))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/v1/chat/completions":
            return self._send(404, wire.error("unknown path", None))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self._act(self.server.stub.answer_to(Request(self.path, headers, body)), body)

    def _act(self, behaviour: Behaviour, body: dict[str, Any]) -> None:
        match behaviour:
            case str():
                self._act(Say(behaviour), body)
            case Say() if body.get("stream") and behaviour.streams:
                events = wire.chunks(body, behaviour.text, behaviour.calls, behaviour.finish, behaviour.usage)
                self._stream(events, every_s=behaviour.every_s)
            case Events():
                self._stream(behaviour.pieces, every_s=behaviour.every_s)
            case Say():
                self._send(
                    200, wire.completion(body, behaviour.text, behaviour.calls, behaviour.finish, behaviour.usage)
                )
            case Failure():
                self._send(behaviour.status, wire.error(behaviour.message, behaviour.code), behaviour.headers)
            case Raw():
                self._send(200, behaviour.content, {"content-type": behaviour.content_type})
            case Hang():
                self.server.stub.closing.wait()
                self.close_connection = True
            case Hangup():
                self._break_off(behaviour, body)

    def _break_off(self, behaviour: Hangup, body: dict[str, Any]) -> None:
        self.close_connection = True
        if behaviour.chunks:
            events = wire.chunks(body, behaviour.text, (), None, None)[: behaviour.chunks]
            self._stream(events, ended=behaviour.politely)

    def _stream(self, events: Sequence[bytes], *, ended: bool = True, every_s: float = 0.0) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            if self.server.stub.closing.wait(every_s):
                break
            try:
                self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
            except OSError:  # whoever asked has gone
                self.close_connection = True
                return
        if ended:
            self.wfile.write(b"0\r\n\r\n")

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        given = {"content-type": "application/json", "date": self.date_time_string(), **(headers or {})}
        self.send_response_only(status)
        for name, value in given.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
