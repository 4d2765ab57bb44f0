"""The analysis of a market: which aspects it always has."""

import re

from nodes.llm.offline.words import keywords

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
