"""Planning by rules: what is asked side by side, what builds on it after, what writes and acts on it last.

Nothing is planned that was not asked for: no synthesis, no figures, no section, no action. The analysis of a market has
the aspects that such an analysis always has (chapter 15.9).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nodes.language.following import followed
from nodes.language.requests import Request, expression_in, heeded, is_of_answer, understood
from nodes.language.shapes import PREVIOUS, Shape, shape_of
from nodes.language.subjects import capital, keywords
from nodes.language.table_schema import tables_in
from nodes.language.table_words import AGGREGATES
from nodes.llm.offline.conversation import Arguments, Conversation
from nodes.policy.orders import GIVES_OUT, ordered, plain, without_forbidden

MARKET = {
    "Market size and adoption of {}: how large is the market in USD; what do surveys say of production?": "research",
    "Competitors in {}, in figures: which framework has the most GitHub stars; which companies use it?": "analysis",
    "Product comparison in {}: licence and price; strengths and weaknesses; limits and budgets": "research",
    "Technology trends in {}: which standards and protocols emerge; durable execution as a feature": "research",
}
"""The aspects of a market analysis, and whose kind of work each is (chapter 15.9)."""

_FIGURES = re.compile(
    rf"\b(?:{'|'.join(AGGREGATES.values())}|how (?:much|large|big|old|long|heavy)|per (?:year|month)|table|figures?)\b",
    re.IGNORECASE,
)
_TEAM = re.compile(r"^[^()\n:]+\((?P<role>[^()\n]+)\)(?P<rest>.*)$", re.MULTILINE)
_MARKET = re.compile(
    r"\b(?:competitive|competitor|market|industry)[- ](?:analysis|landscape|research|study|overview|assessment)\b|"
    r"\banaly(?:[sz]e|sis of)\b[^.?]*\bmarket\b",
    re.IGNORECASE,
)
_MARKET_OF = re.compile(
    r"(?:of|for|on|in|about|analy[sz]e)\s+(?:the\s+|an?\s+)?(?P<name>[^.,:;?!\n]+?)(?=\s+and\s+\w+\s|[.,:;?!\n]|$)",
    re.IGNORECASE,
)


def plan(talk: Conversation) -> Arguments:
    """The fields of `PlanDraft` for the request and the notes that came since; what was objected to is heeded."""
    said, earlier = f"{talk.request}\n{talk.body('notes')}".strip(), talk.all("earlier")
    draft = Drafting(talk)
    shape = shape_wanted(said) if earlier else None
    text = "" if shape else followed(without_forbidden(said) or said, *talk.before) or "Say what can be said"
    # What was asked before is asked again where that is meant; what was to be done then is not done again.
    asked = replace(understood(text or said), actions=ordered(said))
    request = heeded(asked, [one.body for one in talk.all("objection")])
    if expression_in(text):
        draft.add("analysis", f"Calculate: {text}", role=draft.role_with("tools", "calculate"))
        request = Request(text)
    elif shape:
        draft.add("writing", shape.asked_of(PREVIOUS[shape.answers - 1]))
        for made in request.made:
            draft.add("implementation", made, draft.ids[:1])
    elif market := market_of(text):
        _add_market(draft, market, request)
    else:
        _add_tasks(draft, request)
    if request.shape and draft.tasks:
        draft.tasks[-1]["description"] = request.shape.asked_of(str(draft.tasks[-1]["description"]))
    for action in request.actions:
        is_of_result = bool(draft.tasks) and action in GIVES_OUT
        what = f"{action.capitalize()} the result: {request.text}" if is_of_result else request.text
        draft.add("action", what, draft.ids[-1:], action=action)
    complexity = round(min(1.0, 0.09 + 0.11 * len(draft.tasks)), 2)
    return {"tasks": list(draft.tasks), "complexity": complexity, "dynamic": False, "communicates": False}


@dataclass
class Drafting:
    """A plan in the making: tasks are numbered as they come, and get roles that the team has."""

    talk: Conversation
    tasks: list[Arguments] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def add(self, kind: str, description: str, after: Sequence[str] = (), *, role: str = "", action: str = "") -> None:
        """Another task. Without sources nobody can look anything up, and a question needs no tools."""
        answers = kind in ("research", "analysis") and not self.talk.source_lines and not expression_in(description)
        task: Arguments = {
            "id": f"t{len(self.ids) + 1}",
            "description": description[:4000],
            "role": "generalist" if answers else role or self.role_with("kinds", kind),
            "kind": "general" if answers else kind,
            "depends_on": list(after),
            "action": action,
            "needs_tools": not answers and not description.startswith(PREVIOUS),
        }
        self.tasks.append(task)
        self.ids.append(str(task["id"]))

    def ask(self, aspect: str) -> None:
        """A question to the sources: for the analyst where it asks for figures and a table speaks of it."""
        said = [word.lower() for word in keywords(aspect).values()]
        is_table = _FIGURES.search(plain(aspect)) and any(one.match(said) for one in tables_in(self.talk.source_lines))
        is_small = aspect.split(maxsplit=1)[0].islower()
        self.add("analysis" if is_table else "research", capital(aspect) if is_small else aspect)

    def role_with(self, what: str, name: str) -> str:
        """The role of which the team names this kind of work, or this tool, first of all; else one called like it."""
        team = _TEAM.finditer(self.talk.body("team"))
        lists = {one["role"]: one["rest"].partition(f"{what}: ")[2].partition(";")[0].split(", ") for one in team}
        have = [role for role, names in lists.items() if name in names]
        called = [role for role in lists if role.startswith(name[:4])]  # research: the researcher
        return min(have, key=lambda role: lists[role].index(name), default=[*called, "generalist"][0])


def _add_tasks(draft: Drafting, request: Request) -> None:
    """The questions side by side; then advice, things to make, and the text that was asked for."""
    is_open = not (request.aspects or request.made or request.written or request.strategy)
    is_open &= not request.actions or bool(set(request.actions) & GIVES_OUT)
    for aspect in request.aspects or ([request.text] if is_open else []):
        draft.ask(aspect)
    for kind, said in [("strategy", request.strategy), *(("implementation", made) for made in request.made)]:
        if said:
            draft.add(kind, said, draft.ids)
    if request.written:
        draft.add("writing", request.written, draft.ids)
    elif len(draft.tasks) > 1 or (request.writing and draft.tasks):
        about = "; ".join(aspect.rstrip("?. ") for aspect in request.aspects[:6]) or request.text
        draft.add("writing", f"Report: {about}", draft.ids)


def _add_market(draft: Drafting, market: str, request: Request) -> None:
    """The four aspects of a market, up to four that the request names besides, the SWOT of them, the report."""
    for description, kind in MARKET.items():
        draft.add("research", description.format(market), role=draft.role_with("kinds", kind))
    for aspect in request.aspects[:4]:
        if not _MARKET.search(aspect) and keywords(aspect).keys() - keywords(f"{market} {' '.join(MARKET)}").keys():
            draft.ask(aspect)
    swot = f"SWOT of {market}: strengths, weaknesses, opportunities, threats, and what suits whom"
    draft.add("strategy", swot, draft.ids)
    draft.add("writing", f"Report on {market}: answer the request from the findings and the SWOT", draft.ids)


def shape_wanted(said: str) -> Shape | None:
    """The shape in which a follow-up wants the answer before: itself, or as what is to be made or done with it."""
    if shape := shape_of(said):
        return shape
    request = understood(said)
    asked = [*request.aspects, *filter(None, [request.written, request.strategy])]
    if not all(map(is_of_answer, asked)) or not (asked or request.made or request.actions):
        return None
    parts = re.split(r"[,;.]|\band\b|\bthen\b", said)
    return next((shape for part in parts if (shape := shape_of(part))), Shape("whole"))


def market_of(text: str) -> str:
    """The market to be analysed as a whole (`the market for tea`); empty where something else is asked for."""
    if not _MARKET.search(text):
        return ""
    found = _MARKET_OF.search(text)
    name = found["name"] if found else _MARKET.split(text)[0].strip() or "market"
    return f"the {name}" if name.lower().endswith("market") else f"the {name} market"
