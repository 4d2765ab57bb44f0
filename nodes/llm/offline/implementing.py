"""Implementation: put what is known into a file and say what it is. It writes no programs, and says so."""

import csv
import io
import re
from collections.abc import Sequence

from nodes.llm.offline.acting import name_for
from nodes.llm.offline.analysis import analyse, figures_of
from nodes.llm.offline.conversation import Arguments, Call, Conversation, Reply
from nodes.llm.offline.remarks import mail_quoted, missing_noted, with_confidence
from nodes.llm.offline.research import as_statement, best_quotes
from nodes.llm.offline.statements import Statement, bullets, deduplicated
from nodes.llm.offline.titles import title_of
from nodes.llm.offline.writing import inputs_of

MOST_QUOTES = 6

_CODE = re.compile(
    r"\b(?:code|script|program|function|class|module|library|app|application|api|service|test|bug)\b|\.py\b",
    re.IGNORECASE,
)


def implement(talk: Conversation) -> Reply:
    """Gather from the tables and sources, write the file, report it."""
    written = [done for done in talk.done if done.tool == "write"]
    if not written:
        gathering = analyse(talk)
        if isinstance(gathering, list):
            return gathering
        known = material(talk)
        if not known or not talk.has("write"):
            return gathering
        return [Call("write", artifact(talk, known))]
    if written[-1].failed:
        return f"FAILED: the file could not be written: {written[-1].text}"
    return _reported(talk, str(written[-1].args.get("name", "")), material(talk))


def material(talk: Conversation) -> list[Statement]:
    """All that can go into the file: figures, inputs, quotations."""
    picks = [as_statement(pick) for pick in best_quotes(talk, MOST_QUOTES)]
    return deduplicated([*figures_of(talk), *inputs_of(talk), *picks])


def artifact(talk: Conversation, known: Sequence[Statement]) -> Arguments:
    """Name and content of the file: a CSV where that is asked for, else Markdown."""
    name = name_for(talk)
    if name.endswith(".csv") or (re.search(r"\bcsv\b", talk.task, re.IGNORECASE) and name.endswith(".md")):
        return {"name": name.removesuffix(".md").removesuffix(".csv") + ".csv", "content": _as_csv(known)}
    return {"name": name, "content": f"# {title_of(talk.task)}\n\n{bullets(known)}\n"}


def _as_csv(known: Sequence[Statement]) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["statement", "source"])
    rows.writerows([statement.words, " ".join(statement.labels)] for statement in known)
    return out.getvalue()


def _reported(talk: Conversation, name: str, known: Sequence[Statement]) -> str:
    program = bool(_CODE.search(talk.task))
    note = " No program was written: the offline model cannot; the file holds the material for one." if program else ""
    size = f"{len(known)} statement{'' if len(known) == 1 else 's'}"
    about = f"The file {name} holds {size} with the sources.{note}"
    text = f"## {title_of(talk.task)}\n\n{about}\n\n{bullets(known)}"
    return with_confidence(text + missing_noted(talk) + mail_quoted(talk), 0.4 if program else 0.8)
