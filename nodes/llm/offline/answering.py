"""Answers from the sources: figures from their tables, and the passages that say most, whole and to the letter.

A point of an answer is a figure or a passage, best first, short enough to read. It says first which words of the
question nothing speaks of; where the passages do not cover the question, it says that it found no passage that answers
it, and shows the nearest. It never says that something is not there: it can only say what it did not find.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nodes.language.subjects import joined, keywords, names, subject_of, title_of, without_errand
from nodes.language.table_questions import Asked, Table, asked, best, rows_in, tables_in
from nodes.language.words import stems
from nodes.llm.offline.conversation import NOTHING, Call, Conversation, Done, Reply, concluded
from state.citation import LABEL, SPAN

POINTS = 3
"""Points of an answer, at most."""
CHARS = 1400
"""Characters of all its passages together, roughly at most; the first is shown however long it is."""
SHORT = 100
"""Characters below which a passage that ends without an end is a title."""
NEAREST = 2
"""Passages shown where none answers."""
FOUND = 8
"""Passages asked for in a search."""
COVERED = 0.52
"""Share of the question, by weight of its words, from which on a passage is taken to answer it.

Where one in twenty of the questions that texts answer is declined, and nine in ten of those that nothing answers: the
questions of `benchmarks/answers` and of seven folders that are not in it, 228 together.
"""
ROW_COVERED = 0.75
"""The same where the best passage is a row of a table: it speaks of what its cells name, and of nothing else."""
TABLES = 6
"""Tables whose cells are looked through."""
FILES_READ = 3
"""Files that are read where there is no word to search for."""
_MARK = re.compile(rf"^\[(?P<file>[^\[\]#\n]{{1,400}})#(?P<place>{SPAN})\](?:[ \t]*\n|[ \t]?)", re.MULTILINE)
_LINES = re.compile(r"L(\d+)(?:-L(\d+))?")
_OWN_WORDS = re.compile(r"\n\n\((?:Words in no passage|This is the end|\d+ of)[^\n]*\)\s*\Z")
_ABOUT_QUERY = re.compile(
    r"\(Words in no passage: (?P<unknown>.*)\. The best passages speak of (?P<cover>\d+)% of the query"
    r"(?:, by weight; the first (?P<near>\d+) fit)?"
)
_GAPS = re.compile(r"\n(?:[ \t]*\n){2,}")
_FILE = re.compile(r"^(?P<file>.+?): (?!table )\w+, \d")
_HEADING = re.compile(
    r"\A\s*#{1,6}[ \t]+(?P<title>[^\n]+?)[ \t#]*\n+|\A(?P<lined>[^\n]{2,90})\n[=\-~^*+\"]{3,}[ \t]*\n+|"
    r"\A(?P<capitals>[A-Z][A-Z0-9 ,&/-]{3,60})\n[ \t]*\n+"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a source as a tool showed it."""

    file: str
    place: str
    text: str

    @property
    def label(self) -> str:
        """The form that stands in texts: `[file#place]`."""
        return f"[{self.file}#{self.place}]"

    def repeats(self, other: "Passage") -> bool:
        """Whether most lines of the shorter one stand in the other: passages of one file may overlap."""
        mine, others = ({line.strip() for line in one.text.splitlines() if line.strip()} for one in (self, other))
        return 2 * len(mine & others) > min(len(mine), len(others))

    def __str__(self) -> str:
        """Its heading, then the text as a quotation of Markdown, with its label."""
        heading = _HEADING.match(self.text)
        body = self.text[heading.end() :] if heading and self.text[heading.end() :].strip() else self.text
        named = heading and body != self.text
        title = f"**{next(filter(None, heading.groups())).strip()}** ({self.file})\n\n" if heading and named else ""
        return (
            title
            + "".join(f"{f'> {line}'.rstrip()}\n" for line in _GAPS.sub("\n\n", body.strip("\n")).splitlines())
            + self.label
        )


def answer(talk: Conversation) -> Reply:
    """Search and compute, then say what was found, and how sure it is: by how much of the question it covers."""
    if calls := lookups(talk):
        return calls
    heading = f"## {title_of(talk.task)}\n\n" if talk.request.strip() != talk.task.strip() else ""
    text, sure = points(talk)
    return concluded(talk, heading + text, sure)


def questions_in(task: str) -> list[str]:
    """What a task asks: itself, or where it names parts after a colon (`X: a; b`), each of them, then its subject."""
    subject, colon, parts = task.partition(": ")
    several = [part.strip() for part in parts.split(";") if part.strip()] if colon else []
    return [*several, subject] if len(several) > 1 and subject_of(subject) else [task]


