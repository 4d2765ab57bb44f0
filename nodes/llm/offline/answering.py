"""Answers from the sources: figures from their tables, and the passages that say most, whole and to the letter.

A point of an answer is a figure or a passage, best first, short enough to read. It says first which words of the
question nothing speaks of; where the passages do not cover the question, it says that it found no passage that answers
it, and shows the nearest. It never says that something is not there: it can only say what it did not find.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nodes.language.requests import wishes_in
from nodes.language.shapes import parted
from nodes.language.subjects import joined, keywords, names, subject_of, title_of, without_errand
from nodes.language.table_answers import Asked, best
from nodes.language.table_questions import asked
from nodes.language.table_schema import Table, rows_in, tables_in
from nodes.language.words import stems
from nodes.llm.offline.conversation import NOTHING, Call, Conversation, Done, Reply, concluded
from nodes.policy.orders import without_forbidden
from state.citation import LABEL, SPAN

POINTS = 3
"""Points of an answer, at most."""
CHARS = 1100
"""Characters of all its passages together, roughly at most; the first is shown however long it is."""
CLEAR = 93
"""How well the second passage may fit, in percent of the first, where one of the first three is likely the answer."""
WIDE = 1500
"""Characters that a passage may have with what stands around it, where none is the answer by itself."""
WHOLE = 300
"""Characters of a request up to which what it says beside its question is searched for with it."""
SHORT = 100
"""Characters below which a passage that ends without an end is a title."""
NEAREST = 2
"""Passages shown where none answers."""
FOUND = 8
"""Passages asked for in a search."""
LIKELY = 50
"""How likely the best passages have to answer, in percent, for them to be shown as an answer."""
TABLES = 6
"""Tables whose cells are looked through."""
FILES_READ = 3
"""Files that are read where there is no word to search for."""
_MARK = re.compile(rf"^\[(?P<file>[^\[\]#\n]{{1,400}})#(?P<place>{SPAN})\](?:[ \t]*\n|[ \t]?)", re.MULTILINE)
_LINES = re.compile(r"L(\d+)(?:-L(\d+))?")
_OWN_WORDS = re.compile(r"\n\n(?:\([^\n]*\)|Pages that were named:\n(?s:.*))\s*\Z")
"""How a tool ends: with what it says itself."""
_ABOUT_QUERY = re.compile(
    r"\(Words in no passage: (?P<unknown>.*)\. .* with a likelihood of (?P<likely>\d+)%; "
    r"the second fits (?P<second>\d+)%"
)
_GAPS = re.compile(r"\n(?:[ \t]*\n){2,}")
_FILE = re.compile(r"^(?P<file>(?:(?!: table ).)+?): \w+, \d")
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
        found = _HEADING.match(self.text)
        heading = found if found and self.text[found.end() :].strip() else None
        title = f"**{next(filter(None, heading.groups())).strip()}** ({self.file})\n\n" if heading else ""
        body = _GAPS.sub("\n\n", self.text[heading.end() if heading else 0 :].strip("\n"))
        return title + "".join(f"{f'> {line}'.rstrip()}\n" for line in body.splitlines()) + self.label


def answer(talk: Conversation) -> Reply:
    """Search and compute, then say what was found, and how sure it is: by how likely that answers."""
    if calls := lookups(talk):
        return calls
    heading = "" if _asks_one(talk, questions_in(talk.task)) else f"## {title_of(talk.task)}\n\n"
    text, sure = points(talk)
    return concluded(talk, heading + text, sure)


def questions_in(task: str) -> list[str]:
    """What a task asks: itself, or where it names parts after a colon (`X: a; b`), each of them, then its subject."""
    subject, colon, parts = task.partition(": ")
    several = [part.strip() for part in parts.split(";") if part.strip()] if colon else []
    return [*several, subject] if len(several) > 1 and subject_of(subject) else [task]


def searched(talk: Conversation) -> list[str]:
    """What is searched for: what the task asks; all of a short request, where nothing but the task is asked in it.

    “The file is too large for the parser. How do I lift the limit?”
    """
    questions = questions_in(talk.task)
    is_all = keywords(talk.task).keys() <= keywords(talk.request).keys() and len(talk.request) <= WHOLE
    return [parted(without_forbidden(talk.request))[0]] if is_all and _asks_one(talk, questions) else questions


def _asks_one(talk: Conversation, questions: Sequence[str]) -> bool:
    """Whether the request asks for one thing, and the task for no parts of it."""
    return questions == [talk.task] and len(wishes_in(talk.request)) == 1


def lookups(talk: Conversation) -> list[Call]:
    """What is worth asking the sources now and was not asked yet; nothing when all was."""
    calls: list[Call] = []
    if "search" in talk.tools:
        wanted = [*searched(talk), _missed(talk), *(mail.body for mail in talk.all("mail"))]
        calls = [_search(text) for text in wanted if keywords(text)]
        calls += [_wide_search(*searched(talk))] if _is_unclear(talk) else []
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
    if reading and (not reading.is_list or reading.fit == 1):
        return counted, 0.85
    found = passages_for(talk)
    said_of = [about(question, talk) for question in searched(talk)]
    likely = max(share for _, share in said_of)
    unknown = said_of[0][0] if len(said_of) == 1 else []
    is_beside = len(questions) == 1 and _speaks_of_something_else(talk.task, unknown, found)
    if not counted and (not found or is_beside or (100 * likely < LIKELY and keywords(talk.task))):
        words = unknown if found else unknown or list(subject_of(talk.task).values())
        said = NOTHING + (f" (nothing speaks of {_listed(words)})" if words else "")
        nearest = [str(passage) for passage in chosen(found, chars=CHARS // 2)[:NEAREST]]
        return "\n\n".join([f"{said}; the nearest are:", *nearest] if nearest else [f"{said}."]), 0.3
    tables = {table.file for table in tables_in(talk.source_lines)}
    said = f"No passage speaks of {_listed(unknown)}." if unknown else ""
    results = [done for one in searched(talk) if (done := talk.answer_to(_search(one)))]
    firsts = [passage for done in results for passage in passages_in(done.text)[:1]]
    is_long = not counted and _is_unclear(talk)
    found = [one for one in passages_for(talk, is_wide=is_long) if not counted or one.file not in tables]
    shown = chosen(found, tables, POINTS * WIDE if is_long else CHARS, firsts)
    parts = [said, counted, *map(str, shown)]
    return "\n\n".join(filter(None, parts)), round(min(0.9, 0.5 + 0.4 * likely), 2)


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
    return [f"{sentence} [{reading.table.file}#table]" for sentence in reading.sentences(rows_in(done.text))]


def reading_of(question: str, talk: Conversation) -> Asked | None:
    """What the question asks of the tables, once their cells were looked through."""
    readings = []
    unknown = about(question, talk)[0] if "search" in talk.tools else None
    for table in _candidates(talk):
        sql = table.probe(question)
        done = talk.answer_to(_query(sql)) if sql else None
        if done or not sql:
            cells = rows_in(done.text) if done and not done.failed else []
            readings.append(asked(question, table, cells, unknown))
    return best(readings)


def passages_for(talk: Conversation, *, is_wide: bool = False) -> list[Passage]:
    """The passages in all tool results, each once, the best of each first; what others asked for before the task.

    `is_wide`: those of the task with what stands around them.
    """
    own = [kind(question).args for question in searched(talk) for kind in (_search, _wide_search)]
    wide = is_wide and any(done.args.get("chars") == WIDE for done in talk.results("search"))
    searches = [done for done in talk.results("search") if done.args not in own or ("chars" in done.args) == wide]
    searches.sort(key=lambda done: 1 if done.args in own else 0 if _percent(done, "likely") >= LIKELY else 2)
    results = [passages_in(done.text) for done in searches]
    results += [passages_in(done.text) for done in talk.results("read")]
    ranked = [one[rank] for rank in range(max(map(len, results), default=0)) for one in results if rank < len(one)]
    found: dict[str, Passage] = {}
    for passage in ranked:
        found.setdefault(passage.label, passage)
    return [passage for passage in found.values() if passage.text.strip()]


def about(question: str, talk: Conversation) -> tuple[list[str], float]:
    """Words of the question that nothing speaks of, and how likely the best passages answer it, 0 to 1.

    The search says both; where it does not, the latter is the share of its words that one passage speaks of.
    """
    done = talk.answer_to(_search(question))
    if done and not done.failed and (said := _about_query(done)):
        return list(dict.fromkeys(re.findall(r'"([^"]+)"', said["unknown"]))), int(said["likely"]) / 100
    wanted, have = subject_of(question), [set(stems(passage.text)) for passage in passages_for(talk)]
    unknown = [word for key, word in wanted.items() if not any(key in one for one in have)]
    return unknown, round(max((len(wanted.keys() & one) for one in have), default=0) / max(1, len(wanted)), 2)


def passages_in(text: str) -> list[Passage]:
    """The passages in one tool result; lines beyond the label's range are the tool's own words and are cut."""
    text = _OWN_WORDS.sub("", text)
    marks = list(_MARK.finditer(text))
    found = []
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=False):
        body = text[mark.end() : end].rstrip()
        if lines := _LINES.fullmatch(mark["place"]):
            most = max(1, int(lines[2] or lines[1]) - int(lines[1]) + 1)
            body = "\n".join(body.split("\n")[:most]).rstrip()
        found.append(Passage(mark["file"], mark["place"], body))
    return found


def _speaks_of_something_else(question: str, unknown: Sequence[str], found: Sequence[Passage]) -> bool:
    """Whether nothing speaks of a name or a year in what is asked; where only rows were found, whether none of those.

    Only of questions in English: other languages write nouns, or no names, with capitals.
    """
    if not re.match(
        r"(?:what|which|who|whose|how|when|where|why|is|are|was|were|do|does|did|can|has|have)\b",
        question,
        re.IGNORECASE,
    ):
        return False
    named = [*names(f"xx {question.partition(' ')[2]}"), *re.findall(r"\b(?:1\d|20)\d\d\b", question)]
    rows = {key for one in found for key in stems(f"{one.file} {one.text}")}
    is_of_rows = bool(found) and all(one.place[0] == "r" for one in found)
    return not set(unknown).isdisjoint(named) or (is_of_rows and any(rows.isdisjoint(stems(one)) for one in named))


def _about_query(done: Done) -> re.Match[str] | None:
    """What a search says in its last line about the query itself; a document cannot say it in its place."""
    return _ABOUT_QUERY.search(done.text.rpartition("\n")[2])


def _percent(done: Done, what: str) -> int:
    """How `likely` a search says that its best passages answer, and how well the `second` fits; 100 if it does not."""
    said = _about_query(done)
    return int(said[what]) if said else 100


def _is_unclear(talk: Conversation) -> bool:
    """Whether the task is all that is asked, and several passages fit alike: longer pieces are worth reading."""
    questions = searched(talk)
    done = talk.answer_to(_search(questions[0]))
    is_likely = done and not done.failed and _percent(done, "likely") >= LIKELY
    return bool(done and is_likely and _percent(done, "second") >= CLEAR) and _asks_one(talk, questions_in(talk.task))


def _missed(talk: Conversation) -> str:
    """What a reviewer wants besides: the sentences that speak of the request; all where none does."""
    said = re.split(r"(?<=[.!?])\s+", LABEL.sub("", talk.body("feedback")))
    return " ".join([one for one in said if keywords(one).keys() & keywords(talk.request).keys()] or said)


def _search(question: str) -> Call:
    return Call("search", {"query": without_errand(question)[:400], "limit": FOUND})


def _wide_search(question: str) -> Call:
    return Call("search", {**_search(question).args, "chars": WIDE})


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
