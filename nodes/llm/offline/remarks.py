"""What a result says about itself: how sure it is, what it lacks, and the mail that came."""

from nodes.llm.offline.conversation import Conversation


def with_confidence(text: str, confidence: float) -> str:
    """The result with its last line."""
    return f"{text.strip()}\n\nConfidence: {confidence:g}"


def mail_quoted(talk: Conversation) -> str:
    """The mail that came for this agent, each under its sender; empty when there is none."""
    parts = [f"\n\nFrom {mail.attrs.get('from', 'somebody')}:\n{_as_quotation(mail.body)}" for mail in talk.all("mail")]
    return "".join(parts)


def missing_noted(talk: Conversation) -> str:
    """Which inputs did not come; empty when all did."""
    missing = talk.body("missing")
    return f"\n\nNot available, and therefore not considered: the result of {missing}." if missing else ""


def _as_quotation(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines())
