"""Review by rule: a result has to say something, and where it was looked up it has to say where."""

from pydantic import JsonValue

from nodes.language.subjects import joined, subject_of
from nodes.llm.offline.conversation import NOTHING, Arguments, Conversation
from state.citation import labels_in


def review(talk: Conversation) -> Arguments:
    """The fields of `Review`. After an action only empty results go back: doing work again would mean acting again."""
    results, verdicts = talk.all("result"), list[JsonValue]()
    tasks = {task.attrs.get("id"): task.body for task in talk.all("task")}
    has_acted = any(result.attrs.get("kind") == "action" for result in results)
    is_sourced = not has_acted and (talk.source_lines or any(labels_in(result.body) for result in results))
    for result in results:
        task, is_said = result.attrs.get("task", ""), bool(labels_in(result.body)) or NOTHING in result.body
        subject = joined(list(subject_of(tasks.get(task, "")).values())[:6])
        about, fault = f" on {subject}" if subject else "", ""
        if not result.body.strip():
            fault = f"The result is empty. Say what is known{about}."
        elif is_sourced and result.attrs.get("kind") in ("research", "analysis") and not is_said:
            fault = f"The result cites nothing. Search the sources and cite what supports each statement{about}."
        verdicts.append({"task_id": task, "accept": not fault, "feedback": fault})
    return {"verdicts": verdicts}
