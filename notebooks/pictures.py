"""Makes a picture of each notebook as it was kept: `python notebooks/pictures.py FOLDER`; in `docs`, of one run.

Nothing is run: a page is made of the cells and of what they showed, as notebook pages draw them, and Chromium opens it.
"""

import sys
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).resolve().parent
RUN = ("03_your_own_agents", "run")
"""The notebook, and the last line of the cell, whose drawing is in the docs."""
STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 960px; margin: 24px auto; padding: 0 24px; color: #212121 }
pre { font: 13px/1.45 monospace; margin: 0; white-space: pre-wrap }
.in { background: #f5f5f5; border: 1px solid #e0e0e0; padding: 8px 12px; margin-top: 16px }
.out { padding: 8px 12px } .md { margin-top: 16px } td, th { font-size: 13px }
"""


def main(folder: str) -> None:
    """Take all of them."""
    into = Path(folder).absolute()
    into.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for path in sorted(HERE.glob("*.ipynb")):
            cells = nbformat.reads(path.read_text("utf-8"), as_version=4).cells
            if into.name != "docs":
                take(browser, cells, into / f"notebook-{path.stem}.png")
            elif path.stem == RUN[0]:
                take(browser, [next(cell for cell in cells if last_line(cell) == RUN[1])], into / "notebook-run.png")
        browser.close()


def take(browser: Browser, cells: list[Any], path: Path) -> None:
    """The picture of these cells, one below the other."""
    page = browser.new_page(viewport={"width": 1000, "height": 300})
    page.set_content(f"<meta charset=utf-8><style>{STYLE}</style>{''.join(map(shown, cells))}")
    page.screenshot(path=path, full_page=True)
    page.close()


def shown(cell: Any) -> str:
    """A cell with what it gave, as HTML."""
    if cell.cell_type == "markdown":
        return f'<div class="md">{written(cell.source)}</div>'
    return f'<div class="in"><pre>{escape(cell.source)}</pre></div>{"".join(map(given, cell.outputs))}'


def given(output: Any) -> str:
    """One output: of what it is there as, what a notebook page would choose."""
    data = output.get("data", {})
    text = escape("".join(output.get("text", data.get("text/plain", ""))))
    drawn = [data[kind] for kind in ("text/html", "image/svg+xml") if kind in data]
    drawn += [written(data["text/markdown"])] if "text/markdown" in data else []
    return f'<div class="out">{drawn[0] if drawn else f"<pre>{text}</pre>"}</div>'


def written(text: str) -> str:
    """Markdown as HTML."""
    return str(MarkdownIt("commonmark").enable("table").render(text))


def last_line(cell: Any) -> str:
    """How a cell ends."""
    return cell.source.strip().rpartition("\n")[2] if cell.cell_type == "code" else ""


if __name__ == "__main__":
    main(sys.argv[1])
