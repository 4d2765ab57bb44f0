"""Who does a task (supervisor guide, "routing: task to agent"), and whether nobody fits (15.12.8)."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

from nodes.policy import errands
from nodes.policy.oversight import fired, is_sensitive
from nodes.policy.plans import for_strangers, parse_plan
from nodes.policy.request_shape import shape_of
from state.agent import AgentSpec
from state.approval import FiredTrigger, Risk, TriggerInput
from state.errors import PlanInvalid
from state.plan import Kind, Plan, Task
from state.policy import Policy
from state.record import Route, Score

SELF_SHARE = 0.6
KEYWORD_SHARE = 0.4
STANDS_FROM = 0.5
"""Only who scores at least this overrules the plan's suggestion, and only one that scores less."""
FALLBACK_FROM = 0.3
"""An agent that scores less is no substitute for one that failed."""

MOST_LEARNED = 0.15
"""An agent's record moves its self-assessment by at most this, so its score by 0.09: who scores less than 0.41 alone
never gets to `STANDS_FROM` by it."""
Record = Mapping[tuple[str, str], float]
"""What agents have earned: by name and kind of task, what is added to the self-assessment."""
NO_RECORD: Record = {}

SHORT = 3
"""Letters of a word that has no ending: `going` is not `Go`."""
UNSKILLED = 0.1
"""Self-assessment for a kind of task that an agent does not list."""

_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:\+\+|#)?")
_SMALL = frozenset(
    "the and for with from into its of or in on to by at as an is are it be who what how that this all any our".split()  # noqa: SIM905
)
"""Words of up to three or four letters that speak for nobody."""


_BY_ACT: Mapping[str, Kind] = {
    **dict.fromkeys(
        ("find", "look", "collect", "gather", "read", "extract", "who?", "which?", "where?", "when?"), "research"
    ),
    **dict.fromkeys(
        ("analyze", "compare", "calculate", "count", "estimate", "forecast", "rank", "draw", "measure", "quantify"),
        "analysis",
    ),
    **dict.fromkeys(("recommend", "decide", "plan", "weigh", "choose", "brainstorm", "position"), "strategy"),
    **dict.fromkeys(
        ("build", "fix", "test", "refactor", "install", "convert", "automate", "migrate", "simulate"), "implementation"
    ),
    **dict.fromkeys(
        ("write", "edit", "summarize", "translate", "explain", "outline", "formulate", "phrase", "rephrase", "shorten"),
        "writing",
    ),
    **dict.fromkeys(
        ("publish", "send", "email", "upload", "submit", "notify", "invite", "book", "pay", "order"), "action"
    ),
}
"""The kind of work that a verb (`nodes.policy.errands`) asks for, where it asks for one and no other."""
_LOOKS_UP = re.compile(r"\W*(?:investigate|research|explore|look(?:ing)?|study)\b", re.IGNORECASE)
"""Beginnings of what is to be found out, though it may be called an analysis, too."""
_WHAT_TO_DO = re.compile(r"\bhow (?:should|shall|ought) (?:we|i|our|the)\b", re.IGNORECASE)
_PROGRAMS = frozenset({"code", "software", "query"})
_PLANS = frozenset({"swot", "strategy"})


def kind_of(task: Task) -> str:
    """The kind of a task: as it says, or where that says nothing (`general`), as its description does."""
    if task.kind != "general":
        return task.kind
    shape = shape_of(task.description)
    kinds: set[Kind] = {_BY_ACT[act] for act in shape.acts if act in _BY_ACT}
    if not kinds and _WHAT_TO_DO.search(task.description):
        kinds = {"strategy"}
    if len(kinds) != 1 or shape.is_denied:
        return task.kind
    (kind,) = kinds
    if kind == "analysis" and _LOOKS_UP.match(task.description):
        return "research"
    return _of_what_is_made(shape.kinds, kind) if kind in ("writing", "implementation") else kind


def _of_what_is_made(things: Collection[str], kind: Kind) -> Kind:
    """Writing a program is no writing, and making a report no programming."""
    if not _PROGRAMS.isdisjoint(things):
        return "implementation"
    if things and _PLANS.issuperset(things):
        return "strategy"
    return kind if errands.DOCUMENTS.isdisjoint(things) else "writing"


