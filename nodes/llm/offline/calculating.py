"""Arithmetic that somebody asks for in words or signs."""

import re

from nodes.llm.offline.conversation import Call, Conversation, Reply
from nodes.llm.offline.remarks import with_confidence

_ASKED = re.compile(
    r"\b(?:what(?:'s| is| are)|calculate|compute|evaluate|how much is|work out|solve)\b|=\s*\??\s*$", re.IGNORECASE
)
_SPOKEN = [
    (re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|percent) of (\d+(?:\.\d+)?)", re.IGNORECASE), r"\1 / 100 * \2"),
    (re.compile(r"(?:the )?square root of (\d+(?:\.\d+)?)", re.IGNORECASE), r"sqrt(\1)"),
    (re.compile(r"\b(?:times|multiplied by)\b|(?<=\d)\s*[x×]\s*(?=\d)", re.IGNORECASE), " * "),
    (re.compile(r"\bdivided by\b|÷", re.IGNORECASE), " / "),
    (re.compile(r"\bplus\b", re.IGNORECASE), " + "),
    (re.compile(r"\bminus\b", re.IGNORECASE), " - "),
    (re.compile(r"\bto the power of\b|\^", re.IGNORECASE), " ** "),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
]
_EXPRESSION = re.compile(r"(?:sqrt)?[(\d.][\d\s.+\-*/()%]*[\d)]")
_OPERATION = re.compile(r"[\d)]\s*(?:\*\*|[-+*/%])\s*[(\d]|sqrt\(")


def expression_in(text: str) -> str:
    """The arithmetic asked for in `text`, or nothing: years with a dash between them are no subtraction."""
    said = text.strip()
    for pattern, sign in _SPOKEN:
        said = pattern.sub(sign, said)
    found = [match.group().strip() for match in _EXPRESSION.finditer(said)]
    best = max((one for one in found if _OPERATION.search(one)), key=len, default="")
    bare = said.strip(" ?.=") == best
    dates = re.fullmatch(r"\d{4}\s*[-/]\s*\d{1,4}(?:\s*[-/]\s*\d{1,2})?", best)
    return " ".join(best.split()) if best and not dates and (bare or _ASKED.search(text)) else ""


def calculate(talk: Conversation) -> Reply:
    """Ask the tool, and report its answer."""
    call = Call("calculate", {"expression": expression_in(talk.task) or expression_in(talk.request)})
    answer = next((done for done in talk.done if done.tool == "calculate"), None)
    if answer is None:
        return [call]
    return f"FAILED: {answer.text}" if answer.failed else with_confidence(answer.text, 0.95)
