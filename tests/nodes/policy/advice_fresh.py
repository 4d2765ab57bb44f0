"""180 cases that were written after the advisor: see `advice_cases` for their form."""

from tests.nodes.policy.advice_cases import AGENTS, Case

COFFEE = "Analyze the coffee market"
MEMO = "Write a memo about remote work"
TABLE = "Compare SQLite and DuckDB"
TRIP = "Plan a conference in Vienna"
MINUTES = "Summarize the minutes of the board meeting"
WHO = "Which universities teach robotics?"
FIX = "Review the code of the parser"
TEXT = "Translate the manual into Spanish"

SAME = [
    ("other subject", COFFEE, "Analyze the tea market"),
    ("other subject", COFFEE, "Analyze the market for solar roofs"),
    ("other subject", COFFEE, "Analyze the second-hand car market"),
    ("other subject", COFFEE, "Analyze the video game market"),
    ("other subject", MEMO, "Write a memo about parental leave"),
    ("other subject", MEMO, "Write a memo about office plants"),
    ("other subject", MEMO, "Write a memo about the four-day week"),
    ("other subject", TABLE, "Compare Kafka and RabbitMQ"),
    ("other subject", TABLE, "Compare React and Svelte"),
    ("other subject", TABLE, "Compare Vienna and Graz"),
    ("other subject", TRIP, "Plan a conference in Lisbon"),
    ("other subject", TRIP, "Plan a conference in New York"),
    ("other subject", MINUTES, "Summarize the minutes of the staff meeting"),
    ("other subject", WHO, "Which universities teach astronomy?"),
    ("other subject", WHO, "Which universities teach marine biology?"),
    ("other subject", FIX, "Review the code of the scheduler"),
    ("other subject", FIX, "Review the code of the login page"),
    ("other subject", TEXT, "Translate the brochure into Spanish"),
    ("other subject", TEXT, "Translate the manual into Polish"),
    ("other subject", "Explain how glaciers form", "Explain how pearls form"),
    ("other subject", "List the exports of Chile", "List the exports of Norway"),
    ("other subject", "Estimate the cost of a new roof", "Estimate the cost of a new kitchen"),
    ("other subject", "What is the population of Peru?", "What is the population of Ghana?"),
    ("paraphrase", COFFEE, "Please analyze the tea market"),
    ("paraphrase", COFFEE, "Can you do a market analysis for tea?"),
    ("paraphrase", COFFEE, "Carry out an analysis of the tea market"),
    ("paraphrase", COFFEE, "Give me an analysis of the tea market"),
    ("paraphrase", COFFEE, "Investigate the tea market"),
    ("paraphrase", COFFEE, "Study the tea market in depth"),
    ("paraphrase", MEMO, "Draft a memo on parental leave"),
    ("paraphrase", MEMO, "Please compose a memo about parental leave"),
    ("paraphrase", MEMO, "I would like a memo about parental leave"),
    ("paraphrase", TABLE, "Do a comparison of Kafka and RabbitMQ"),
    ("paraphrase", TABLE, "Please compare Kafka with RabbitMQ"),
    ("paraphrase", TABLE, "Contrast Kafka and RabbitMQ"),
    ("paraphrase", MINUTES, "Write a summary of the minutes of the staff meeting"),
    ("paraphrase", MINUTES, "Condense the minutes of the staff meeting"),
    ("paraphrase", TRIP, "Organize a conference in Lisbon"),
    ("paraphrase", TEXT, "I need a translation of the brochure into Spanish"),
    ("paraphrase", FIX, "Check the code of the scheduler"),
    ("numbers", "List the 5 largest lakes of Canada", "List the 8 largest lakes of Sweden"),
    ("numbers", "Write 2 poems about rain", "Write 6 poems about snow"),
    ("numbers", "Calculate 5 % of 1200", "Calculate 7.5 % of 88"),
    ("numbers", "Analyze the coffee market in 2023", "Analyze the tea market in 2025"),
    ("numbers", "Forecast the sales of bikes for 2026", "Forecast the sales of scooters for 2030"),
    ("numbers", "Summarize the 3 reports on safety", "Summarize the 12 reports on noise"),
    ("language", "Analysiere den Kaffeemarkt", "Analysiere den Teemarkt"),
    ("language", COFFEE, "Analysiere den Markt für Tee"),
    ("language", COFFEE, "Analyse le marché du thé"),
    ("language", COFFEE, "Analiza el mercado del té"),
    ("language", "Vergleiche Kafka und RabbitMQ", "Vergleiche React und Svelte"),
    ("language", TABLE, "Vergleiche Kafka und RabbitMQ"),
    ("language", TABLE, "Compara Kafka y RabbitMQ"),
    ("language", "分析咖啡市场", "分析茶叶市场"),
    ("language", "Résume le rapport de mars", "Résume le rapport de mai"),
    ("language", "コーヒー市場を分析してください", "お茶市場を分析してください"),
]
OTHERWISE = [
    ("other task", COFFEE, "Delete the coffee market analysis"),
    ("other task", COFFEE, "Publish the coffee market analysis"),
    ("other task", COFFEE, "Translate the coffee market analysis into German"),
    ("other task", COFFEE, "Write a poem about the coffee market"),
    ("other task", COFFEE, "Who leads the coffee market?"),
    ("other task", COFFEE, "Forecast the coffee market"),
    ("other task", MEMO, "Send the memo about remote work to all staff"),
    ("other task", MEMO, "Shorten the memo about remote work"),
    ("other task", MEMO, "Summarize the memo about remote work"),
    ("other task", TABLE, "Install SQLite and DuckDB"),
    ("other task", TABLE, "Explain SQLite and DuckDB"),
    ("other task", TABLE, "Migrate SQLite to DuckDB"),
    ("other task", TRIP, "Cancel the conference in Vienna"),
    ("other task", TRIP, "Book a flight to Vienna"),
    ("other task", MINUTES, "Translate the minutes of the board meeting"),
    ("other task", MINUTES, "Approve the minutes of the board meeting"),
    ("other task", WHO, "Explain robotics"),
    ("other task", WHO, "Which robots teach at universities?"),
    ("other task", FIX, "Rewrite the code of the parser"),
    ("other task", FIX, "Document the code of the parser"),
    ("other task", TEXT, "Print the manual in Spanish"),
    ("other task", "List the exports of Chile", "Compare the exports of Chile and Peru"),
    ("negation", COFFEE, "Don't analyze the tea market"),
    ("negation", COFFEE, "You must not analyze the tea market"),
    ("negation", COFFEE, "Do anything but analyze the tea market"),
    ("negation", MEMO, "Please do not write a memo about parental leave"),
    ("negation", TABLE, "Never compare Kafka and RabbitMQ"),
    ("negation", TRIP, "Stop planning the conference in Lisbon"),
    ("negation", TEXT, "Do not translate the brochure into Spanish"),
    ("negation", MINUTES, "There is no need to summarize the minutes of the staff meeting"),
    ("substring", COFFEE, "Analyze the coffee machine at the supermarket"),
    ("substring", COFFEE, "Analyze the marketability of my novel"),
    ("substring", MEMO, "Write a memory allocator"),
    ("substring", MEMO, "Underwrite a memorial about work"),
    ("substring", TRIP, "Plant a tree in Vienna"),
    ("substring", TABLE, "Compartmentalize SQLite and DuckDB"),
    ("substring", FIX, "Preview the codex of the parser"),
    ("substring", MINUTES, "Sum the minutes of the meeting"),
    ("numbers", "Calculate 5 % of 1200", "Rank 5 % of 1200 customers"),
    ("numbers", "Write 2 poems about rain", "Delete 2 poems about rain"),
    ("language", COFFEE, "Lösche die Analyse des Kaffeemarkts"),
    ("language", COFFEE, "Analysiere den Teemarkt nicht"),
    ("language", COFFEE, "Supprime l'analyse du marché du café"),
    ("language", COFFEE, "Traduce el análisis del mercado"),
    ("language", TABLE, "Vergleiche Kafka und RabbitMQ auf keinen Fall"),
    ("language", "分析咖啡市场", "翻译咖啡市场的分析"),
    ("unrelated", COFFEE, "Make me a coffee"),
    ("unrelated", COFFEE, "What time is it in Tokyo?"),
    ("unrelated", MEMO, "Sort these names"),
    ("unrelated", TABLE, "Write a bedtime story"),
    ("unrelated", TRIP, "Calculate 17 * 23"),
    ("unrelated", FIX, "Describe the Alps"),
    ("unrelated", WHO, "Which shoes go with a suit?"),
    ("unrelated", TEXT, "Turn the light off"),
]
RUNS = [
    Case("failed", COFFEE, "Analyze the tea market", False, "---"),
    Case("failed", MEMO, "Write a memo about parental leave", False, "+--"),
    Case("failed", TABLE, "Compare Kafka and RabbitMQ", False, "+++--"),
    Case("failed", TRIP, "Plan a conference in Lisbon", False, "++++-"),
    Case("lucky", COFFEE, "Analyze the tea market", False, "+"),
    Case("lucky", MEMO, "Write a memo about parental leave", False, "--+"),
    Case("lucky", TEXT, "Translate the brochure into Spanish", False, "+"),
    Case("recovered", COFFEE, "Analyze the tea market", True, "--++++++++++"),
    Case("recovered", MEMO, "Write a memo about parental leave", True, "-+++++++++"),
    Case("steady", WHO, "Which universities teach astronomy?", True, "++++++++"),
]
REPORT = "Write a report about solar panels"
DATABASES = "Compare Postgres and MySQL"
NOTES = "Summarize the meeting notes of March"
DEMAND = "Forecast the demand for electric cars in 2026"
PORTS = "List the 10 largest ports of Europe"
SUPPLIERS = "Who are the main suppliers of lithium?"
BRIEFING = "Prepare a briefing on the new data protection law"
OFFERS = "Evaluate three offers for office furniture"
GUIDE = "Translate the user guide into Italian"
LOGO = "Design a logo for a bakery"
DATES = "Extract all dates from the contract"
LATER = [
    Case("other subject", AGENTS, "Analyze the quantum computing market", True),
    Case("other subject", AGENTS, "Analyze the pet food market", True),
    Case("other subject", REPORT, "Write a report about coral reefs", True),
    Case("other subject", DATABASES, "Compare Terraform and Pulumi", True),
    Case("other subject", NOTES, "Summarize the meeting notes of the finance committee", True),
    Case("other subject", DEMAND, "Forecast the demand for heat pumps in 2027", True),
    Case("other subject", PORTS, "List the 10 largest airports of Asia", True),
    Case("other subject", SUPPLIERS, "Who are the main suppliers of cobalt?", True),
    Case("other subject", BRIEFING, "Prepare a briefing on the new packaging law", True),
    Case("other subject", OFFERS, "Evaluate three offers for company cars", True),
    Case("other subject", GUIDE, "Translate the user guide into Japanese", True),
    Case("other subject", LOGO, "Design a logo for a bookshop", True),
    Case("other subject", DATES, "Extract all dates from the lease", True),
    Case("paraphrase", AGENTS, "Could you please analyze the market for humanoid robots?", True),
    Case("paraphrase", AGENTS, "I need a thorough market analysis of cloud gaming", True),
    Case("paraphrase", AGENTS, "Perform a market analysis on vertical farming", True),
    Case("paraphrase", AGENTS, "Look into the market for smart glasses", True),
    Case("paraphrase", REPORT, "Please draft a report on wind farms", True),
    Case("paraphrase", REPORT, "I'd like you to write a detailed report on tidal power", True),
    Case("paraphrase", DATABASES, "What's the difference between Terraform and Pulumi? Compare them.", True),
    Case("paraphrase", DATABASES, "Give me a comparison between Rust and Go", True),
    Case("paraphrase", NOTES, "Sum up the meeting notes of May", True),
    Case("paraphrase", NOTES, "Give a short summary of the meeting notes from May", True),
    Case("paraphrase", DEMAND, "Predict the demand for e-bikes in 2028", True),
    Case("numbers", PORTS, "List the 25 largest ports of Africa", True),
    Case("numbers", OFFERS, "Evaluate five offers for office chairs", True),
    Case("language", AGENTS, "Analysiere den Markt für Wärmepumpen", True),
    Case("language", AGENTS, "Analyse le marché des vélos électriques", True),
    Case("language", REPORT, "Schreibe einen Bericht über Gezeitenkraft", True),
    Case("language", NOTES, "Resume las notas de la reunión de mayo", True),
    Case("other task", AGENTS, "Write a haiku about the AI Agent market", False),
    Case("other task", AGENTS, "Send the AI Agent market analysis to Bob", False),
    Case("other task", AGENTS, "Publish the AI Agent market analysis", False),
    Case("other task", AGENTS, "Archive the analysis of the AI Agent market", False),
    Case("other task", AGENTS, "Who wrote the analysis of the AI Agent market?", False),
    Case("other task", REPORT, "Proofread the report about solar panels", False),
    Case("other task", REPORT, "Shorten the report about solar panels", False),
    Case("other task", REPORT, "Install solar panels", False),
    Case("other task", DATABASES, "Migrate from Postgres to MySQL", False),
    Case("other task", DATABASES, "Back up Postgres and MySQL", False),
    Case("other task", NOTES, "Delete the meeting notes of March", False),
    Case("other task", DEMAND, "Calculate the tax on electric cars in 2026", False),
    Case("other task", PORTS, "Book a ship from the largest port of Europe", False),
    Case("other task", GUIDE, "Print the user guide in Italian", False),
    Case("other task", DATES, "Extend the contract by two years", False),
    Case("negation", AGENTS, "Don't analyze the AI Agent market", False),
    Case("negation", AGENTS, "Analyze anything but not the AI Agent market", False),
    Case("negation", REPORT, "Stop writing the report about solar panels", False),
    Case("negation", DATABASES, "Never compare Postgres and MySQL again", False),
    Case("substring", AGENTS, "Psychoanalyze the AI agent", False),
    Case("substring", AGENTS, "Supermarket opening hours", False),
    Case("substring", DATABASES, "Find a comparator for SQL types", False),
    Case("substring", REPORT, "Reporters without borders: who are they?", False),
    Case("substring", PORTS, "Listen to the 10 largest choirs", False),
    Case("unrelated", AGENTS, "Plan a breakfast menu", False),
    Case("unrelated", REPORT, "What time is it in Lima?", False),
    Case("failed", AGENTS, "Analyze the RPA market", False, "---"),
    Case("failed", AGENTS, "Analyze the RPA market", False, "+++--"),
    Case("lucky", AGENTS, "Analyze the RPA market", False, "+"),
    Case("lucky", REPORT, "Write a report about coral reefs", False, "-+"),
]
"""Sixty more, of every kind."""
FRESH = [*(Case(*one, True) for one in SAME), *(Case(*one, False) for one in OTHERWISE), *RUNS, *LATER]
UNRELATED = """\
Plan a breakfast menu
What is the capital of Mongolia?
Fix the login bug
Translate this letter into Dutch
Write a haiku about frost
Book a table for two
Explain recursion to a child
Sort the list of guests
Convert 12 miles to kilometres
Who wrote Faust?
Remind me to call Ann
Design a logo for a bakery
Count the vowels in this sentence
Which bus goes to the airport?
Summarize the last chapter
Draw a chart of rainfall
Find a synonym for brave
Rename the variables of the module
Is it going to rain tomorrow?
Delete all temporary files
Compare two mattresses
List the moons of Saturn
Write unit tests for the parser
How do I boil an egg?
Send flowers to my mother
Recommend a novel
Estimate the weight of a whale
Review my essay
Plan the marketing of an AI agent
Sell the AI agent on the market
Say hello""".splitlines()
"""To whoever has analyzed markets."""