def lookups(talk: Conversation) -> list[Call]:
    """What is worth asking the sources now and was not asked yet; nothing when all was."""
    calls: list[Call] = []
    if "search" in talk.tools:
        wanted = [*questions_in(talk.task), _missed(talk), *(mail.body for mail in talk.all("mail"))]
        calls = [_search(text) for text in wanted if keywords(text)]
    if "read" in talk.tools and not calls:
        files = [match["file"] for line in talk.source_lines if (match := _FILE.match(line))]
        calls = [Call("read", {"file": file, "start": 1, "count": 40}) for file in files[:FILES_READ]]
    if "query" in talk.tools:
        for question in questions_in(talk.task):
            reading = reading_of(question, talk)
            probes = [table.probe(question) for table in _candidates(talk)]
            calls += [_query(sql) for sql in [*probes, *([reading.sql] if reading else [])] if sql]
    return [call for call in calls if not talk.answer_to(call)]


def points(talk: Conversation) -> tuple[str, float]:
    """The figures and passages that answer, and the confidence in them, 0 to 1."""
    questions = questions_in(talk.task)
    counted = "\n".join(f"- {figure}" for question in questions for figure in figures(question, talk))
    reading = reading_of(talk.task, talk) if counted and len(questions) == 1 else None
    if reading and not reading.is_list:
        return counted, 0.85
    found = passages_for(talk)
    covers = [covered(question, talk) for question in questions]
    cover = max(share for _, share in covers)
    unknown = covers[0][0] if len(covers) == 1 else []
    is_beside = len(questions) == 1 and _speaks_of_something_else(talk.task, unknown)
    needed = ROW_COVERED if found and found[0].place.startswith("r") else COVERED
    if not counted and (not found or is_beside or (cover < needed and keywords(talk.task))):
        words = unknown if found else unknown or list(subject_of(talk.task).values())
        said = NOTHING + (f" (nothing speaks of {_listed(words)})" if words else "")
        nearest = [str(passage) for passage in chosen(found, chars=CHARS // 2)[:NEAREST]]
        return "\n\n".join([f"{said}; the nearest are:", *nearest] if nearest else [f"{said}."]), 0.3
    tables = {table.file for table in tables_in(talk.source_lines)}
    is_told = reading is not None and reading.fit == 1
    said = f"No passage speaks of {_listed(unknown)}." if unknown and not is_told else ""
    found = [passage for passage in found if not counted or passage.file not in tables]
    firsts = [passages_in(done.text)[:1] for one in questions if (done := talk.answer_to(_search(one)))]
    parts = [said, counted, *map(str, chosen(found, tables, best=[one for first in firsts for one in first]))]
    return "\n\n".join(filter(None, parts)), round(min(0.9, 0.5 + 0.4 * cover), 2)


def chosen(
    found: Sequence[Passage], tables: Collection[str] = (), chars: int = CHARS, best: Sequence[Passage] = ()
) -> list[Passage]:
    """The best passages that can be read in one go, none twice; what is of `tables` (files) only before any text.

    The `best` of each part of the question are among them, however long they are.
    """
    picks: list[Passage] = []
    for passage in found:
        is_aside = passage.file in tables and any(pick.file not in tables for pick in picks)
        is_title = (
            passage.place[0] != "r" and len(passage.text) < SHORT and not re.search(r"[.!?`)\]\d]\s*$", passage.text)
        )
        is_fitting = not picks or passage in best or sum(len(one.text) for one in (*picks, passage)) <= chars
        is_new = not any(passage.repeats(pick) for pick in picks)
        picks += [passage] if is_fitting and is_new and not is_aside and not is_title else []
    return picks[:POINTS] or list(found[:1])


def figures(question: str, talk: Conversation) -> list[str]:
    """What the tables say to the question, in sentences with their label."""
    reading = reading_of(question, talk)
    done = talk.answer_to(_query(reading.sql)) if reading else None
    if not reading or not done or done.failed:
        return []
    given = re.search(r"\[[^\[\]#\n]+#table\]", done.text)
    label = given.group() if given else f"[{reading.table.file}#table]"
    return [f"{sentence} {label}" for sentence in reading.sentences(rows_in(done.text))]


def reading_of(question: str, talk: Conversation) -> Asked | None:
    """What the question asks of the tables, once their cells were looked through."""
    readings = []
    for table in _candidates(talk):
        sql = table.probe(question)
        done = talk.answer_to(_query(sql)) if sql else None
        if done or not sql:
            readings.append(asked(question, table, rows_in(done.text) if done and not done.failed else []))
    return best(readings)


def passages_for(talk: Conversation) -> list[Passage]:
    """The passages in all tool results, each once, the best of each first; what others asked for before the task."""
    own = [_search(question).args for question in questions_in(talk.task)]
    searches = sorted(talk.results("search"), key=lambda done: done.args in own or _share(done) < COVERED)
    results = [passages_in(done.text)[: _near(done)] for done in (*searches, *talk.results("read"))]
    ranked = [one[rank] for rank in range(max(map(len, results), default=0)) for one in results if rank < len(one)]
    found: dict[str, Passage] = {}
    for passage in ranked:
        found.setdefault(passage.label, passage)
    return [passage for passage in found.values() if passage.text.strip()]


def covered(question: str, talk: Conversation) -> tuple[list[str], float]:
    """Words of the question that nothing speaks of, and the share of it that the best passages do, 0 to 1.

    The search says both, by weight; where it does not, all words weigh the same.
    """
    done = talk.answer_to(_search(question))
    if done and not done.failed and (said := _ABOUT_QUERY.search(done.text.rpartition("\n")[2])):
        return list(dict.fromkeys(re.findall(r'"([^"]+)"', said["unknown"]))), _share(done)
    wanted, have = subject_of(question), [set(stems(passage.text)) for passage in passages_for(talk)]
    unknown = [word for key, word in wanted.items() if not any(key in one for one in have)]
    return unknown, round(max((len(wanted.keys() & one) for one in have), default=0) / max(1, len(wanted)), 2)


def passages_in(text: str) -> list[Passage]:
    """The passages in one tool result; lines beyond the label's range are the tool's own words and are cut."""
    marks = list(_MARK.finditer(text))
    found = []
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=False):
        body = _OWN_WORDS.sub("", text[mark.end() : end]).rstrip()
        if lines := _LINES.fullmatch(mark["place"]):
            most = max(1, int(lines[2] or lines[1]) - int(lines[1]) + 1)
            body = "\n".join(body.split("\n")[:most]).rstrip()
        found.append(Passage(mark["file"], mark["place"], body))
    return found


def _speaks_of_something_else(question: str, unknown: Sequence[str]) -> bool:
    """Whether nothing speaks of a name in what is asked.

    Only of questions in English: other languages write nouns, or no names, with capitals.
    """
    if not re.match(
        r"(?:what|which|who|whose|how|when|where|why|is|are|was|were|do|does|did|can|has|have)\b",
        question,
        re.IGNORECASE,
    ):
        return False
    return not set(unknown).isdisjoint(names(f"xx {question.partition(' ')[2]}"))


def _share(done: Done) -> float:
    """How much of its query a search found, 0 to 1; 1 where it does not say."""
    said = _ABOUT_QUERY.search(done.text.rpartition("\n")[2])
    return int(said["cover"]) / 100 if said else 1.0


def _near(done: Done) -> int | None:
    """How many of the first passages fit nearly as well as the best; None where it does not say."""
    said = _ABOUT_QUERY.search(done.text.rpartition("\n")[2])
    return int(said["near"]) if said and said["near"] else None


def _missed(talk: Conversation) -> str:
    """What a reviewer wants besides: the sentences that speak of the request; all where none does."""
    said = re.split(r"(?<=[.!?])\s+", LABEL.sub("", talk.body("feedback")))
    return " ".join([one for one in said if keywords(one).keys() & keywords(talk.request).keys()] or said)


def _search(question: str) -> Call:
    return Call("search", {"query": without_errand(question)[:400], "limit": FOUND})


def _query(sql: str) -> Call:
    return Call("query", {"sql": sql})


def _candidates(talk: Conversation) -> list[Table]:
    """The tables that speak of the question, by their names, their columns, or rows that a search found."""
    wanted = [word.lower() for word in keywords(talk.task).values()]
    hits = [passage for done in talk.results("search") for passage in passages_in(done.text)]
    found = {passage.file for passage in hits if passage.place[0] == "r"}
    tables = tables_in(talk.source_lines)
    ranked = sorted(tables, key=lambda table: -(len(table.match(wanted)) + 2 * (table.file in found)))
    is_few = len(tables) <= TABLES // 2
    return [table for table in ranked if is_few or table.file in found or table.match(wanted)][:TABLES]


def _listed(words: Sequence[str]) -> str:
    return joined([f"“{word}”" for word in words[:6]])
