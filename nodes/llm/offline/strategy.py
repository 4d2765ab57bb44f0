"""Strategy: what the inputs found, arranged into strengths, weaknesses, opportunities and threats by cue words.

Which statements of others matter most for a request.
"""

import re
from collections.abc import Sequence

from nodes.llm.offline.conversation import Call, Conversation, Reply, mail_quoted, missing_noted, with_confidence
from nodes.llm.offline.research import as_statement, focus_of, quotes_of, research
from nodes.llm.offline.salience import Focus, Scored, scored
from nodes.llm.offline.sentences import Quote
from nodes.llm.offline.statements import Statement, bullets, deduplicated
from nodes.llm.offline.words import joined, keywords, title_of
from nodes.llm.offline.writing import ADVICE, inputs_of

MOST = 3
"""Statements of one kind."""
CLAUSE = 14
"""Words of a statement that a recommendation repeats."""
SOUGHT = {
    "Strengths": "strength advantage best mature",
    "Weaknesses": "weakness limitation drawback lacks",
    "Opportunities": "opportunity growth demand adoption forecast",
    "Threats": "threat risk competition regulation failure",
}
"""What it searches the sources for besides."""
CUES = {
    "Threats": (
        r"threat|risk|compet(?:itor|ition|ing)|regulat|attack|vulnerab|secur|declin|fail|cancel|lock-in|crowded|commodit|"
        r"legal|complian|uncertain|abandon|warn|injection|breach|obsolete|deprecat|shortage|scrutin|hype"
    ),
    "Weaknesses": (
        r"weak|lack|limit|drawback|slow|complex|steep|difficult|hard(?:er)? to|cannot|can't|does not|do not|missing|"
        r"immature|expensive|overhead|verbose|costly|bug|fragile|lose|loses|without|poor|only|downside|disadvantage|manual"
    ),
    "Opportunities": (
        r"opportunit|grow|forecast|expect|expand|emerg|demand|adopt|increas|rising|will|potential|trend|future|cagr|"
        r"invest|upcoming|roadmap|plan(?:s|ned)? to|new market|by 20\d\d|projected|enterprise"
    ),
    "Strengths": (
        r"advantage|strong|strength|robust|mature|lead(?:s|er|ing)|widely|proven|reliab|fast|durab|flexib|"
        r"open[- ]source|popular|best|excel|support|save|saves|reduc|efficien|suited|production|free|easy|largest"
    ),
}
"""Beginnings of words that speak for a kind, in the order in which ties are decided: the warning counts."""
SHOWN = ("Strengths", "Weaknesses", "Opportunities", "Threats")
COUNSEL = {
    "Strengths": "Build on",
    "Weaknesses": "Make up for",
    "Opportunities": "Pursue",
    "Threats": "Guard against",
}

_OUTSPOKEN = re.compile(
    r"\b(?:strength|advantage|weakness|drawback|limitation|disadvantage|opportunit|threat|risk)", re.IGNORECASE
)
_DIGIT = re.compile(r"\d")
_CUES = {kind: re.compile(rf"\b(?:{pattern})", re.IGNORECASE) for kind, pattern in CUES.items()}


def strategise(talk: Conversation) -> Reply:
    """The inputs as a SWOT with what follows from it; without inputs, what the sources say."""
    statements = [statement for statement in inputs_of(talk) if statement.labels]
    if not statements:
        return research(talk)
    if calls := _searches(talk):
        return calls
    focus = focus_of(talk)
    found = [as_statement(Scored(quote, 0.0, frozenset())) for quote in quotes_of(talk) if _is_outspoken(quote)]
    swot = arranged(deduplicated([*statements, *found]), focus)
    parts = [f"## {title_of(talk.task)}"]
    parts += [f"### {kind}\n\n{bullets(swot[kind]) or 'The inputs name none.'}" for kind in SHOWN]
    parts.append(f"### {ADVICE}\n\n{recommendations(swot)}")
    sure = 0.75 if sum(bool(found) for found in swot.values()) >= 3 else 0.62
    return with_confidence("\n\n".join(parts) + missing_noted(talk) + mail_quoted(talk), sure)


def arranged(statements: Sequence[Statement], focus: Focus) -> dict[str, list[Statement]]:
    """The statements by what their cue words speak for: outspoken ones first, then those to the point."""
    ranked = by_relevance(statements, focus)
    ranked += [statement for statement in statements if statement not in ranked]
    found: dict[str, list[Statement]] = {kind: [] for kind in SHOWN}
    for statement in sorted(ranked, key=lambda s: -max(_cues(kind, s) for kind in CUES)):
        counts = {kind: _cues(kind, statement) for kind in CUES}
        kind = max(counts, key=lambda k: counts[k])
        if counts[kind] and len(found[kind]) < MOST:
            found[kind].append(statement)
    return found


def recommendations(swot: dict[str, list[Statement]]) -> str:
    """One piece of advice for each kind, from its first statement; and where the evidence is thick or thin."""
    lines = [
        f"- {COUNSEL[kind]}: {clause(found[0].words)} {' '.join(found[0].labels)}"
        for kind, found in swot.items()
        if found
    ]
    empty = [kind.lower() for kind, found in swot.items() if not found]
    if empty:
        lines.append(f"- Nothing that was found speaks of {joined(empty)}: look further there before deciding.")
    return "\n".join(lines) or "- The inputs do not support any."


def clause(sentence: str) -> str:
    """The beginning of a sentence, up to where it may be cut."""
    words = sentence.split()
    if len(words) <= CLAUSE:
        return " ".join(words)
    cut = next((n for n in range(CLAUSE, 6, -1) if words[n - 1].endswith((",", ";", ":"))), CLAUSE)
    return " ".join(words[:cut]).rstrip(",;:") + " …"


def _searches(talk: Conversation) -> list[Call]:
    if talk.rounds or not talk.has("search") or not talk.source_lines:
        return []
    subject = " ".join(list(keywords(talk.request).values())[:5])
    return [Call("search", {"query": f"{words} {subject}", "limit": 6}) for words in SOUGHT.values()]


def _is_outspoken(quote: Quote) -> bool:
    """Whether it says itself what it is (a weakness, a risk), or says it in figures."""
    return bool(_OUTSPOKEN.search(" ".join(quote.text.split()[:5]))) or bool(_DIGIT.search(quote.text))


def _cues(kind: str, statement: Statement) -> int:
    """How many different cues speak for a kind; one that names it at the start counts for four; figures have none."""
    if statement.is_computed:
        return 0
    found = {cue.lower() for cue in _CUES[kind].findall(statement.words)}
    opening = _OUTSPOKEN.search(" ".join(statement.words.split()[:5]))
    return len(found) + 3 * bool(opening and _CUES[kind].match(opening.group()))


def by_relevance(statements: Sequence[Statement], focus: Focus) -> list[Statement]:
    """The statements that are to the point, best first."""
    quotes = _quotes(statements)
    places = {id(quote): statement for quote, statement in zip(quotes, statements, strict=True)}
    return [places[id(item.quote)] for item in scored(quotes, focus)]


def _quotes(statements: Sequence[Statement]) -> list[Quote]:
    return [
        Quote(s.words, next(iter(sorted(s.files)), ""), " ".join(s.labels), " ".join(s.trail), order // 4)
        for order, s in enumerate(statements)
    ]
