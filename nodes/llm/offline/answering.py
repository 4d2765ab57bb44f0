"""Answers from the sources: figures from their tables, and the passages that say most, whole and to the letter.

A point of an answer is a figure or a passage, best first, short enough to read. It says first which words of the
question nothing speaks of; where the passages do not cover the question, it says that it found no passage that answers
it, and shows the nearest. It never says that something is not there: it can only say what it did not find.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nodes.llm.offline.conversation import Call, Conversation, Done, Reply, mail_quoted, missing_noted, with_confidence
from nodes.llm.offline.schema import Table, rows_in, tables_in
from nodes.llm.offline.tables import Asked, asked, best, joined
from nodes.llm.offline.words import ERRANDS, subject_of, title_of, without_errand
from nodes.tools.words import keywords, stems
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
COVERED = 0.45
"""Share of the question, by weight of its words, from which on the best passages are taken to answer it."""
TABLES = 6
"""Tables whose cells are looked through."""
FILES_READ = 3
"""Files that are read where there is no word to search for."""

_MARK = re.compile(rf"^\[(?P<file>[^\[\]#\n]{{1,400}})#(?P<place>{SPAN})\](?P<gap>[ \t]*\n|[ \t]?)", re.MULTILINE)
_LINES = re.compile(r"L(\d+)(?:-L(\d+))?")
_ABOUT_QUERY = re.compile(
    r"\(Words in no passage: (?P<unknown>.*)\. The best passages speak of (?P<cover>\d+)% of the query"
)
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

    def __str__(self) -> str:
        """Its heading, then the text as a quotation, with its label."""
        heading = _HEADING.match(self.text)
        body = self.text[heading.end() :] if heading else self.text
        if not heading or not body.strip():
            return f"{quotation(self.text)}\n{self.label}"
        title = f"**{next(filter(None, heading.groups())).strip()}** ({self.file})"
        return f"{title}\n\n{quotation(body)}\n{self.label}"


def answer(talk: Conversation) -> Reply:
    """Search and compute, then say what was found."""
    calls = [call for call in lookups(talk) if not talk.was_called(call)]
    return calls or report(talk)


def questions_in(task: str) -> list[str]:
    """What a task asks: itself, or where it names parts after a colon (`X: a; b`), each of them, then its subject."""
    subject, colon, parts = task.partition(": ")
    several = [part.strip() for part in parts.split(";") if part.strip()] if colon else []
    return [*several, subject] if len(several) > 1 and subject_of(subject) else [task]


def lookups(talk: Conversation) -> list[Call]:
    """What is worth asking the sources now; nothing when all was asked."""
    calls = []
    if talk.has("search"):
        feedback = LABEL.sub("", talk.body("feedback"))
        wanted = [*questions_in(talk.task), feedback, *(mail.body for mail in talk.all("mail"))]
        calls = [_search(text) for text in wanted if text and _says_what(text)]
    if talk.has("read") and not calls:
        files = [match["file"] for line in talk.source_lines if (match := _FILE.match(line))]
        calls += [Call("read", {"file": file, "start": 1, "count": 40}) for file in files[:FILES_READ]]
    if talk.has("query"):
        for question in questions_in(talk.task):
            calls += [Call("query", {"sql": sql}) for table in _candidates(talk) if (sql := table.probe(question))]
            reading = reading_of(question, talk)
            calls += [Call("query", {"sql": reading.sql})] if reading else []
    return calls


def report(talk: Conversation) -> str:
    """The answer, and how sure it is: by how much of the question it covers."""
    heading = f"## {title_of(talk.task)}\n\n" if talk.request.strip() != talk.task.strip() else ""
    text, sure = points(talk)
    return with_confidence(f"{heading}{text}{missing_noted(talk)}{mail_quoted(talk)}", sure)


def points(talk: Conversation) -> tuple[str, float]:
    """The figures and passages that answer, and the confidence in them, 0 to 1."""
    asked_for = questions_in(talk.task)
    counted = [one for question in asked_for for one in figures(question, talk)]
    reading = reading_of(talk.task, talk) if counted and len(asked_for) == 1 else None
    if reading and not reading.is_list:
        return _bullets(counted), 0.85
    found = passages_for(talk)
    covers = [covered(question, talk) for question in asked_for]
    cover = max((share for _, share in covers), default=0.0)
    unknown = covers[0][0] if len(covers) == 1 else []
    if not found and not counted:
        words = unknown or list(subject_of(talk.task).values())
        return f"I found no passage that answers this{_named(words)}.", 0.3
    if cover < COVERED and not counted and _says_what(talk.task):
        nearest = "\n\n".join(str(passage) for passage in chosen(found, chars=CHARS // 2)[:NEAREST])
        return f"I found no passage that answers this{_named(unknown)}; the nearest are:\n\n{nearest}", 0.3
    tables = {table.file for table in tables_in(talk.source_lines)}
    said = [f"No passage speaks of {_listed(unknown)}."] if unknown else []
    parts = [*said, *([_bullets(counted)] if counted else []), *map(str, chosen(found, tables))]
    return "\n\n".join(parts), round(min(0.9, 0.5 + 0.4 * cover), 2)


def chosen(found: Sequence[Passage], tables: Collection[str] = (), chars: int = CHARS) -> list[Passage]:
    """The best passages that can be read in one go; what is of `tables` (files) only before any text."""
    picks: list[Passage] = []
    for passage in found:
        if len(picks) == POINTS:
            break
        is_aside = passage.file in tables and any(pick.file not in tables for pick in picks)
        says_little = is_aside or (len(passage.text) < SHORT and not re.search(r"[.!?`)\]\d]\s*$", passage.text))
        if not says_little and (not picks or sum(len(one.text) for one in picks) + len(passage.text) <= chars):
            picks.append(passage)
    return picks or list(found[:1])


def figures(question: str, talk: Conversation) -> list[str]:
    """What the tables say to the question, in sentences with their label."""
    reading = reading_of(question, talk)
    done = _asked(talk, reading.sql) if reading else None
    if not reading or done is None or done.failed:
        return []
    given = re.search(r"\[[^\[\]#\n]+#table\]", done.text)
    label = given.group() if given else reading.table.label_of_figures
    return [f"{sentence} {label}" for sentence in reading.sentences(rows_in(done.text))]


def reading_of(question: str, talk: Conversation) -> Asked | None:
    """What the question asks of the tables, once their cells were looked through."""
    readings = []
    for table in _candidates(talk):
        sql = table.probe(question)
        done = _asked(talk, sql) if sql else None
        if done or not sql:
            readings.append(asked(question, table, rows_in(done.text) if done and not done.failed else []))
    return best(readings)


def passages_for(talk: Conversation) -> list[Passage]:
    """The passages in all tool results, each once, the best of each first; what others asked for before the task."""
    own = [_search(question).args for question in questions_in(talk.task)]
    searches = sorted(talk.results("search"), key=lambda done: done.args in own)
    results = [passages_in(done.text) for done in (*searches, *talk.results("read"))]
    found: dict[str, Passage] = {}
    for rank in range(max(map(len, results), default=0)):
        for passages in results:
            if rank < len(passages):
                found.setdefault(passages[rank].label, passages[rank])
    return [passage for passage in found.values() if passage.text.strip()]


def covered(question: str, talk: Conversation) -> tuple[list[str], float]:
    """Words of the question that nothing speaks of, and the share of it that the best passages do, 0 to 1.

    The search says both, by weight; where it does not, all words weigh the same.
    """
    for done in talk.results("search"):
        if done.args == _search(question).args and (said := _ABOUT_QUERY.search(done.text.rpartition("\n")[2])):
            return list(dict.fromkeys(re.findall(r'"([^"]+)"', said["unknown"]))), int(said["cover"]) / 100
    wanted, found = subject_of(question), passages_for(talk)
    have = set(stems(" ".join(passage.text for passage in found)))
    unknown = [word for key, word in wanted.items() if key not in have]
    best_share = max((len(wanted.keys() & set(stems(one.text))) for one in found), default=0) / max(1, len(wanted))
    return unknown, round(best_share, 2)


def passages_in(text: str) -> list[Passage]:
    """The passages in one tool result; lines beyond the label's range are the tool's own words and are cut."""
    marks = list(_MARK.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)][: len(marks)]
    found = []
    for mark, end in zip(marks, ends, strict=True):
        body = re.sub(
            r"\n\n\((?:Words in no passage|This is the end|\d+ of)[^\n]*\)\s*\Z", "", text[mark.end() : end]
        ).rstrip()
        if lines := _LINES.fullmatch(mark["place"]):
            most = max(1, int(lines[2] or lines[1]) - int(lines[1]) + 1)
            body = "\n".join(body.split("\n")[:most]).rstrip()
        found.append(Passage(mark["file"], mark["place"], body))
    return found


def quotation(text: str) -> str:
    """The text as a quotation of Markdown, line for line."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip("\n").splitlines())


