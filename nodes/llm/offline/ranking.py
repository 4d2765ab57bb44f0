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


def _quotes(statements: Sequence[Statement]) -> list[Quote]:
    return [
        Quote(s.words, next(iter(sorted(s.files)), ""), " ".join(s.labels), " ".join(s.trail), order // 4)
        for order, s in enumerate(statements)
    ]
