"""Which statements of others matter most for a request."""

from collections.abc import Sequence

from nodes.llm.offline.passages import Quote
from nodes.llm.offline.salience import Focus, scored
from nodes.llm.offline.statements import Statement


def by_relevance(statements: Sequence[Statement], focus: Focus) -> list[Statement]:
    """The statements that are to the point, best first."""
    quotes = _quotes(statements)
    places = {id(quote): statement for quote, statement in zip(quotes, statements, strict=True)}
    return [places[id(item.quote)] for item in scored(quotes, focus)]


def leading(statements: Sequence[Statement], focus: Focus, most: int) -> list[Statement]:
    """Up to `most` labelled statements that say most about the request, from different sections as far as they go."""
    labelled = [statement for statement in statements if statement.labels]
    ranked = by_relevance(labelled, focus) or labelled
    picks: list[Statement] = []
    for fresh in (True, False):
        for statement in ranked:
            known = {(other.task, other.trail) for other in picks}
            if (
                len(picks) < most
                and statement not in picks
                and ((statement.task, statement.trail) not in known or not fresh)
            ):
                picks.append(statement)
    return picks


def _quotes(statements: Sequence[Statement]) -> list[Quote]:
    return [
        Quote(s.words, next(iter(sorted(s.files)), ""), " ".join(s.labels), " ".join(s.trail), order // 4)
        for order, s in enumerate(statements)
    ]