def _search(question: str) -> Call:
    return Call("search", {"query": without_errand(question)[:400], "limit": FOUND})


def _bullets(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {one}" for one in sentences)


def _candidates(talk: Conversation) -> list[Table]:
    """The tables that speak of the question, by their names, their columns, or rows that a search found."""
    wanted = [word.lower() for word in keywords(talk.task).values()]
    found = {
        passage.file for done in talk.results("search") for passage in passages_in(done.text) if passage.place[0] == "r"
    }
    tables = tables_in(talk.source_lines)
    ranked = sorted(tables, key=lambda table: -(len(table.match(wanted)) + 2 * (table.file in found)))
    few = len(tables) <= TABLES // 2
    return [table for table in ranked if few or table.file in found or table.match(wanted)][:TABLES]


def _asked(talk: Conversation, sql: str) -> Done | None:
    return next((done for done in talk.done if done.tool == "query" and done.args.get("sql") == sql), None)


def _says_what(text: str) -> bool:
    """Whether it names a subject: “summarise these documents” does not."""
    return any(word.lower() not in ERRANDS for word in keywords(text).values())


def _named(words: Sequence[str]) -> str:
    return f" (nothing speaks of {_listed(words)})" if words else ""


def _listed(words: Sequence[str]) -> str:
    return joined([f"“{word}”" for word in words[:6]])
