"""Review by rule: a result has to say something, and where it was looked up it has to say where."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from nodes.language.subjects import joined, subject_of
from nodes.llm.offline.conversation import CONFIDENCE, NOTHING, Arguments, Conversation
from nodes.llm.sections import Section
from state.citation import labels_in

SOURCED = frozenset({"research", "analysis"})


def review(talk: Conversation) -> Arguments:
    """A verdict for each result: the fields of `Review`.

    After an action in the outside world only empty results go back: doing the work again would mean acting again.
    """
    results = talk.all("result")
    tasks = {task.attrs.get("id", ""): task.body for task in talk.all("task")}
    faults = _faults(talk, results, tasks)
    verdicts: list[JsonValue] = [
        {"task_id": task, "accept": not fault, "feedback": fault} for task, fault in faults.items()
    ]
    return {"verdicts": verdicts}


def judged(talk: Conversation, answer: str) -> str:
    """An answer with a line for each input, where there is to be one: good, or what is missing."""
    tasks = {given.attrs.get("task", ""): given.body for given in talk.all("given")}
    if not tasks or answer.startswith("FAILED"):
        return answer
    faults = _faults(talk, [one for one in talk.all("input") if one.attrs.get("task") in tasks], tasks)
    text, end = CONFIDENCE.sub("", answer), CONFIDENCE.search(answer)
    lines = [f"Input {task}: {fault or 'good'}" for task, fault in faults.items()]
    return "\n".join([text, "", *lines]) + (end[0] if end else "")


def _faults(talk: Conversation, results: Sequence[Section], tasks: Mapping[str, str]) -> dict[str, str]:
    """What is missing of each result, by task; empty where nothing is. `tasks`: what each was to be."""
    has_acted = any(result.attrs.get("kind") == "action" for result in results)
    is_sourced = not has_acted and (bool(talk.source_lines) or any(labels_in(result.body) for result in results))
    found = {}
    for result in results:
        task = result.attrs.get("task", "")
        subject = joined(list(subject_of(tasks.get(task, "")).values())[:6])
        about = f" on {subject}" if subject else ""
        is_said = bool(labels_in(result.body)) or NOTHING in result.body
        found[task] = ""
        if not result.body.strip():
            found[task] = f"The result is empty. Say what is known{about}."
        elif is_sourced and result.attrs.get("kind") in SOURCED and not is_said:
            found[task] = f"The result cites nothing. Search the sources and cite what supports each statement{about}."
    return found