def self_assessment(task: Task, agent: AgentSpec) -> float:
    """The agent's own estimate for this kind of task; one that lists none is sure of its own role only."""
    kinds = agent.skills.kinds
    if not kinds:
        return 1.0 if _suggested(task, agent) else UNSKILLED
    return kinds.get(kind_of(task), kinds.get("general", UNSKILLED))


def keyword_match(task: Task, agent: AgentSpec) -> float:
    """How much of the agent's vocabulary is in the description: 0, 0.5, 0.75 … for 0, 1, 2 … matching words.

    Short words match as they are written, longer ones without their endings. Of role and specialty single letters and
    small words say nothing; a keyword says what it is, even `R`.
    """
    said = {word for word in _stems(f"{agent.role} {agent.specialty}") if len(word) > 1}
    words = _stems(task.description).union(re.findall(f"[{_UNSPACED}]", task.description))
    hits = len((said - _SMALL | _stems(" ".join(agent.skills.keywords))) & words)
    return 1.0 - 0.5**hits


def score(task: Task, agent: AgentSpec, learned: float = 0.0) -> Score:
    """Both parts and their weighted sum, rounded to three digits. `learned`: what its record adds to its own part."""
    own, words = self_assessment(task, agent), keyword_match(task, agent)
    moved = min(1.0, max(0.0, own + max(-MOST_LEARNED, min(MOST_LEARNED, learned))))
    return Score(
        agent=agent.name,
        self_assessment=round(own, 3),
        keywords=round(words, 3),
        total=round(SELF_SHARE * moved + KEYWORD_SHARE * words, 3),
        learned=round(moved - own, 3),
    )


def route(task: Task, team: Sequence[AgentSpec], record: Record = NO_RECORD) -> Route:
    """The agent for `task`: the one it is for, the suggested role, else the best score. `team` is not empty.

    A suggestion stands if it scores at least one half, or nobody else does either. Whoever suggests `ANYBODY` has said
    that it is nobody's in particular, so that the best score decides; of equals it is theirs.
    """
    scored = (score(task, agent, record.get((agent.name, task.kind), 0.0)) for agent in team)
    suggested = {agent.name for agent in team if _suggested(task, agent)}
    scores = sorted(scored, key=lambda s: (-s.total, s.agent not in suggested))
    if task.to in {agent.name for agent in team}:
        return Route(agent=task.to, reason=f"it is for {task.to}", scores=scores)
    best = next((s for s in scores if s.agent in suggested), None)
    top = scores[0]
    if task.role.lower() == ANYBODY and best and top.total >= STANDS_FROM:
        return Route(agent=top.agent, reason=f"best score {top.total:.2f}; it is for anybody", scores=scores)
    if best and (best.total >= STANDS_FROM or top.total < STANDS_FROM):
        alone = "" if best.total >= STANDS_FROM else f"; nobody reaches {STANDS_FROM:.2f}"
        reason = f"suggested as {task.role}, scores {best.total:.2f}{alone}"
        return Route(agent=best.agent, reason=reason, scores=scores)
    why = f"{task.role} scores only {best.total:.2f}" if best else f"nobody is {task.role}"
    return Route(agent=top.agent, reason=f"best score {top.total:.2f}; {why}", scores=scores)


def routes(
    tasks: Sequence[Task],
    team: Sequence[AgentSpec],
    members: Collection[str],
    most: int,
    record: Record = NO_RECORD,
) -> list[Route]:
    """The agent for each task, in order; once `most` agents have something to do (15.10), the rest is theirs as well.

    `members`: those that have something to do already. Who is asked for by name counts from the start, and always gets
    the task: whether there are too many of them is for `too_many`.
    """
    present = {*members, *_asked_for(tasks, team)}
    found = []
    for task in tasks:
        is_full = len(present) >= most and task.to not in present
        chosen = route(task, [agent for agent in team if agent.name in present] if is_full else team, record)
        if is_full:
            full = f"{chosen.reason}; the team has {len(present)} members, the limit is {most}"
            chosen = chosen.model_copy(update={"reason": full})
        present.add(chosen.agent)
        found.append(chosen)
    return found


def given_plan(raw: object, team: Sequence[AgentSpec], most: int) -> Plan:
    """A plan that somebody gives, for this team, of which at most `most` agents may be asked for by name.

    Raises:
        PlanInvalid: with all that is wrong, in one line.
    """
    plan = parse_plan(raw)
    if why := for_strangers(plan, [agent.name for agent in team]) or too_many(plan.tasks, team, most):
        raise PlanInvalid(f"the plan cannot be used: {why}")
    return plan


