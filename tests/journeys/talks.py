"""Conversations of two or three requests on one thread, offline, and what each answer has to say."""

from dataclasses import dataclass
from pathlib import Path

DOCS = {
    "eino.md": "# Eino\n\nEino is licensed under Apache 2.0.\n\n## Maker\n\nCloudWeGo makes Eino.\n\n"
    "## Price\n\nEino is free of charge.\n",
    "langgraph.md": "# LangGraph\n\nLangGraph is licensed under MIT.\n\n## Maker\n\nLangChain makes LangGraph.\n\n"
    "## Price\n\nThe price of LangGraph is nothing; its platform costs 39 USD a seat.\n",
    "drinks.md": "# Caffeine\n\nA cup of tea has about 30 mg of caffeine.\n\nA cup of coffee has about 95 mg of "
    "caffeine.\n",
    "refunds.md": "# Annual plans\n\nThe refund policy for annual plans is thirty days, because setting "
    "up takes a month.\n\n# Monthly plans\n\nThe refund policy for monthly plans is seven days.\n",
    "lizenz.md": "# Restate\n\nDie Lizenz von Restate ist BUSL. Restate GmbH entwickelt Restate in Berlin.\n",
    "lease.md": "# Notice\n\nThe landlord must give three months' notice. The tenant must give four weeks' notice.\n",
    "staff.md": "# Keepers\n\nIda Holm is the tallest keeper.\n\n# Cars\n\nIda Holm drives a van.\n",
    "plans.csv": "plan,price,seats\nSolo,9,1\nTeam,39,10\nEnterprise,499,100\n",
}


@dataclass(frozen=True)
class Say:
    """One request: the first of a conversation, or a follow-up."""

    request: str
    has: tuple[str, ...]
    """What the report has to say."""
    task: str = ""
    """The task that it becomes, where that matters."""
    lacks: tuple[str, ...] = ()


LICENCE = Say("Which licence does Eino have?", ("Apache 2.0", "eino.md"))
PLANS = Say("List the plans and their prices", ("Solo", "Team"))
TALKS: dict[str, tuple[Say, ...]] = {
    "shorter, then as a table": (
        Say("What is the refund policy for annual plans?", ("thirty days", "seven days")),
        Say("shorter", ("thirty days", "refunds.md, line"), "The previous answer. Briefly.", ("seven days",)),
        Say("as a table", ("| Where |", "[1] |", "thirty days"), "The previous answer. As a table."),
    ),
    "a table in German": (
        LICENCE,
        Say("Bitte als Tabelle", ("| Where |", "Apache 2.0"), "The previous answer. As a table."),
    ),
    "shorter in French and Chinese": (
        LICENCE,
        Say("plus court", ("Apache 2.0",), "The previous answer. Briefly."),
        Say("做成表格", ("| Where |", "Apache 2.0"), "The previous answer. As a table."),
    ),
    "another subject": (
        LICENCE,
        Say("what about LangGraph?", ("MIT",), "Which licence does LangGraph have?"),
        Say("und Restate?", ("BUSL",), "Which licence does Restate have?"),
    ),
    "the same subject": (
        LICENCE,
        Say("who makes it?", ("CloudWeGo",), "Who makes Eino?"),
        Say("and the price?", ("free of charge",), "Price of Eino"),
    ),
    "the subject of the question before": (
        LICENCE,
        Say("and LangGraph?", ("MIT",), "Which licence does LangGraph have?"),
        Say("Who makes it?", ("LangChain",), "Who makes LangGraph?"),
    ),
    "which of these": (
        PLANS,
        Say("and which of these is the cheapest?", ("Solo (9)", "computed from the table")),
        Say("kürzer", ("Solo (9)", "computed from the table"), "The previous answer. Briefly."),
        Say("as a table", ("| Solo | 9 | [1] |", "computed from the table"), "The previous answer. As a table."),
    ),
    "what the answers name": (
        Say("Which plan is the cheapest?", ("Solo (9)",)),
        Say("and the most expensive?", ("Enterprise (499)",)),
        Say("compare the two", ("Solo; price: 9", "Enterprise; price: 499"), lacks=("no passage", "39")),
    ),
    "both answers as a table": (
        LICENCE,
        Say("and LangGraph?", ("MIT",), "Which licence does LangGraph have?"),
        Say("show me both as a table", ("| Where |", "Apache 2.0", "MIT"), "Both previous answers. As a table."),
    ),
    "a text about the answer, and nothing done with it": (
        LICENCE,
        Say("Write that up as a memo, but send it to nobody", ("Apache 2.0", "eino.md"), "The previous answer."),
    ),
    "rows as a table": (
        PLANS,
        Say("Put that into a table, please.", ("| plan | Price in plans | Where |", "| Team | 39 | [1] |")),
    ),
    "one of a kind, by its name": (
        Say("Who is the tallest keeper?", ("Ida Holm",)),
        Say("and what does she drive?", ("a van",), "What does Ida Holm drive?"),
    ),
    "another thing": (
        Say("How much notice must the landlord give?", ("three months",)),
        Say("and the tenant?", ("four weeks",), "How much notice must the tenant give?"),
    ),
    "a noun instead of another": (
        Say("How much caffeine is in tea?", ("30 mg",)),
        Say("and coffee?", ("95 mg",), "How much caffeine is in coffee?"),
    ),
    "why": (
        Say("What is the refund policy for annual plans?", ("thirty days",)),
        Say("why?", ("because setting up takes a month",), "Why: What is the refund policy for annual plans?"),
        Say("and monthly plans?", ("seven days",), "What is the refund policy for monthly plans?"),
    ),
    "in German": (
        Say("Welche Lizenz hat Restate?", ("BUSL",)),
        Say("Und wer entwickelt es?", ("Restate GmbH",)),
    ),
    "something else altogether": (
        LICENCE,
        Say("How much caffeine is in a cup of coffee?", ("95 mg",), lacks=("Apache",)),
        Say("again", ("95 mg",), "How much caffeine is in a cup of coffee?"),
    ),
}  # fmt: skip


def written(folder: Path) -> Path:
    """The documents they are about."""
    folder.mkdir()
    for name, text in DOCS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def check(say: Say, report: str, tasks: list[str]) -> None:
    """Whether an answer says what it has to."""
    missing = [words for words in say.has if words not in report]
    told = [words for words in say.lacks if words in report]
    assert (missing, told) == ([], []), f"{say.request!r}, planned as {tasks}:\n{report}"
    assert not say.task or tasks == [say.task]
