"""Planning by rules: what is asked side by side, what builds on it after, what writes and acts on it last.

Nothing is planned that was not asked for: no synthesis, no figures, no section, no action. The analysis of a market has
the aspects that such an analysis always has (chapter 15.9).
"""

import re
from dataclasses import dataclass, field, replace

from nodes.llm.offline.conversation import Arguments, Conversation
from nodes.llm.offline.following import followed
from nodes.llm.offline.requests import Request, expression_in, heeded, keywords, understood
from nodes.llm.offline.schema import tables_in
from nodes.llm.offline.shapes import Shape, described, shape_of
from nodes.llm.offline.tables import AGGREGATES
from nodes.policy.orders import ordered

MOST_EXTRA = 4
"""Aspects that are added to those of a market analysis."""
IN_PLACE = {"delete", "pay"}
"""Actions that need no result first."""
PREFERRED = {
    "research": "researcher",
    "analysis": "analyst",
    "strategy": "strategist",
    "implementation": "coder",
    "writing": "writer",
    "action": "publisher",
}
"""Who does a kind of work, where the team has such a role."""
MARKET = {
    "Market size and adoption of {}: how large is the market in USD; what do surveys say of production?": "researcher",
    "Competitors in {}, in figures: which framework has the most GitHub stars; which companies use it?": "analyst",
    "Product comparison in {}: licence and price; strengths and weaknesses; limits and budgets": "researcher",
    "Technology trends in {}: which standards and protocols emerge; durable execution as a feature": "researcher",
}
"""The aspects of a market analysis, and who looks into them (chapter 15.9)."""

_FIGURES = re.compile(
    rf"\b(?:{'|'.join(AGGREGATES.values())}|how (?:much|large|big|old|long|heavy)|per (?:year|month)|table|figures?)\b",
    re.IGNORECASE,
)
_TEAM = re.compile(r"^\s*[-*]?\s*(?P<name>[^()\n:]+?)\s*\((?P<role>[^()\n]+)\)(?P<rest>.*)$")
_KINDS = re.compile(r"kinds:\s*(?P<kinds>[^;\n]+)")
_TOOLS = re.compile(r"tools:\s*(?P<tools>[^;\n]+)")
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


def plan(talk: Conversation) -> Arguments:
    """The fields of `PlanDraft` for the request; notes that came while it was worked on are part of it.

    What humans had against earlier plans is heeded as far as rules can.
    """
    said, earlier = f"{talk.request}\n{talk.body('notes')}".strip(), talk.all("earlier")
    draft = Drafting(talk.body("team"), talk)
    shape = shape_wanted(said) if earlier else None
    text = "" if shape else followed(said, earlier) or "Say what can be said"
    # What was asked before is asked again where that is meant; what was to be done then is not done again.
    asked = replace(understood(text or said), actions=ordered(said))
    request = heeded(asked, [one.body for one in talk.all("objection")])
    if shape:
        draft.reuse(shape, request)
        draft.act(request)
    elif expression_in(text):
        draft.add("analysis", f"Calculate: {text}", role=draft.with_tool("calculate"))
    elif market := market_of(text):
        _add_market(draft, market if market.lower().endswith("market") else f"{market} market", request)
        draft.act(request)
    else:
        _add_tasks(draft, request)
        draft.act(request)
    complexity = min(1.0, 0.2 - 0.05 * (len(draft.tasks) == 1 and len(text) < 80) + 0.11 * (len(draft.tasks) - 1))
    return {"tasks": list(draft.tasks), "complexity": round(complexity, 2), "dynamic": False, "communicates": False}


