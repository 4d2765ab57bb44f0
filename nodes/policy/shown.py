"""A question as pages show it: by what name, with which arguments; and whether an answer is to what was shown.

An action goes by its name, as programs know it that draw a form for it; everything else, which is no tool's name, by
what is asked in plain words. Two questions of one list never have one name: some pages know them by that alone.
"""

import re
from collections.abc import Sequence

from nodes.policy.plan_text import FIELD, plan_as_text, plan_from_text
from state.approval import Approval
from state.plan import Plan
from state.text import Json

FREE = "answer"
"""The argument, of an edit, whose value is the answer to a question that takes any."""
_COUNTED = re.compile(r" \(\d+\)$")


def names_of(questions: Sequence[Approval]) -> list[str]:
    """The name of each; no two are the same."""
    names: list[str] = []
    for question in questions:
        title = question.title
        wanted = question.action if question.subject == "action" else title
        if wanted in names:
            wanted = title
        number = 2
        while wanted in names:
            wanted, number = f"{title} ({number})", number + 1
        names.append(wanted)
    return names


def is_called(name: str, question: Approval) -> bool:
    """Whether an answer that names what it is to means this question."""
    return _COUNTED.sub("", name) in (question.action, question.title) or name == question.action


def args_of(question: Approval) -> Json:
    """The arguments as a person reads and changes them: a plan as lines, and a field for an answer that may be any."""
    if question.subject == "plan" and (plan := _plan(question)):
        return {FIELD: plan_as_text(plan)}
    return {**question.args, FREE: ""} if question.takes_anything and FREE not in question.args else question.args


def read_args(args: Json, question: Approval) -> Json:
    """The arguments that those a person has changed stand for.

    Raises:
        PlanInvalid: the lines are no plan.
    """
    lines = args.get(FIELD)
    if question.subject == "plan" and isinstance(lines, str) and (plan := _plan(question)):
        return plan_from_text(lines, plan)
    is_form = question.takes_anything and FREE in args and args.keys() - {FREE} == question.args.keys()
    return {FREE: args[FREE]} if is_form else args


def _plan(question: Approval) -> Plan | None:
    return Plan.model_validate(question.args) if isinstance(question.args.get("tasks"), list) else None
