"""From what somebody proposed to a plan that can run, and the mode that fits it (chapter 15.1, 15.8).

People get told what is wrong. Models, weak ones above all, are met half-way: they depend on roles instead of ids, on
themselves, on each other, and give one title three times; all of that has one sensible reading.
"""

from collections.abc import Iterable, Sequence

from pydantic import ValidationError
from rapidfuzz import fuzz, process

from nodes.policy.orders import actions_in, forbidden, ordered
from state.agent import AgentSpec
from state.errors import PlanInvalid
from state.plan import ID_PATTERN, Plan, Task, in_cycles
from state.policy import Policy
from state.replies import PlanDraft, TaskDraft
from state.run import Mode, ModeName

MAX_PROPOSED = 50
"""A model that proposes more tasks than this is asked again; people may give up to `state.plan.MAX_TASKS`."""

SAME = 97.0
"""Two descriptions this alike (0 to 100, rapidfuzz `ratio`) are one task given twice, if kind and role agree."""


def parse_plan(raw: object) -> Plan:
    """A plan from plain data (a file, an API); a bare list is taken as the tasks.

    Raises:
        PlanInvalid: with all that is wrong, in one line.
    """
    if isinstance(raw, Plan):
        return raw
    if isinstance(raw, list):
        raw = {"tasks": raw}
    if not isinstance(raw, dict):
        raise PlanInvalid(f"a plan is a mapping with `tasks`, not {type(raw).__name__}; see `baton status --plan`")
    try:
        return Plan.model_validate(raw)
    except ValidationError as error:
        wrong = " ".join("; ".join(_in_words(error)).split())
        raise PlanInvalid(f"the plan cannot be used: {wrong}") from error


def plan_for(agent: AgentSpec, request: str) -> Plan:
    """The plan by which one agent does all of a request; its text is in the brief however long it is."""
    kinds = agent.skills.kinds
    kind = max(kinds, key=lambda name: kinds[name]) if kinds else "general"
    return Plan(tasks=[Task(id="t1", description=request[:20_000], role=agent.role, to=agent.name, kind=kind)])


def for_strangers(plan: Plan, names: Sequence[str]) -> str:
    """What is wrong with a plan that names agents who are not there; empty where it names none.

    `names`: of the team.
    """
    unknown = {task.id: task.to for task in plan.tasks if task.to and task.to not in names}
    who = ", ".join(f"task {task_id!r} is for {name!r}" for task_id, name in unknown.items())
    return f"{who}; there are: {', '.join(names)}" if unknown else ""


def _in_words(error: ValidationError, most: int = 8) -> list[str]:
    problems = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"])
        problem = item["msg"].removeprefix("Value error, ")
        problems.append(f"{where}: {problem}" if where else problem)
    return problems[:most] + ([f"and {len(problems) - most} more"] if len(problems) > most else [])


def complaints(draft: PlanDraft, request: str = "") -> list[str]:
    """What makes a draft useless even after repair; empty when it can be repaired.

    A plan with an action that the request says not to do is refused, whoever made it.
    """
    if not any(task.description.strip() for task in draft.tasks):
        return ["the plan has no task with a description; give at least one"]
    if len(draft.tasks) > MAX_PROPOSED:
        return [f"the plan has {len(draft.tasks)} tasks; give at most {MAX_PROPOSED}"]
    against = forbidden(request)
    planned = [(task, {*actions_in(task.action), *ordered(task.description)}) for task in draft.tasks]
    acting = [(task, action) for task, actions in planned for action in sorted(actions & against)]
    return [
        f"task {task.id or task.description[:40]!r} would {action}, which the request says not to do; leave it out"
        for task, action in acting
    ]


def repair(draft: PlanDraft, roles: Iterable[str]) -> tuple[Plan, list[str]]:
    """A valid plan from a model's draft, and what was changed, in words. `roles`: the team's roles and agent names."""
    notes: list[str] = []
    drafts = _named(_distinct(draft.tasks, notes), notes)
    tasks = [_task(item, drafts, tuple(roles), notes) for item in drafts]
    tasks = _acyclic(tasks, notes)
    complexity = min(1.0, max(0.0, draft.complexity))
    return Plan(tasks=tasks, complexity=complexity, dynamic=draft.dynamic, communicates=draft.communicates), notes


def _distinct(drafts: Sequence[TaskDraft], notes: list[str]) -> list[TaskDraft]:
    kept: list[TaskDraft] = []
    for draft in drafts:
        text = draft.description.strip()
        if not text:
            notes.append(f"left out task {draft.id or '?'!r}: it says nothing to do")
        elif any(_same(draft, other) for other in kept):
            notes.append(f"left out task {draft.id or '?'!r}: it repeats another")
        else:
            kept.append(draft)
    return kept


def _same(one: TaskDraft, other: TaskDraft) -> bool:
    mine, theirs = one.description.strip().lower(), other.description.strip().lower()
    if mine == theirs:
        return True
    return (one.kind, one.role) == (other.kind, other.role) and fuzz.ratio(mine, theirs) >= SAME


def _named(drafts: list[TaskDraft], notes: list[str]) -> list[TaskDraft]:
    """Each draft with a unique, valid id; what already is one stays."""
    wanted = [draft.id.strip().replace(" ", "-") for draft in drafts]
    first: dict[str, int] = {}
    for number, name in enumerate(wanted):
        if ID_PATTERN.fullmatch(name):
            first.setdefault(name, number)
    taken, named = set(first), []
    for number, draft in enumerate(drafts):
        name = wanted[number]
        if first.get(name) != number:
            name = f"t{number + 1}"
            while name in taken:
                name += "'"
            taken.add(name)
        if name != draft.id:
            notes.append(f"task {draft.id!r} is called {name!r}")
        named.append(draft.model_copy(update={"id": name}))
    return named


