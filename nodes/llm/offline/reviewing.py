"""Review by rule: a result has to say something, and where it was looked up it has to say where."""

from collections.abc import Mapping

from nodes.llm.offline.conversation import Arguments, Conversation
from nodes.llm.offline.tables import joined
from nodes.llm.offline.words import subject_of
from nodes.llm.sections import Section
from state.citation import labels_in

SOURCED = frozenset({"research", "analysis"})
HONEST = "I found no passage"
"""How a result begins its admission that nothing was found: searching again would find the same."""


def review(talk: Conversation) -> Arguments:
    """A verdict for each result: the fields of `Review`.

    After an action in the outside world only empty results go back: doing the work again would mean acting again.
    """
    results = talk.all("result")
    acted = any(result.attrs.get("kind") == "action" for result in results)
    sourced = not acted and (bool(talk.source_lines) or any(labels_in(result.body) for result in results))
    tasks = {task.attrs.get("id", ""): task.body for task in talk.all("task")}
    return {"verdicts": [_verdict(result, tasks, sourced) for result in results]}


def _verdict(result: Section, tasks: Mapping[str, str], sourced: bool) -> Arguments:
    task = result.attrs.get("task", "")
    fault = _fault(result, tasks.get(task, ""), sourced)
    return {"task_id": task, "accept": not fault, "feedback": fault}


def _fault(result: Section, task: str, sourced: bool) -> str:
    """What is missing, or nothing."""
    subject = joined(list(subject_of(task).values())[:6])
    about = f" on {subject}" if subject else ""
    if not result.body.strip():
        return f"The result is empty. Say what is known{about}."
    if result.attrs.get("kind", "") not in SOURCED or not sourced or labels_in(result.body) or HONEST in result.body:
        return ""
    return f"The result cites nothing. Search the sources and cite what supports each statement{about}."
