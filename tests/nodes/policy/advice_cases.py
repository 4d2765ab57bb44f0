"""Past requests with how they went, a new one, and whether the advisor is to propose the plan of the past ones.

`+` is a run that was complete, `-` one that failed; three good ones unless the case says otherwise.
"""

from typing import NamedTuple


class Case(NamedTuple):
    """One case."""

    kind: str
    past: str
    new: str
    advised: bool
    outcomes: str = "+++"


AGENTS = "Analyze the AI Agent market"
ALL = [
    # The same is asked about something else.
    Case("other subject", AGENTS, "Analyze the RPA market", True),
    Case("other subject", AGENTS, "Analyze the electric vehicle market", True),
    Case("other subject", AGENTS, "Analyze the market for electric bicycles", True),
    Case("other subject", "Write a report about solar panels", "Write a report about wind turbines", True),
    Case("other subject", "Compare Postgres and MySQL", "Compare Redis and Memcached", True),
    Case("other subject", "Summarize the meeting notes of March", "Summarize the meeting notes of April", True),
    Case("other subject", "Translate the contract into German", "Translate the contract into French", True),
    Case("other subject", "Explain how photosynthesis works", "Explain how nuclear fusion works", True),
    Case("other subject", "What is the size of the RPA market?", "What is the size of the coffee market?", True),
    Case("other subject", "List the competitors of Tesla", "List the competitors of Spotify", True),
    Case("other subject", "Plan a trip to Rome", "Plan a trip to Oslo", True),
    Case("other subject", "Write a haiku about autumn", "Write a haiku about the sea", True),
    Case("other subject", "Which companies use LangGraph?", "Which companies use Temporal?", True),
    Case("other subject", "Forecast the revenue of Apple for 2025", "Forecast the revenue of Siemens for 2026", True),
    # The same subject, another task.
    Case("other task", AGENTS, "Delete the AI Agent market analysis", False),
    Case("other task", AGENTS, "Summarize the AI Agent market analysis", False),
    Case("other task", AGENTS, "Translate the AI Agent market analysis into French", False),
    Case("other task", AGENTS, "Write a poem about the AI Agent market", False),
    Case("other task", AGENTS, "Send the AI Agent market analysis to Bob", False),
    Case("other task", AGENTS, "Build an AI agent", False),
    Case("other task", AGENTS, "How large is the AI Agent market?", False),
    Case("other task", "Compare Postgres and MySQL", "Install Postgres and MySQL", False),
    Case("other task", "Write a report about solar panels", "Delete the report about solar panels", False),
    Case("other task", "Write a report about solar panels", "Review the report about solar panels", False),
    Case("other task", "Plan a trip to Rome", "Cancel the trip to Rome", False),
    Case("other task", "Plan a trip to Rome", "Book a trip to Rome", False),
    Case("other task", "List the competitors of Tesla", "Rank the competitors of Tesla", False),
    Case("other task", "Translate the contract into German", "Sign the contract in German", False),
    Case("other task", AGENTS, "Forecast the AI Agent market", False),
    Case("other task", AGENTS, "Analyze the AI Agent source code", False),
    # The same, said otherwise.
    Case("paraphrase", AGENTS, "Please analyse the RPA market", True),
    Case("paraphrase", AGENTS, "Could you analyze the RPA market for me?", True),
    Case("paraphrase", AGENTS, "Conduct a market analysis of RPA", True),
    Case("paraphrase", AGENTS, "Do an analysis of the RPA market", True),
    Case("paraphrase", AGENTS, "I need an analysis of the RPA market", True),
    Case("paraphrase", AGENTS, "Evaluate the RPA market", True),
    Case("paraphrase", AGENTS, "Examine the RPA industry", True),
    Case("paraphrase", AGENTS, "We would like a thorough market analysis for RPA, thanks", True),
    Case("paraphrase", "Write a report about solar panels", "Draft a report on wind turbines", True),
    Case("paraphrase", "Write a report about solar panels", "Prepare a report on heat pumps", True),
    Case("paraphrase", "Compare Postgres and MySQL", "Give me a comparison of Redis and Memcached", True),
    Case("paraphrase", "Summarize the meeting notes of March", "Sum up the meeting notes of April", True),
    Case("paraphrase", "List the competitors of Tesla", "Enumerate the competitors of Ford", True),
    # Denied.
    Case("negation", AGENTS, "Do not analyze the RPA market", False),
    Case("negation", AGENTS, "Don't analyze the RPA market", False),
    Case("negation", AGENTS, "Stop analyzing the RPA market", False),
    Case("negation", AGENTS, "Never analyze the RPA market again", False),
    Case("negation", "Write a report about solar panels", "Write no report about wind turbines", False),
    Case("negation", AGENTS, "Explain why we should not analyze the RPA market", False),
    Case("negation", "Compare Postgres and MySQL", "Please do not compare Redis and Memcached", False),
    Case("negation", AGENTS, "Analyze everything except the RPA market", False),
    # Words inside words, words with another meaning.
    Case("substring", AGENTS, "Analyze the supermarket receipts", False),
    Case("substring", AGENTS, "Analyze the marketing email", False),
    Case("substring", AGENTS, "Psychoanalyze the market vendor in my novel", False),
    Case("substring", "Plan a trip to Rome", "Planetary orbits: list them", False),
    Case("substring", "Write a report about solar panels", "Rewrite the airport code", False),
    Case("substring", "List the competitors of Tesla", "Listen to the competitors of Tesla", False),
    Case("substring", "Compare Postgres and MySQL", "Prepare Postgres and MySQL", False),
    Case("substring", AGENTS, "Reanalyzer marketplace plugin: install it", False),
    # Other numbers.
    Case("numbers", "List the top 5 competitors of Tesla", "List the top 10 competitors of Ford", True),
    Case("numbers", "Calculate 17 % of 230", "Calculate 12 % of 90", True),
    Case("numbers", "Write 3 haiku about autumn", "Write 5 haiku about winter", True),
    Case("numbers", "Analyze the AI Agent market in 2024", "Analyze the RPA market in 2026", True),
    Case("numbers", "Calculate 17 % of 230", "List 17 % of 230 people", False),
    # Other languages.
    Case("language", "Analysiere den Markt für KI-Agenten", "Analysiere den Markt für RPA", True),
    Case("language", AGENTS, "Analysiere den RPA-Markt", True),
    Case("language", AGENTS, "Analyse le marché des robots", True),
    Case("language", AGENTS, "Lösche die Analyse des KI-Agenten-Markts", False),
    Case("language", AGENTS, "Supprime l'analyse du marché des agents IA", False),
    Case("language", AGENTS, "Plane ein Frühstücksmenü", False),
    Case("language", AGENTS, "Analysiere den RPA-Markt nicht", False),
    Case("language", AGENTS, "Borra el análisis del mercado de agentes", False),
    Case("language", AGENTS, "Analiza el mercado de robots", True),
    Case("language", "分析人工智能代理市场", "分析机器人市场", True),
    Case("language", "分析人工智能代理市场", "删除人工智能代理市场的分析", False),
    Case("language", "AIエージェント市場を分析してください", "RPA市場を分析してください", True),
    Case("language", "AIエージェント市場を分析してください", "RPA市場を分析しないでください", False),
    # How it went.
    Case("failed", AGENTS, "Analyze the RPA market", False, "---"),
    Case("failed", AGENTS, "Analyze the RPA market", False, "+-"),
    Case("failed", AGENTS, "Analyze the RPA market", False, "+++-"),
    Case("failed", AGENTS, "Analyze the RPA market", False, "++++++--"),
    Case("failed", AGENTS, "Analyze the RPA market", False, "++-+-"),
    Case("lucky", AGENTS, "Analyze the RPA market", False, "+"),
    Case("lucky", AGENTS, "Analyze the AI Agent market", False, "+"),
    Case("lucky", AGENTS, "Analyze the RPA market", False, "-+"),
    Case("recovered", AGENTS, "Analyze the RPA market", True, "-++++++++"),
    # Nothing to do with it.
    Case("unrelated", AGENTS, "Plan a breakfast menu", False),
    Case("unrelated", AGENTS, "What is the capital of France?", False),
    Case("unrelated", AGENTS, "Fix the login bug", False),
    Case("unrelated", AGENTS, "Analyze this poem", False),
    Case("unrelated", AGENTS, "Go to the market and buy apples", False),
    Case("unrelated", AGENTS, "Market the AI agent", False),
    Case("unrelated", AGENTS, "Hello", False),
    Case("unrelated", "Write a report about solar panels", "Write a function that sorts a list", False),
    Case("unrelated", "Which companies use LangGraph?", "Which wine goes with fish?", False),
    Case("unrelated", "Explain how photosynthesis works", "Explain why the sky is blue", False),
]
HELD_OUT = ALL[3::4]
"""Not looked at while the lexicon and the weights were chosen."""
TUNING = [case for case in ALL if case not in HELD_OUT]