@dataclass
class Drafting:
    """A plan in the making: tasks are numbered as they come, and get roles that the team has."""

    team: str
    talk: Conversation
    tasks: list[Arguments] = field(default_factory=list)

    def add(
        self, kind: str, description: str, after: list[str] | None = None, *, role: str = "", action: str = ""
    ) -> str:
        """Another task; its id. Without sources nobody can look anything up, and a question needs no tools."""
        answers = kind in ("research", "analysis") and not self.talk.source_lines and not expression_in(description)
        task_id = f"t{len(self.tasks) + 1}"
        self.tasks.append(
            {
                "id": task_id,
                "description": description[:4000],
                "role": "generalist" if answers else self.role(kind, role),
                "kind": "general" if answers else kind,
                "depends_on": list(after or []),
                "required": True,
                "action": action,
                "needs_tools": not answers,
            }
        )
        return task_id

    def ask(self, aspect: str) -> str:
        """A question to the sources: for the analyst where it asks for figures and a table speaks of it."""
        kind = "analysis" if _FIGURES.search(aspect) and self._tables_speak(aspect) else "research"
        return self.add(kind, aspect[:1].upper() + aspect[1:] if aspect.split(maxsplit=1)[0].islower() else aspect)

    def reuse(self, shape: Shape, request: Request) -> None:
        """The answer before in that shape, and what is to be made of it."""
        task_id = self.add("writing", described(shape))
        self.tasks[-1]["needs_tools"] = False
        for made in request.made:
            self.add("implementation", made, [task_id])

    def act(self, request: Request) -> None:
        """What is to be done with the result, last."""
        for action in request.actions:
            after = [self.ids[-1]] if self.tasks else []
            what = f"{action.capitalize()} the result: {request.text}" if self.tasks else request.text
            self.add("action", what, after, action=action)

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

    def _tables_speak(self, text: str) -> bool:
        said = [word.lower() for word in keywords(text).values()]
        return any(table.match(said) for table in tables_in(self.talk.source_lines))


def _add_tasks(draft: Drafting, request: Request) -> None:
    """The questions side by side; then advice, things to make, and the text that was asked for."""
    alone = not (request.aspects or request.made or request.written or request.strategy)
    alone &= not request.actions or bool(set(request.actions) - IN_PLACE)
    first = [draft.ask(aspect) for aspect in request.aspects or ([request.text] if alone else [])]
    if request.strategy:
        first.append(draft.add("strategy", request.strategy, first))
    for made in request.made:
        first.append(draft.add("implementation", made, list(first)))
    if request.written:
        draft.add("writing", request.written, first)
    elif len(draft.tasks) > 1 or (request.writing and draft.tasks):
        draft.add(
            "writing",
            f"Report: {'; '.join(aspect.rstrip('?. ') for aspect in request.aspects[:6]) or request.text}",
            first,
        )


def _add_market(draft: Drafting, market: str, request: Request) -> None:
    """The four aspects of a market, those the request names besides, the SWOT of them, the report."""
    subject = market if market.lower().startswith("the ") else f"the {market}"
    for description, role in MARKET.items():
        draft.add("research", description.format(subject), role=role)
    for aspect in [aspect for aspect in request.aspects if not is_covered(aspect, market)][:MOST_EXTRA]:
        draft.ask(aspect)
    found = draft.ids
    swot = draft.add(
        "strategy", f"SWOT of {subject}: strengths, weaknesses, opportunities, threats, and what suits whom", found
    )
    draft.add("writing", f"Report on {subject}: answer the request from the findings and the SWOT", [*found, swot])


def shape_wanted(said: str) -> Shape | None:
    """The shape in which a follow-up wants the answer before: itself, or as what is to be made or done with it."""
    if shape := shape_of(said):
        return shape
    request = understood(said)
    if request.aspects or request.written or request.strategy or not (request.made or request.actions):
        return None
    parts = re.split(r"[,;.]|\band\b|\bthen\b", said)
    return next((shape for part in parts if (shape := shape_of(part))), Shape("whole"))


def market_of(text: str) -> str:
    """The market to be analysed as a whole; empty where something else is asked for."""
    if not _MARKET.search(text):
        return ""
    found = _MARKET_OF.search(text)
    name = (found["name"] or found["other"]) if found else _MARKET.split(text)[0]
    return re.sub(r"^(?:the|a|an)\s+", "", (name or "").strip(), flags=re.IGNORECASE).strip() or "market"


def is_covered(aspect: str, market: str) -> bool:
    """Whether the usual aspects of a market take care of it, or it is the market itself."""
    usual = keywords(" ".join([market, "suits product pricing features revenue forecast", *MARKET]))
    own = keywords(aspect).keys()
    return bool(_MARKET.search(aspect) or own & (usual.keys() - keywords(market).keys()) or own <= usual.keys())


def _listed(pattern: re.Pattern[str], text: str) -> list[str]:
    found = pattern.search(text)
    return [word.strip() for word in found.group(1).split(",")] if found else []
