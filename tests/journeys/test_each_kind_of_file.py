"""Ten questions about a folder with a file of each kind: each answered from the place that a person would look for."""

import shutil
from pathlib import Path

import pytest

from graph import open_supervisor
from tests.nodes.tools import office

QUESTIONS = {
    "How many days of leave does everybody have?": ("28 days of leave", "handbook.docx", "Handbook"),
    "What does the pro plan cost?": ("20.5", "prices.xlsx, sheet 2026", ""),
    "By how much did revenue grow?": ("12 percent", "deck.pptx", "slide 2"),
    "On which day is the meeting?": ("Friday", "post.mbox", "message 2"),
    "How long did it rain?": ("forty days", "novel.epub", "chapter 1"),
    "When was it measured?": ("Measured in spring", "growth.ipynb", "cell 1"),
    "Which port does the server use?": ("port = 8080", "setup.toml", "line"),
    "How many steps does the inner plan have?": ("3 steps", "bundle.zip/inner.zip/plans/inner.md", "line 1"),
    "What is the height of the lighthouse tower?": ("41 metres", "towers.html", "line"),
    "How much is the deposit for the boat?": ("450 euros", "scan.pdf", "page 1"),
    "Who keeps the keys of the archive?": ("Mira Holt", "people.yaml", "line"),
    "What was agreed about parking?": ("parking is free", "minutes.rst", "line"),
}


@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
async def test_questions_about_files_of_each_kind_are_answered_with_the_right_place(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    nested = office.zipped({"plans/inner.md": b"The inner plan has 3 steps.\n"})
    made = {
        "handbook.docx": office.word(),
        "prices.xlsx": office.workbook(),
        "deck.pptx": office.slides(),
        "offer.eml": office.letter().as_bytes(),
        "post.mbox": office.post(tmp_path),
        "novel.epub": office.book(),
        "growth.ipynb": office.notebook(),
        "setup.toml": b"[server]\nport = 8080\n",
        "bundle.zip": office.zipped({"docs/guide.md": b"# Guide\n\nStart with the guide.\n", "inner.zip": nested}),
        "towers.html": b"<h1>Towers</h1><h2>Lighthouse</h2><p>The lighthouse tower has a height of 41 metres.</p>",
        "scan.pdf": office.scan("The deposit for the boat is 450 euros.", "PDF"),
        "people.yaml": b"archive:\n  keys: Mira Holt keeps the keys of the archive\n",
        "minutes.rst": b"Minutes\n=======\n\nIt was agreed that parking is free on Sundays.\n",
        "ages.csv": b"name,age\nAnn,31\nBo,44\n",
        "tool.py": b"LIMIT = 99\n",
    }
    for name, data in made.items():
        (folder / name).write_bytes(data)

    wrong: dict[str, str] = {}
    async with open_supervisor(tmp_path / "b.db", model="offline", policy={"oversight": "on_the_loop"}) as sup:
        for question, (said, file, place) in QUESTIONS.items():
            run = await sup.start(question, [folder])
            body, _, sources = (run.report or "").partition("## Sources")
            first = next((line for line in sources.splitlines() if line.startswith("1. ")), "")
            if said not in body or not first.startswith(f"1. {file}") or place not in first or "unverified" in body:
                wrong[question] = run.report or str(run.error)

    assert wrong == {}
