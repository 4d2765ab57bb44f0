"""The page's files, and a run as one file that shows itself offline: the same page with the data in it.

The files are built from `web/` by `npm run build` there, and come with the package.
"""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from state.text import Json

PAGE_FILES = {
    "index.html": "text/html; charset=utf-8",
    "room.js": "text/javascript; charset=utf-8",
    "room.css": "text/css; charset=utf-8",
}
"""Their media types, by name."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
OFFLINE = "img-src data:; base-uri 'none'; form-action 'none'"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of every file of the page."""


def read_file(name: str) -> str:
    """One of the page's files."""
    return files("graph.web").joinpath("page", name).read_text("utf-8")


def as_one_file(view: Json) -> str:
    """An HTML file that shows a run (as `graph.web.views.in_full` gives it) without any request."""
    script, style = read_file("room.js"), read_file("room.css")
    run = view["run"]
    title = str(run.get("query", "")) if isinstance(run, dict) else ""
    # In a script element only `<` can end it, or begin a comment.
    data = json.dumps(view, ensure_ascii=False).replace("<", "\\u003c")
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; {OFFLINE}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escape(title[:80])} · Baton</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<div id="room"></div>\n<script type="application/json" id="run">{data}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
