"""How well the offline model answers from folders that nobody here wrote, beside the best five passages of plain FTS5.

    python benchmarks/answers/measure.py            all questions; prints the figures
    python benchmarks/answers/measure.py --short    a quick part, for CI
    python benchmarks/answers/measure.py --check    fails where a figure is below the recorded one (recorded.json)
    python benchmarks/answers/measure.py --list     also each question with what became of it

The folders come out of packages, downloaded into `build/answers` by pip in the versions of `packages.txt`; nothing of
them is kept in the repository. An answer is right when one of its first three points (a figure or a passage) holds all
key phrases of the question. A question without key phrases is answered nowhere in its folder: it has to be declined.
"""

import argparse
import asyncio
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from graph import open_supervisor
from nodes.tools.likeness import text_vectors
from nodes.tools.sources import Sources, open_sources
from state.run import Run

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "answers"
DECLINED = "I found no passage that answers this"
SHORT = ("click", "penguins", "gapminder")
STOP = frozenset(
    """
    a about all also am an and any are as at be because been both but by can could did do does doing for from had
    has have he her him his how i if in into is it its me more most my no nor not of on only or our out over own same
    she should so some such than that the their them then there these they this those to too under up very was we
    were what when where which while who whom whose why will with would you your
    """.split()  # noqa: SIM905 - a list of words reads as words
)


@dataclass
class Score:
    """What a set of questions came to."""

    answerable: int = 0
    answered: int = 0
    plain: int = 0
    """Answered by the best five passages of plain FTS5."""
    wrongly_declined: int = 0
    unanswerable: int = 0
    declined: int = 0
    quotes: int = 0
    verbatim: int = 0
    lengths: list[int] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """The figures that may not fall (or, of `wrongly_declined` and `median_chars`, not rise)."""
        return {
            "answered": round(self.answered / max(1, self.answerable), 3),
            "above_plain": self.answered - self.plain,
            "declined": round(self.declined / max(1, self.unanswerable), 3),
            "wrongly_declined": round(self.wrongly_declined / max(1, self.answerable), 3),
            "verbatim": round(self.verbatim / max(1, self.quotes), 3),
            "median_chars": median(self.lengths or [0]),
        }


def folder(name: str, package: str, path: str, versions: dict[str, str], source: bool) -> Path:
    """The folder of documents of a package, downloaded and unpacked once."""
    home = BUILD / f"{package}-{versions[package]}"
    if not home.exists():
        with tempfile.TemporaryDirectory() as empty:
            form = ["--no-binary", package] if source else []
            wanted = [*form, "--no-deps", "-q", "-d", empty, f"{package}=={versions[package]}"]
            subprocess.run([sys.executable, "-m", "pip", "download", *wanted], check=True)
            [archive] = Path(empty).iterdir()
            unpacked = Path(empty) / "unpacked"
            shutil.unpack_archive(archive, unpacked, "zip" if archive.suffix == ".whl" else None)
            shutil.copytree(unpacked, home)
    found = home / path if (home / path).exists() else next(home.glob(f"*/{path}"))
    if not found.is_dir():
        raise SystemExit(f"{name}: {path} is not in {package}; mend questions.yaml")
    return found


def plain_search(sources: Sources, question: str, connection: sqlite3.Connection) -> list[str]:
    """The best five passages of FTS5 with its own stemmer, and nothing else: the bar."""
    terms = [word for word in dict.fromkeys(re.findall(r"[^\W_]+", question.lower())) if word not in STOP]
    if connection.execute("SELECT count(*) FROM passage").fetchone()[0] == 0:
        passages = [passage for file in sources.files for passage in sources.passages(file)]
        entries = ((passage.file, passage.trail, passage.text) for passage in passages)
        connection.executemany("INSERT INTO passage VALUES (?, ?, ?)", entries)
    match = " OR ".join(f'"{term}"' for term in terms)
    order = "ORDER BY bm25(passage, 1.5, 2.0, 1.0), rowid LIMIT 5"
    return [row[0] for row in connection.execute(f"SELECT text FROM passage WHERE passage MATCH ? {order}", (match,))]


def points_in(report: str) -> list[str]:
    """The points of a report before its own sections: items of a list, and quotations with the heading above them."""
    body = re.split(r"\n## (?:Sources|How this was made|Further findings)\n", report)[0]
    return [match.group() for match in re.finditer(r"(?m)^- .*$|(?:^\*\*.*\*\*.*\n\n)?(?:^>.*\n?)+", body)]


def holds(point: str, key: list[str]) -> bool:
    """Whether a point has all the key phrases, one of the alternatives of each."""
    text = _flat(re.sub(r"(?m)^> ?", "", point))
    return all(any(_flat(form) in text for form in str(phrase).split("|")) for phrase in key)


