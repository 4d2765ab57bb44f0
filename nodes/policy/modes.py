"""How much machinery a run needs (chapter 15.1 and 15.8)."""

from state.mode import Mode, ModeName
from state.plan import Plan
from state.policy import Policy

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
