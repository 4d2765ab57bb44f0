"""Review by rule: a result has to say something, and where it was looked up it has to say where."""

from pydantic import JsonValue

from nodes.llm.offline.answering import NOTHING
from nodes.llm.offline.conversation import Arguments, Conversation
from nodes.llm.offline.words import joined, subject_of
from nodes.llm.sections import Section
from state.citation import labels_in

SOURCED = frozenset({"research", "analysis"})


def review(talk: Conversation) -> Arguments:
    """A verdict for each result: the fields of `Review`.

    After an action in the outside world only empty results go back: doing the work again would mean acting again.
    """
    results = talk.all("result")
    has_acted = any(result.attrs.get("kind") == "action" for result in results)
    is_sourced = not has_acted and (bool(talk.source_lines) or any(labels_in(result.body) for result in results))
    tasks = {task.attrs.get("id", ""): task.body for task in talk.all("task")}
    verdicts: list[JsonValue] = []
    for result in results:
        task = result.attrs.get("task", "")
        fault = _fault(result, joined(list(subject_of(tasks.get(task, "")).values())[:6]), is_sourced=is_sourced)
        verdicts.append({"task_id": task, "accept": not fault, "feedback": fault})
    return {"verdicts": verdicts}


def _fault(result: Section, subject: str, *, is_sourced: bool) -> str:
    """What is missing, or nothing."""
    about = f" on {subject}" if subject else ""
    if not result.body.strip():
        return f"The result is empty. Say what is known{about}."
    needs = is_sourced and result.attrs.get("kind", "") in SOURCED
    if not needs or labels_in(result.body) or NOTHING in result.body:
        return ""
    return f"The result cites nothing. Search the sources and cite what supports each statement{about}."