def take(score: Score, question: dict[str, Any], run: Run, sources: Sources, plain: list[str]) -> str:
    """Count one answer; what became of it, in a word."""
    report = run.report or ""
    score.lengths.append(len(report))
    is_declined = DECLINED in report
    for file, quote in quotes_of(report):
        score.quotes += 1
        score.verbatim += all(sources.holds(file, piece) for piece in quote.split("…") if piece.strip())
    if "key" not in question:
        score.unanswerable += 1
        score.declined += is_declined
        return "declined" if is_declined else "NOT DECLINED"
    score.answerable += 1
    score.wrongly_declined += is_declined
    is_right = not is_declined and any(holds(point, question["key"]) for point in points_in(report)[:3])
    by_plain = any(holds(passage, question["key"]) for passage in plain)
    score.answered += is_right
    score.plain += by_plain
    said = "right" if is_right else "DECLINED" if is_declined else "WRONG"
    return f"{said}{', plain FTS5 has it' if by_plain else ''}"


def quotes_of(report: str) -> list[tuple[str, str]]:
    """File and text of every quote in the list of sources, and of every quotation that the report shows."""
    entry = r'^(\d+)\. ([^\n,]+)(?:, section [^\n]+?)?, (?:lines?|pages?|rows?) [\d-]+(?:: "(.*?)")?'
    listed = re.findall(rf"(?ms){entry}(?=\n\d+\. |\n\n## |\Z)", report)
    files = {number: file for number, file, _ in listed}
    shown = re.findall(r"(?m)((?:^>.*\n)+)\[(\d+)\]", report)
    quoted = [(files.get(number, "?"), re.sub(r"(?m)^> ?", "", text)) for text, number in shown]
    return [*((file, quote.removesuffix("…")) for _, file, quote in listed if quote), *quoted]


async def measure(names: list[str], spec: dict[str, Any], *, listing: bool) -> dict[str, Score]:
    """Ask all questions of these folders, one run each."""
    versions = dict(line.split("==") for line in (HERE / "packages.txt").read_text().split())
    scores = {"tuned": Score(), "held_out": Score()}
    with tempfile.TemporaryDirectory() as place:
        async with open_supervisor(db=f"{place}/a.db", model="offline", policy={"oversight": "on_the_loop"}) as sup:
            for name in names:
                about = spec["folders"][name]
                docs = folder(name, about["package"], about["path"], versions, about.get("from") == "sdist")
                sources = await asyncio.to_thread(open_sources, [str(docs)])
                connection = sqlite3.connect(":memory:")
                connection.execute(
                    "CREATE VIRTUAL TABLE passage USING fts5(file, trail, text, tokenize='porter unicode61')"
                )
                for question in spec["questions"][name]:
                    run = await sup.start(question["ask"], sources=[str(docs)])
                    plain = plain_search(sources, question["ask"], connection)
                    score = scores["held_out" if about.get("held_out") else "tuned"]
                    became = take(score, question, run, sources, plain)
                    if listing:
                        print(f"{name:10} {question['kind']:13} {question['ask'][:70]:70} {became}", flush=True)
    return scores


def together(scores: dict[str, Score]) -> Score:
    """All of them as one."""
    whole = Score()
    for score in scores.values():
        for name, value in vars(score).items():
            setattr(whole, name, getattr(whole, name) + value)
    return whole


def main() -> None:
    """Measure, print, and compare with what was recorded."""
    parser = argparse.ArgumentParser(description="How well the offline model answers.")
    for flag in ("--short", "--check", "--list", "--record", "--tuned"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("folders", nargs="*")
    asked = parser.parse_args()
    spec = yaml.safe_load((HERE / "questions.yaml").read_text())
    names = asked.folders or (list(SHORT) if asked.short else list(spec["folders"]))
    names = [name for name in names if not (asked.tuned and spec["folders"][name].get("held_out"))]
    scores = asyncio.run(measure(names, spec, listing=asked.list))
    scores = {**scores, "all": together(scores)}
    print("with vectors of texts" if text_vectors() else "without vectors of texts (the extra `semantic`)")
    for name, score in scores.items():
        if score.lengths:
            kinds = f"{score.answered}/{score.answerable} answered, plain FTS5 {score.plain}"
            declined = f"{score.declined}/{score.unanswerable} declined, {score.wrongly_declined} wrongly"
            chars = f"{score.verbatim}/{score.quotes} quotes verbatim, median {median(score.lengths):.0f} characters"
            print(f"{name:9} {kinds}; {declined}; {chars}")
    recorded = HERE / "recorded.json"
    form = "short" if asked.short else "full"
    held = json.loads(recorded.read_text()) if recorded.exists() else {}
    figures = scores["all"].figures()
    if asked.record:
        recorded.write_text(json.dumps({**held, form: figures}, indent=2) + "\n")
    if asked.check:
        fell = [n for n, was in held[form].items() if (figures[n] > was if n in RISING else figures[n] < was)]
        if fell:
            raise SystemExit(
                f"below the recorded score: {', '.join(f'{n} {figures[n]} (was {held[form][n]})' for n in fell)}"
            )


RISING = ("wrongly_declined", "median_chars")
"""Figures that may not rise."""


def _flat(text: str) -> str:
    return " ".join(text.lower().split())


if __name__ == "__main__":
    main()
