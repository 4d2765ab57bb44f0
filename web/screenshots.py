"""Makes the pictures in docs/: `python web/screenshots.py URL FINISHED WAITING`, threads of a room served there.

`make serve` serves one with the threads `market-finished` and `market-waiting`.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).resolve().parents[1] / "docs"
STATES = (
    ("done", 0, 1440, 900, "light"),
    ("asks", 1, 1440, 900, "light"),
    ("dark", 1, 1440, 900, "dark"),
    ("narrow", 1, 400, 800, "light"),
)
"""Name, which thread, width, height, light or dark."""


def main(url: str, *threads: str) -> None:
    """Open each state, and keep its picture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, thread, width, height, scheme in STATES:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(f"{url}/#{threads[thread]}")
            page.locator(".card:visible, .bs:visible").first.wait_for()
            page.screenshot(path=DOCS / f"control-room-{name}.png")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