def too_many(tasks: Sequence[Task], team: Sequence[AgentSpec], most: int) -> str:
    """Why a plan asks for more agents by name than a run may have; empty where it does not."""
    wanted = _asked_for(tasks, team)
    names = ", ".join(wanted)
    return f"it is for {len(wanted)} agents ({names}), and max_team_size is {most}" if len(wanted) > most else ""


def _asked_for(tasks: Iterable[Task], team: Iterable[AgentSpec]) -> list[str]:
    there = {agent.name for agent in team}
    return [name for name in dict.fromkeys(task.to for task in tasks) if name in there]


def fallbacks(route: Route, unavailable: Collection[str]) -> list[str]:
    """Who may take over when the chosen agent fails: the rest by score, as far as they are any good at it."""
    others = [s for s in route.scores if s.agent != route.agent and s.agent not in unavailable]
    return [s.agent for s in others if s.total >= FALLBACK_FROM]


def _suggested(task: Task, agent: AgentSpec) -> bool:
    return task.role.lower() in (agent.role.lower(), agent.name.lower())


def _stems(text: str) -> set[str]:
    """The words of a text as they are compared, in any script; where none has spaces, in pairs of characters."""
    found: set[str] = set()
    for word in _words(text):
        if re.match(f"[{_UNSPACED}]", word):
            found |= {word[n : n + 2] for n in range(max(1, len(word) - 1))}
        else:
            found.add(_stem(word) if len(word) > SHORT else word)
    return found


def _words(text: str) -> list[str]:
    """In small letters, without accents."""
    apart = unicodedata.normalize("NFKD", text)
    plain = "".join(char for char in apart if not unicodedata.combining(char))
    return _WORD.findall(unicodedata.normalize("NFC", plain).casefold())


def _stem(word: str) -> str:
    word = word.removeprefix("ال")  # the article of Arabic
    for ending in ("ing", "ies", "ers", "ed", "es", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def roles_of(team: Iterable[AgentSpec]) -> list[str]:
    """All names by which a plan may ask for somebody: roles first, then agents."""
    specs = list(team)
    return list(dict.fromkeys([s.role for s in specs] + [s.name for s in specs]))


OUT_OF_SCOPE_BELOW = FALLBACK_FROM
"""A task that its agent fits less well than this is nobody's."""

ANYBODY = "generalist"
"""The role of a task that asks for nobody in particular (15.6): whoever there is may do it."""


def marks_of(task: Task, route: Route | None, agent: AgentSpec | None, policy: Policy) -> list[FiredTrigger]:
    """The triggers that a task fires before it runs; `agent` is who would do it."""
    signs = TriggerInput(action=task.action or "", risk=risk_of(task, policy), misfit=out_of_scope(task, route, agent))
    return fired(signs, policy)


def risk_of(task: Task, policy: Policy) -> Risk:
    """High for what is sensitive (15.12.8), low for the rest."""
    return "high" if task.action and is_sensitive(task.action, policy) else "low"


def out_of_scope(task: Task, route: Route | None, agent: AgentSpec | None) -> str:
    """Why the task is out of scope, in words; empty if it is not."""
    if agent is None:
        return "there is no agent for it"
    score = next((score.total for score in route.scores if score.agent == agent.name), None) if route else None
    if task.role != ANYBODY and not task.to and score is not None and score < OUT_OF_SCOPE_BELOW:
        return f"nobody fits, {agent.name} scores {score:.2f} (at least {OUT_OF_SCOPE_BELOW:.2f})"
    if task.action and agent.run is None and not tools_for(task.action, agent):
        return f"no tool of {agent.name} can do {task.action!r}"
    return ""


def tools_for(action: str, agent: AgentSpec) -> list[str]:
    """The agent's tools whose name shares a word with the action."""
    words = set(_words(action))
    return [name for name in tool_names(agent.tools) if words & set(_words(name))]


def tool_names(tools: Sequence[object]) -> list[str]:
    """The names of tools, given by name or as LangChain tools."""
    return [tool if isinstance(tool, str) else str(getattr(tool, "name", "")) for tool in tools]
