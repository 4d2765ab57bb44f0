"""A plan as numbered lines that a person can read and change in any text field, and back.

    1. Compare the prices (analyst)
    2. Write the report (writer, after 1)

A line that was left alone, whatever its number is now, is the task that it was, with all that the lines do not say. One
that was changed is the task of its number; any other is a new one. What waits for a task that is gone waits no more.
"""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from state.errors import PlanInvalid
from state.plan import MAX_TASKS, Plan, Task
from state.text import Json, counted

FIELD = "plan"
"""The argument with the lines, where a plan is shown to people."""
_LINE = re.compile(r"(?:(?P<number>\d{1,5})[.)]|[-*•])\s+(?P<text>.+)")
_END = re.compile(
    r"\s*\((?P<role>[^\W\d][\w. -]{0,63}?)?(?:,?\s*after\s+(?P<after>\d[\d,\s]*(?:and\s+\d+)?))?\)$", re.ASCII
)
_NUMBER = re.compile(r"\d+")


def plan_as_text(plan: Plan) -> str:
    """The lines."""
    numbers = {task.id: number for number, task in enumerate(plan.tasks, 1)}
    return "\n".join(f"{numbers[task.id]}. {_words(task)} {_end(task, numbers)}" for task in plan.tasks)


def plan_from_text(text: str, before: Plan) -> Json:
    """The plan that the lines say, made of the one that they were made from, as plain data.

    Raises:
        PlanInvalid: there are no lines, or one waits for a line that never was.
    """
    lines = _lines(text, {"", *(name for task in before.tasks for name in (task.role, task.to))})
    if not 1 <= len(lines) <= MAX_TASKS:
        at_most = f"one for each task, at most {MAX_TASKS}"
        raise PlanInvalid(f"it has {counted(len(lines), 'line')}; write {at_most}, as “1. What to do”")
    olds = _olds(lines, before)
    ids = _ids(olds, before)
    tasks: list[JsonValue] = []
    for number, line in enumerate(lines):
        old = olds[number]
        data: Json = old.model_dump(mode="json") if old else {}
        if old is None or line.words != _words(old):
            data["description"] = line.words
        if line.role and line.role != (old.to or old.role if old else ""):
            data |= {"role": line.role, "to": "", "kind": "general"}  # what kind it is, its words say
        data |= {"id": ids[number], "depends_on": _waits_for(line, number, lines, olds, ids, before)}
        tasks.append(data)
    return {**before.model_dump(mode="json", exclude={"tasks"}), "tasks": tasks}


@dataclass(frozen=True)
class _Line:
    number: int | None
    words: str
    role: str
    after: tuple[int, ...] | None
    """None: it says nothing of it."""


def _lines(text: str, roles: Container[str]) -> list[_Line]:
    """One for each line that begins a task; what follows without a number is more of it, blank lines are nothing."""
    found: list[tuple[int | None, str]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        begins = _LINE.fullmatch(line)
        if begins:
            found.append((int(begins["number"]) if begins["number"] else None, begins["text"]))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line}")
        else:
            found.append((None, line))
    return [_line(number, " ".join(words.split()), roles) for number, words in found]


def _line(number: int | None, words: str, roles: Container[str]) -> _Line:
    """A line; more than one word in its last brackets is who does it only where the plan has that role."""
    end = _END.search(words)
    role = (end["role"] or "").strip() if end else ""
    if not end or not words[: end.start()] or (" " in role and role not in roles):
        return _Line(number, words, "", None)
    after = tuple(map(int, _NUMBER.findall(end["after"]))) if end["after"] else None
    return _Line(number, words[: end.start()], role, after)


def _olds(lines: Sequence[_Line], before: Plan) -> list[Task | None]:
    """The task that each line was, or None."""
    left = dict(enumerate(before.tasks, 1))
    olds: list[Task | None] = [None] * len(lines)
    for place, line in enumerate(lines):  # first those that say what they said, best under their own number
        same = [number for number, task in left.items() if _words(task) == line.words]
        if same:
            olds[place] = left.pop(line.number if line.number in same else same[0])
    for place, line in enumerate(lines):
        if olds[place] is None and line.number in left:
            olds[place] = left.pop(line.number)
    return olds


def _ids(olds: Sequence[Task | None], before: Plan) -> list[str]:
    taken = {task.id for task in before.tasks}
    ids: list[str] = []
    number = 0
    for old in olds:
        if old is None:
            number += 1
            while f"t{number}" in taken:
                number += 1
        ids.append(old.id if old else f"t{number}")
    return ids


def _waits_for(
    line: _Line, place: int, lines: Sequence[_Line], olds: Sequence[Task | None], ids: Sequence[str], before: Plan
) -> list[JsonValue]:
    """The ids of the tasks that a line waits for: as before where it says what it said, else by the numbers in it."""
    numbers = {task.id: number for number, task in enumerate(before.tasks, 1)}
    old = olds[place]
    if old and (line.after or ()) == tuple(sorted(numbers[one] for one in old.depends_on)):
        return [one for one in old.depends_on if one in ids]
    named = {one.number or at: ids[at - 1] for at, one in reversed([*enumerate(lines, 1)])}
    waits: list[JsonValue] = []
    for number in line.after or ():
        if number in named:
            waits.append(named[number])
        elif number > len(before.tasks):
            raise PlanInvalid(f"“{line.words[:60]}” comes after {number}, which is not there")
    return list(dict.fromkeys(waits))


def _words(task: Task) -> str:
    return " ".join(task.description.split())


def _end(task: Task, numbers: dict[str, int]) -> str:
    after = sorted(numbers[one] for one in task.depends_on)
    first, last = after[:-1], after[-1:]
    listed = ", ".join(map(str, first)) + (" and " if first else "") + "".join(map(str, last))
    return f"({task.to or task.role}{f', after {listed}' if after else ''})"
