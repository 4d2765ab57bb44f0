"""Planning by rules: aspects in parallel, what compares or weighs them after, what writes and acts on them last.

A plan in the making: tasks are numbered as they come, and get roles that the team has.

The analysis of a market: which aspects it always has.
"""

import re
from dataclasses import dataclass, field

from nodes.llm.offline.conversation import Arguments, Conversation
from nodes.llm.offline.requests import Request, expression_in, heeded, understood
from nodes.llm.offline.salience import NUMBERS
from nodes.llm.offline.tables import tables_in
from nodes.llm.offline.words import keywords

WEIGHED_FROM = 4
"""Aspects from which on a synthesis weighs them against each other, asked for or not."""
MOST_EXTRA = 4
"""Aspects that are added to those of a market analysis."""

_MORE_FIGURES = re.compile(
    r"\b(?:average|mean|sum|total|count|highest|lowest|top|most|least|cheapest|rank|trend|per (?:year|month)|table)\b",
    re.IGNORECASE,
)


def plan(talk: Conversation) -> Arguments:
    """The fields of `PlanDraft` for the request; notes that came while it was worked on are part of it.

    What humans had against earlier plans is heeded as far as rules can.
    """
    notes = talk.body("notes")
    text = f"{talk.request}\n{notes}".strip() or "Say what can be said"
    request = heeded(understood(text), [said.body for said in talk.all("objection")])
    draft = Drafting(talk.body("team"))
    if expression_in(text):
        draft.add("analysis", f"Calculate: {text}", role=draft.with_tool("calculate"))
        return _fields(draft, 0.1)
    if market := market_of(text):
        _add_market(draft, f"the {market}" if market.lower().endswith("market") else market, request, talk)
    elif is_small(request):
        _add_one(draft, text, talk)
    else:
        _add_aspects(draft, request, talk)
    return _fields(draft, _complexity(draft, request))


def is_small(request: Request) -> bool:
    """Whether one agent can answer it in one go."""
    more = request.writing or request.strategy or request.action or request.made
    return len(request.aspects) <= 1 and not more


@dataclass
class Drafting:
    """A plan in the making."""

    team: str
    tasks: list[Arguments] = field(default_factory=list)

    def add(
        self,
        kind: str,
        description: str,
        after: list[str] | None = None,
        *,
        role: str = "",
        action: str = "",
        tools: bool = True,
    ) -> str:
        """Another task; its id."""
        task_id = f"t{len(self.tasks) + 1}"
        self.tasks.append(
            {
                "id": task_id,
                "description": description[:4000],
                "role": self.role(kind, role),
                "kind": kind,
                "depends_on": list(after or []),
                "required": True,
                "action": action,
                "needs_tools": tools,
            }
        )
        return task_id

    def role(self, kind: str, wanted: str = "") -> str:
        """A role of this team for that kind of work: the one wanted, the usual one, one that says so."""
        roles = [(m["role"].strip(), m["rest"]) for line in self.team.splitlines() if (m := _TEAM.match(line))]
        known = [role for role, _ in roles]
        for role in (wanted, PREFERRED.get(kind, "")):
            if role in known:
                return role
        return next((role for role, rest in roles if kind in _listed(_KINDS, rest)), "generalist")

    def with_tool(self, tool: str) -> str:
        """A role that has that tool."""
        roles = [(m["role"].strip(), m["rest"]) for line in self.team.splitlines() if (m := _TEAM.match(line))]
        return next((role for role, rest in roles if tool in _listed(_TOOLS, rest)), "generalist")

    @property
    def ids(self) -> list[str]:
        """The tasks so far."""
        return [str(task["id"]) for task in self.tasks]


def _add_one(draft: Drafting, text: str, talk: Conversation) -> None:
    if not talk.source_lines:
        draft.add("general", text, role="generalist", tools=False)
    elif _figures_wanted(text, talk):
        draft.add("analysis", text)
    else:
        draft.add("research", text)


def _add_market(draft: Drafting, market: str, request: Request, talk: Conversation) -> None:
    """The four aspects of a market, those the request names besides, the SWOT of them, the report."""
    for description, role in MARKET.values():
        draft.add("research", description.format(market), role=role)
    for aspect in [aspect for aspect in request.aspects if not is_covered(aspect, market)][:MOST_EXTRA]:
        _aspect(draft, aspect, talk)
    swot = draft.add(
        "strategy", f"SWOT of {market}: strengths, weaknesses, opportunities and threats, and what follows", draft.ids
    )
    found = [task_id for task_id in draft.ids if task_id != swot]
    draft.add("writing", f"Report on {market}: answer the request from the findings and the SWOT", [*found, swot])
    _add_ends(draft, request)


def _add_aspects(draft: Drafting, request: Request, talk: Conversation) -> None:
    """Research in parallel, then figures, synthesis, things to make, the report."""
    aspects = request.aspects or [request.text]
    first = [_aspect(draft, aspect, talk) for aspect in aspects]
    figures = "analysis" in (task["kind"] for task in draft.tasks)
    if request.compared and len(first) > 1:
        first = [*first, draft.add("analysis", "; ".join(request.compared), first)]
    elif not figures and _tables_speak(request.text, talk):
        first.append(draft.add("analysis", f"Figures: {_all(aspects)}"))
    if request.strategy or len(aspects) > WEIGHED_FROM - 1:
        first.append(draft.add("strategy", f"{_synthesis(request)}: {_all(aspects)}", first))
    first += [draft.add("implementation", made, list(first)) for made in request.made]
    if request.writing or len(draft.tasks) > 1 or request.action:
        draft.add("writing", f"Report: {_all(aspects)}", first)
    _add_ends(draft, request)


