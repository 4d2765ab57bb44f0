"""Runs every notebook and keeps what its cells show: `python notebooks/run.py`."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
OF_NO_USE = ("execution", "collapsed")
"""What is noted about a cell that is another each time."""
DRAWN = {"text/html", "image/svg+xml"}
"""What is shown like this is not kept in words besides: they may name folders of whoever ran it."""


def main() -> None:
    """Run them in turn."""
    for path in sorted(HERE.glob("*.ipynb")):
        with path.open(encoding="utf-8") as file:
            notebook = nbformat.read(file, as_version=4)
        NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}).execute()
        for cell in notebook.cells:
            for name in OF_NO_USE:
                cell.metadata.pop(name, None)
            for output in cell.get("outputs", []):
                if DRAWN & output.get("data", {}).keys():
                    output.data.pop("text/plain", None)
                    output.data.pop("text/markdown", None)
        notebook.metadata.language_info = {"name": "python"}
        nbformat.write(notebook, path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
