"""Review by rule: a result has to say something, and where it was looked up it has to say where."""

import re
from collections.abc import Mapping

from nodes.llm.offline.conversation import Arguments, Conversation
from nodes.llm.offline.words import joined, keywords
from nodes.llm.sections import Section
from state.citation import labels_in

SOURCED = frozenset({"research", "analysis"})

_HONEST = re.compile(
    r"\b(?:sources?|inputs?|documents?|files?|tables?) (?:says?|contains?|have|has|mentions?|names?) "
    r"(?:nothing|no|none)\b|"
    r"\bno (?:passage|source)s?\b|\bnot (?:mentioned|covered|found) in the (?:sources|documents)\b",
    re.IGNORECASE,
)
_TRIED_TWICE = re.compile(r"after searching again", re.IGNORECASE)


def review(talk: Conversation) -> Arguments:
    """A verdict for each result: the fields of `Review`.

    After an action in the outside world only empty results go back: doing the work again would mean acting again.
    """
    results = talk.all("result")
    acted = any(result.attrs.get("kind") == "action" for result in results)
    sourced = bool(talk.source_lines) or any(labels_in(result.body) for result in results)
    tasks = {task.attrs.get("id", ""): task.body for task in talk.all("task")}
    return {"verdicts": [_verdict(result, tasks, sourced and not acted) for result in results]}


def _verdict(result: Section, tasks: Mapping[str, str], sourced: bool) -> Arguments:
    task = result.attrs.get("task", "")
    fault = _fault(result, tasks.get(task, ""), sourced)
    return {"task_id": task, "accept": not fault, "feedback": fault}


def _fault(result: Section, task: str, sourced: bool) -> str:
    """What is missing, or nothing. An honest "the sources say nothing" has to come twice."""
    subject = joined(list(keywords(task).values())[:6])
    about = f" on {subject}" if subject else ""
    if not result.body.strip():
        return f"The result is empty. Say what is known{about}."
    if result.attrs.get("kind", "") not in SOURCED or not sourced or labels_in(result.body):
        return ""
    if _HONEST.search(result.body):
        again = _TRIED_TWICE.search(result.body) or result.attrs.get("iteration", "0") not in ("", "0")
        return "" if again else f"Nothing was found{about}. Search again in other words."
    return f"The result cites nothing. Search the sources and cite what supports each statement{about}."
