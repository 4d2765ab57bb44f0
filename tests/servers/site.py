"""A web site on this machine: thirty pages of a guide, with redirects, a robots.txt and traps; and search services."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAGES = 30
PAGE = "<h1>Guide {n}</h1>\n<p>Station {n} lies {km} km from the coast.</p>\n<a href='{next}'>next</a>"


@dataclass
class Site:
    """One that is up. `asked`: the paths that were fetched, in order."""

    address: str
    asked: list[str] = field(default_factory=list)
    page: str = "first"
    """What the page that changes shows."""


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def log_message(self, *_: Any) -> None:
        """Silence."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self._search()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.site.asked.append(self.path)
        known = {f"/guide/{n}.html": n for n in range(1, PAGES + 1)}
        if path in known:
            n = known[path]
            self._give(PAGE.format(n=n, km=n * 7, next=f"/guide/{n % PAGES + 1}.html"))
        elif path == "/guide/":
            self._give(
                "".join(f"<a href='{n}.html'>{n}</a>" for n in range(1, PAGES + 1)) + "<a href='/secret/a'>s</a>"
            )
        elif path == "/robots.txt":
            self._give("User-agent: *\nDisallow: /secret/\n", "text/plain")
        elif path == "/sitemap.xml":
            listed = "".join(f"<url><loc>{self.site.address}/guide/{n}.html</loc></url>" for n in (1, 2, 3))
            foreign = "<url><loc>http://other.example/a</loc></url>"
            self._give(
                f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{listed}{foreign}</urlset>", "text/xml"
            )
        elif path == "/moves":
            self._go("/guide/4.html")
        elif path == "/circle":
            self._go("/circle")
        elif path.startswith("/to/"):
            self._go(self.path.removeprefix("/to/"))
        elif path == "/secret/a":
            self._give("The secret.")
        elif path == "/changes":
            self._give(f"<p>It says {self.site.page} today.</p>")
        elif path == "/film":
            self._give("film", "video/mp4")
        elif path == "/huge":
            self._give("x" * (11 * 1024 * 1024))
        elif path == "/endless":
            self._endless()
        elif path in ("/search", "/res/v1/web/search"):
            self._search()
        else:
            self.send_error(404)

    def _search(self) -> None:
        hits = [{"url": f"{self.site.address}/guide/{n}.html", "title": f"Guide {n}"} for n in (9, 10)]
        hits.append({"url": f"{self.site.address}/secret/a", "title": "Secret"})
        if "garbage" in self.path:
            self._give("<p>sorry</p>")
        elif "busy" in self.path:
            self.send_error(429)
        elif self.path.startswith("/res"):
            self._give(json.dumps({"web": {"results": [{**hit, "description": "brave"} for hit in hits]}}))
        else:
            self._give(json.dumps({"results": [{**hit, "content": "said"} for hit in hits]}))

    def _give(self, text: str, kind: str = "text/html") -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self._write(data)

    def _go(self, where: str) -> None:
        self.send_response(302)
        self.send_header("location", where)
        self.send_header("content-length", "0")
        self.end_headers()

    def _endless(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        while self._write(b"<p>more</p>"):
            time.sleep(0.02)

    def _write(self, data: bytes) -> bool:
        try:
            self.wfile.write(data)
        except OSError:  # whoever asked has enough
            return False
        return True


@contextmanager
def serving(host: str = "127.0.0.1") -> Iterator[Site]:
    """The site, while inside."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer((host, 0), handler)
    site = handler.site = Site(f"http://{host}:{server.server_port}")  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
