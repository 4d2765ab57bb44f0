"""Every notebook runs from top to bottom, and leaves nothing behind."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.pages import marked

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.rglob("*.ipynb"))
AT_ONCE = ("01_first_run", "03_your_own_agents")
"""What `make test` runs; the others are for a campaign."""
CELL_SECONDS = 120
MOST_BYTES = 200_000


def test_there_is_a_notebook() -> None:
    assert [path.name for path in NOTEBOOKS][:1] == ["01_first_run.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_shows_what_its_cells_gave_and_stays_small(path: Path) -> None:
    notebook = nbformat.reads(path.read_text("utf-8"), as_version=4)
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert shown
    assert [output for output in shown if output.output_type == "error"] == []
    assert path.stat().st_size < MOST_BYTES


def contents(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if "__pycache__" not in path.parts}


async def execute(path: Path, cwd: Path) -> None:
    """Run all cells in a kernel of this interpreter; a cell that raises, raises here."""
    with path.open(encoding="utf-8") as file:
        notebook = nbformat.read(file, as_version=4)
    client = NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name="python3", resources={"metadata": {"path": str(cwd)}}
    )
    await client.async_execute()


@pytest.mark.parametrize("path", marked(NOTEBOOKS, AT_ONCE))
async def test_a_notebook_runs_and_leaves_nothing_behind(path: Path) -> None:
    before = contents(FOLDER)
    await execute(path, cwd=FOLDER)
    assert contents(FOLDER) == before


async def test_a_notebook_that_fails_would_be_found(tmp_path: Path) -> None:
    path = tmp_path / "broken.ipynb"
    cell = nbformat.v4.new_code_cell("raise ValueError('broken on purpose')")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    with pytest.raises(Exception, match="broken on purpose"):
        await execute(path, cwd=tmp_path)