def _task(draft: TaskDraft, drafts: list[TaskDraft], roles: tuple[str, ...], notes: list[str]) -> Task:
    role = _known(draft.role, roles, notes)
    wanted = draft.role.strip()[:64]
    asked = f"\n\nThe role for it: {wanted}." if wanted and wanted.lower() != role.lower() else ""
    return Task(
        id=draft.id,
        description=draft.description.strip()[: 20_000 - len(asked)] + asked,
        role=role,
        kind=draft.kind.strip().lower()[:64] or "general",
        depends_on=_dependencies(draft, drafts, notes),
        required=draft.required,
        action=draft.action.strip()[:200] or None,
        tools=draft.needs_tools,
    )


def _known(role: str, roles: tuple[str, ...], notes: list[str]) -> str:
    wanted = role.strip()
    if wanted in roles:
        return wanted
    best = process.extractOne(wanted.lower(), roles, score_cutoff=80) if wanted else None
    found = str(best[0]) if best else "generalist"
    if found != wanted:  # the default role needs nobody of that name
        notes.append(f"role {role!r} is not in the team; {found!r} is asked")
    return found


def _dependencies(draft: TaskDraft, drafts: list[TaskDraft], notes: list[str]) -> list[str]:
    found: list[str] = []
    for wanted in draft.depends_on:
        meant = [other for other in _meant(wanted, drafts) if other != draft.id]
        if not meant:
            notes.append(f"task {draft.id!r} does not depend on {wanted!r}: no other task is called that")
        elif meant != [wanted]:
            notes.append(f"task {draft.id!r} depends on {', '.join(meant)}, called {wanted!r}")
        found += meant
    return list(dict.fromkeys(found))


def _meant(wanted: str, drafts: list[TaskDraft]) -> list[str]:
    """The ids that `wanted` can mean: an id, a position, a role, or the words of a description."""
    key = wanted.strip().lower().replace(" ", "-")
    if ids := [d.id for d in drafts if d.id.lower() == key]:
        return ids
    digits = key.removeprefix("task").strip("-#.")
    if digits.isdecimal() and len(digits) < 5 and 1 <= int(digits) <= len(drafts):
        return [drafts[int(digits) - 1].id]
    if by_role := [d.id for d in drafts if d.role.strip().lower().replace(" ", "-") == key]:
        return by_role
    return [d.id for d in drafts if len(key) > 3 and fuzz.ratio(d.description.lower(), wanted.lower()) >= 80]


def _acyclic(tasks: list[Task], notes: list[str]) -> list[Task]:
    """`tasks` without cycles: of those that wait for each other, none waits for a later one."""
    stuck = set(in_cycles(tasks))
    position = {task.id: n for n, task in enumerate(tasks)}
    mended = []
    for task in tasks:
        keep = [d for d in task.depends_on if not (task.id in stuck and d in stuck and position[d] > position[task.id])]
        if keep != task.depends_on:
            notes.append(f"task {task.id!r} does not wait for later tasks: they wait for it")
        mended.append(task.model_copy(update={"depends_on": keep}))
    return mended


SIMPLE_BELOW = 0.3
"""Complexity under which one task without tools is answered at once (15.8)."""
DAG_UP_TO = 5
"""Tasks that a fixed plan may have without a supervisor's machinery (15.1)."""
HARD_FROM = 0.6
"""Complexity from which even a fixed plan gets every review round the policy grants (supervisor guide)."""


def complexity_of(plan: Plan) -> float:
    """The plan's own estimate, or one from its shape: 0.15 for a lone task, 0.1 more for each other, at most 1."""
    if plan.complexity is not None:
        return plan.complexity
    edges = sum(len(task.depends_on) for task in plan.tasks)
    return round(min(1.0, 0.15 + 0.1 * (len(plan.tasks) - 1) + 0.02 * edges), 2)


def choose_mode(plan: Plan, policy: Policy) -> Mode:
    """The mode that fits `plan`, its reason, and the review rounds that go with it."""
    complexity = complexity_of(plan)
    name, reason = _name(plan, complexity)
    rounds = _rounds(name, complexity, policy.max_iterations)
    return Mode(name=name, reason=reason, complexity=complexity, review_rounds=rounds)


def _name(plan: Plan, complexity: float) -> tuple[ModeName, str]:
    count = len(plan.tasks)
    if plan.dynamic:
        return "supervisor", "the plan is expected to grow on the way"
    if plan.communicates:
        return "supervisor", "agents must talk to each other"
    if count > DAG_UP_TO:
        return "supervisor", f"{count} tasks, more than {DAG_UP_TO}"
    if complexity < SIMPLE_BELOW and count == 1 and not plan.tasks[0].tools:
        return "simple", f"complexity {complexity:.2f} is below {SIMPLE_BELOW} and one task needs no tools"
    return "dag", f"a fixed plan of {count} task{'s' if count > 1 else ''}, complexity {complexity:.2f}"


def _rounds(name: ModeName, complexity: float, most: int) -> int:
    if name == "simple":
        return 0
    return most if name == "supervisor" or complexity >= HARD_FROM else min(1, most)