def _aspect(draft: Drafting, aspect: str, talk: Conversation) -> str:
    description = aspect[:1].upper() + aspect[1:] if aspect.split(maxsplit=1)[0].islower() else aspect
    if not talk.source_lines:
        return draft.add("general", description, role="generalist", tools=False)
    part, _, whole = aspect.partition(" of ")
    for words, (template, role) in MARKET.items():
        if part.lower().rstrip("s") == words and whole:
            return draft.add("research", template.format(whole), role=role)
    return draft.add("analysis" if _figures_wanted(aspect, talk) else "research", description)


def _add_ends(draft: Drafting, request: Request) -> None:
    if request.action:
        after = [draft.ids[-1]]
        draft.add("action", f"{request.action.capitalize()} the report: {request.text}", after, action=request.action)


def _figures_wanted(text: str, talk: Conversation) -> bool:
    """Whether it asks for figures and a table speaks of the subject."""
    asked = bool(NUMBERS.search(text) or _MORE_FIGURES.search(text))
    return asked and _tables_speak(text, talk)


def _tables_speak(text: str, talk: Conversation) -> bool:
    return any(table.relevance(list(keywords(text))) for table in tables_in(talk.source_lines))


def _synthesis(request: Request) -> str:
    return "SWOT" if re.search(r"\bswot\b", request.text, re.IGNORECASE) else "Strategic synthesis"


def _all(aspects: list[str]) -> str:
    return "; ".join(aspect.rstrip("?. ") for aspect in aspects[:6])


def _complexity(draft: Drafting, request: Request) -> float:
    """0.15 for the first task, 0.1 for each other, less for a very short request; at most 1."""
    short = 0.05 if len(draft.tasks) == 1 and len(request.text) < 80 else 0.0
    return round(min(1.0, 0.2 - short + 0.11 * (len(draft.tasks) - 1)), 2)


def _fields(draft: Drafting, complexity: float) -> Arguments:
    return {"tasks": list(draft.tasks), "complexity": complexity, "dynamic": False, "communicates": False}


PREFERRED = {
    "research": "researcher",
    "analysis": "analyst",
    "strategy": "strategist",
    "implementation": "coder",
    "writing": "writer",
    "action": "publisher",
}
"""Who does a kind of work, where the team has such a role."""

_TEAM = re.compile(r"^\s*[-*]?\s*(?P<name>[^()\n:]+?)\s*\((?P<role>[^()\n]+)\)(?P<rest>.*)$")
_KINDS = re.compile(r"kinds:\s*(?P<kinds>[^;\n]+)")
_TOOLS = re.compile(r"tools:\s*(?P<tools>[^;\n]+)")


def _listed(pattern: re.Pattern[str], text: str) -> list[str]:
    found = pattern.search(text)
    return [word.strip() for word in found.group(1).split(",")] if found else []


MARKET = {
    "market size": (
        "Market size and adoption of {}: revenue, yearly growth, forecast, spending, companies with it in production",
        "researcher",
    ),
    "competitor": (
        "Competitors in {}: vendors, companies, their frameworks and market share, with figures such as stars",
        "analyst",
    ),
    "product comparison": (
        "Product comparison in {}: features, strengths, limitations, licences and pricing of the products",
        "researcher",
    ),
    "technology trend": (
        "Technology trends in {}: emerging protocols, standards, architecture, future developments",
        "researcher",
    ),
}
"""The aspects of a market analysis, and who looks into them (chapter 15.9)."""


_MARKET = re.compile(
    r"\b(?:competitive|competitor|market|industry)[- ](?:analysis|landscape|research|study|overview|assessment)\b|"
    r"\banaly[sz]e\b[^.?]*\bmarket\b|\banalysis of\b[^.?]*\bmarket\b",
    re.IGNORECASE,
)
_MARKET_OF = re.compile(
    r"(?:of|for|on|in|about|analy[sz]e)\s+(?P<name>(?:the\s+)?[^.,:;?!\n]*?\b(?:market|industry|sector|space)\b)|"
    r"(?:analysis|landscape|research|study|overview|assessment)\s+(?:of|for|on|in|about)\s+"
    r"(?P<other>[^.,:;?!\n]{2,80}?)(?=\s+and\s+\w+\s|[.,:;?!\n]|$)",
    re.IGNORECASE,
)


def market_of(text: str) -> str:
    """The market to be analysed as a whole; empty where something else is asked for."""
    if not _MARKET.search(text):
        return ""
    found = _MARKET_OF.search(text)
    name = (found["name"] or found["other"]) if found else _MARKET.split(text)[0]
    return re.sub(r"^(?:the|a|an)\s+", "", (name or "").strip(), flags=re.IGNORECASE).strip() or "market"


def is_covered(aspect: str, market: str) -> bool:
    """Whether the usual aspects of a market take care of it, or it is the market itself."""
    if _MARKET.search(aspect):
        return True
    usual = keywords(" ".join([market, "large suits", *(template for template, _ in MARKET.values())]))
    return (
        bool(keywords(aspect).keys() & (usual.keys() - keywords(market).keys()))
        or keywords(aspect).keys() <= usual.keys()
    )
