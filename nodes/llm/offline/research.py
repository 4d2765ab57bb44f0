"""Research: search the sources in several ways, and quote what they say to the letter."""

import re

from nodes.llm.offline.conversation import Call, Conversation, Reply, mail_quoted, with_confidence
from nodes.llm.offline.salience import Focus, Scored, central, chosen, coverage, focus_on, scored
from nodes.llm.offline.sentences import Quote, passages_in, quotes_in
from nodes.llm.offline.statements import Statement, bullets, quoted
from nodes.llm.offline.words import REVIEWING, joined, keywords, title_of
from state.citation import LABEL

MOST_QUOTES = 8
PASSAGES = 10
"""Passages asked for in a search."""
ROUNDS = 3
"""Turns with tool calls, at most."""
ENOUGH_QUOTES, ENOUGH_FILES = 4, 3
"""With less than this, it searches again in other words."""
FILES_READ = 6
"""Files that are read where there is no word to search for."""

_FILE = re.compile(r"^(?P<file>.+?): (?!table )\w+, \d")


def research(talk: Conversation) -> Reply:
    """Search, search again where that found little, then answer with quotations."""
    calls = [call for call in next_calls(talk) if not talk.was_called(call)]
    return calls or report(talk, best_quotes(talk, MOST_QUOTES))


def next_calls(talk: Conversation) -> list[Call]:
    """What is worth asking the sources now; nothing when enough is known or enough was tried."""
    if talk.rounds >= ROUNDS:
        return []
    focus = focus_of(talk)
    if not focus.weights or not talk.has("search"):
        return _readings(talk)
    if not talk.results("search"):
        return searches(talk)
    found = best_quotes(talk, MOST_QUOTES)
    files = {item.quote.file for item in found}
    if len(found) >= ENOUGH_QUOTES and len(files) >= ENOUGH_FILES:
        return []
    again = [_search(word) for word in _other_words(talk, found, focus)]
    return again if talk.rounds == 1 and again else _context(talk, found)


def searches(talk: Conversation) -> list[Call]:
    """The first searches: the task, its parts, the request, and what mail and feedback ask for."""
    texts = [talk.task, *re.split(r"[:;,]\s+|\?\s*", talk.task)[:4], talk.request]
    texts += [wanted_by_reviewer(talk), *(mail.body for mail in talk.all("mail"))]
    queries = [" ".join(list(keywords(text).values())[:12]) for text in texts]
    seen: dict[str, Call] = {}
    for query in queries:
        if query:
            seen.setdefault(" ".join(sorted(query.lower().split())), _search(query))
    return list(seen.values())[:5]


def focus_of(talk: Conversation) -> Focus:
    """What the task is about: its own words, then those it shares with the request, then the rest of the request."""
    shared = keywords(talk.request)
    own = [word for key, word in keywords(talk.task).items() if key not in shared]
    title = keywords(title_of(talk.task)).values()
    weighted = [
        (" ".join(word for word in own if word in title), 1.3),
        (" ".join(own), 1.0),
        (talk.task, 0.5 if len(own) > 1 else 1.0),
        (wanted_by_reviewer(talk), 1.5),
        (talk.request, 0.3),
    ]
    return focus_on([*weighted, *((mail.body, 1.0) for mail in talk.all("mail"))])


def wanted_by_reviewer(talk: Conversation) -> str:
    """What the feedback wants spoken of: its words on the subject, without those on citing and such."""
    said = keywords(LABEL.sub("", talk.body("feedback")))
    return " ".join(word for word in said.values() if word.lower() not in REVIEWING)


def best_quotes(talk: Conversation, limit: int) -> list[Scored]:
    """The sentences in all tool results so far that say most about the task."""
    found = quotes_of(talk)
    focus = focus_of(talk)
    return chosen(scored(found, focus) if focus.weights else central(found), limit)


def quotes_of(talk: Conversation) -> list[Quote]:
    """Every quotable sentence in the tool results."""
    done = [*talk.results("search"), *talk.results("read")]
    return quotes_in(passage for one in done for passage in passages_in(one.text))


def as_statement(pick: Scored) -> Statement:
    """The quotation with its label."""
    return quoted(pick.quote.text, pick.quote.label)


def report(talk: Conversation, picks: list[Scored]) -> str:
    """The answer: quotations under a heading, and how sure they make it."""
    title = title_of(talk.task)
    if not picks:
        return with_confidence(f"## {title}\n\n{nothing_on(talk)}{mail_quoted(talk)}", 0.3)
    body = bullets(as_statement(pick) for pick in picks)
    gap = _unanswered(talk, picks)
    return with_confidence(f"## {title}\n\n{body}{gap}{mail_quoted(talk)}", confidence(talk, picks))


def nothing_on(talk: Conversation) -> str:
    """The plain admission that the sources do not say."""
    subject = joined(f"“{word}”" for word in list(keywords(talk.task).values())[:6])
    if not talk.source_lines and not talk.done:
        return f"There are no sources, and without them the offline model knows nothing on {subject or 'this'}."
    again = " after searching again in other words" if talk.body("feedback") else ""
    return f"The sources say nothing on this{again} (searched for {subject or 'the whole text'})."


def confidence(talk: Conversation, picks: list[Scored]) -> float:
    """0.5 for something, more for more of the task's words, more quotations and more files; at most 0.9."""
    files = len({pick.quote.file for pick in picks})
    share = coverage(picks, focus_of(talk))
    return round(min(0.9, 0.5 + 0.2 * share + 0.02 * min(len(picks), 5) + 0.04 * min(files, 3)), 2)


def _search(query: str) -> Call:
    return Call("search", {"query": query, "limit": PASSAGES})


def _other_words(talk: Conversation, found: list[Scored], focus: Focus) -> list[str]:
    """The task's words that nothing found so far speaks of, else each of its words, to be searched one by one."""
    task = {**keywords(wanted_by_reviewer(talk)), **keywords(talk.task)}
    hit = frozenset().union(*(pick.matched for pick in found)) if found else frozenset()
    missing = [word for key, word in task.items() if key in focus.core and key not in hit]
    return (missing or list(task.values()))[:5]


def _context(talk: Conversation, found: list[Scored]) -> list[Call]:
    """The surroundings of the best passages, once."""
    if not talk.has("read") or talk.results("read"):
        return []
    calls: dict[str, Call] = {}
    for pick in found[:3]:
        line = re.search(r"#L(\d+)", pick.quote.label)
        start = max(1, int(line[1]) - 10) if line else 1
        calls.setdefault(pick.quote.file, Call("read", {"file": pick.quote.file, "start": start, "count": 60}))
    return list(calls.values())


def _readings(talk: Conversation) -> list[Call]:
    """The beginnings of the files: for a request without a subject (“summarise these”), or without a search tool."""
    files = [match["file"] for line in talk.source_lines if (match := _FILE.match(line))]
    return (
        [Call("read", {"file": file, "start": 1, "count": 80}) for file in files[:FILES_READ]]
        if talk.has("read")
        else []
    )


def _unanswered(talk: Conversation, picks: list[Scored]) -> str:
    """What a reviewer asked for and nothing speaks of."""
    wanted = keywords(wanted_by_reviewer(talk))
    hit = frozenset().union(*(pick.matched for pick in picks))
    missing = [word for key, word in wanted.items() if key not in hit]
    return f"\n\nThe sources say nothing on {joined(missing[:6])}." if missing else ""
