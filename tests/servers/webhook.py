"""A webhook on this machine: keeps what is posted to it, and answers with the codes it is told to, the last one on."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Webhook:
    """What came in, in order."""

    def __init__(self, codes: tuple[int, ...]) -> None:
        self.codes = codes
        self.posted: list[dict[str, Any]] = []
        self.url = ""
        """For Apprise."""


@contextmanager
def webhook(*codes: int) -> Iterator[Webhook]:
    """A webhook on a free port of 127.0.0.1; by default everything is fine."""
    kept = Webhook(codes or (200,))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            code = kept.codes[min(len(kept.posted), len(kept.codes) - 1)]
            kept.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.url = f"json://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
