"""What the systems are measured on: requests over three corpora, and scripted minds that fail, forget and dawdle.

Nothing here needs Baton. A request asks for parts; each part has key facts, sentences of the corpus. Whatever happens
is drawn from the seed, the request and how often the same was asked before: every system meets the same agents, who
fail at the same first try.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("httpx", "typer", "rich", "hypothesis", "rapidfuzz", "jsonschema", "pydantic", "langgraph", "openai")
"""Whose descriptions, as installed, are the third corpus."""
FAMILIES = {
    "Write a report about {}": ("purpose", "design", "limits", "cost", "users", "history"),
    "Analyze the {} market": ("size", "vendors", "prices", "risks", "buyers", "rules", "trends", "outlook"),
}
"""What is asked, and what it takes to answer it: the parts that a good plan has."""
SUBJECTS = {
    "market": "Spectra Shannon CrewAI AutoGen Eino LangGraph Temporal Airflow Prefect Dagster".split(),  # noqa: SIM905
    "documents": "leases fences mailboxes signals rollback takeover recruits budgets audits snapshots".split(),  # noqa: SIM905
    "packages": "httpx typer rich hypothesis rapidfuzz jsonschema pydantic openai orjson ruff".split(),  # noqa: SIM905
}
EARLIER = "drones bicycles robots batteries heatpumps tractors satellites lasers sensors turbines".split()  # noqa: SIM905
"""What the ten runs were about that are learned from."""
REQUESTS = 14
"""Of each corpus."""


@dataclass(frozen=True)
class Part:
    """One thing that it takes to answer a request."""

    name: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Request:
    """What is asked."""

    id: str
    text: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Chances:
    """How the minds are; shares from 0 to 1, and simulated seconds."""

    fails: float = 0.2
    """A worker's call ends in an error."""
    unhelpful: float = 0.05
    """It says nothing of use, and says so politely."""
    forgets: float = 0.05
    """It leaves one of the facts of a part out."""
    gaps: int = 1
    """Parts that the planner overlooks, of each request."""
    notices: float = 0.85
    """A reviewer sees what is missing: a part, or a result of no use. What is half there, half as often."""
    nags: float = 0.01
    """A reviewer sends back what was good."""
    alone: float = 0.6
    """Share of the parts that one agent covers in one go."""
    fastest_s: float = 2.0
    slowest_s: float = 12.0


@dataclass
class Spent:
    """What one system used for one request."""

    calls: int = 0
    tokens: int = 0


@dataclass
class World:
    """The minds, as one system meets them at one request."""

    seed: int
    request: Request
    chances: Chances
    second: float
    """Real seconds that a simulated one takes."""
    spent: Spent = field(default_factory=Spent)
    asked: Counter[str] = field(default_factory=Counter)

    def draw(self, what: str) -> float:
        """From 0 to 1, the same for the same."""
        digest = sha256(f"{self.seed}|{self.request.id}|{what}".encode()).digest()
        return int.from_bytes(digest[:7]) / 2**56

    def begin(self, key: str, prompt: str) -> tuple[str, float]:
        """Count a call: the key of this try, and the real seconds that it takes."""
        self.asked[key] += 1
        tried = f"{key}#{self.asked[key]}"
        span = self.chances.slowest_s - self.chances.fastest_s
        self.spent.calls += 1
        self.spent.tokens += len(prompt) // 4
        return tried, self.second * (self.chances.fastest_s + span * self.draw(f"latency {tried}") ** 2)

    async def call(self, key: str, prompt: str) -> str:
        """The same, and wait for it."""
        tried, seconds = self.begin(key, prompt)
        await asyncio.sleep(seconds)
        return tried

    def said(self, text: str) -> str:
        """Count what was said."""
        self.spent.tokens += len(text) // 4
        return text

    def plan(self, prompt: str) -> tuple[float, list[Part]]:
        """The real seconds that planning takes, and the parts that the planner thinks of."""
        tried, seconds = self.begin("plan", prompt)
        parts = list(self.request.parts)
        for n in range(min(self.chances.gaps, len(parts) - 1)):
            parts.pop(int(self.draw(f"gap {n} {tried}") * len(parts)))
        self.said("x" * 120 * len(parts))
        return seconds, parts

    async def work(self, name: str, prompt: str) -> str:
        """What a worker finds out about a part.

        Raises:
            ConnectionError: it failed.
        """
        tried = await self.call(f"work {name}", prompt)
        if self.draw(f"fails {tried}") < self.chances.fails:
            raise ConnectionError("the worker's server is overloaded")
        if self.draw(f"unhelpful {tried}") < self.chances.unhelpful:
            return self.said(UNHELPFUL)
        part = self.part(name)
        facts = list(part.facts)
        if len(facts) > 1 and self.draw(f"forgets {tried}") < self.chances.forgets:
            facts.pop(int(self.draw(f"which {tried}") * len(facts)))
        return self.said(f"{part.name}: {' '.join(facts)}")

    async def write(self, results: list[str], prompt: str) -> str:
        """One answer from the results.

        Raises:
            ConnectionError: it failed.
        """
        tried = await self.call("write", prompt)
        if self.draw(f"fails {tried}") < self.chances.fails:
            raise ConnectionError("the writer's server is overloaded")
        return self.said("\n\n".join(result for result in results if result != UNHELPFUL) or UNHELPFUL)

    async def alone(self, prompt: str) -> str:
        """What one agent makes of the whole request."""
        tried = await self.call("alone", prompt)
        if self.draw(f"fails {tried}") < self.chances.fails:
            raise ConnectionError("the agent's server is overloaded")
        known = [part for part in self.request.parts if self.draw(f"{part.name} {tried}") < self.chances.alone]
        return self.said("\n\n".join(f"{part.name}: {' '.join(part.facts)}" for part in known) or UNHELPFUL)

    def faults(self, results: Mapping[str, str]) -> dict[str, str]:
        """What a reviewer says against results, by part; the answer as a whole has the name ""."""
        found = {}
        for name, text in results.items():
            missing = name and not all(fact in text for fact in self.part(name).facts)
            is_bad = UNHELPFUL in text
            if (is_bad and self.notices(name)) or (missing and not is_bad and self.notices(name, 0.5)):
                found[name] = f"Say more of the “{name}”." if name else "Answer the request."
            elif not is_bad and self.draw(f"nags {name} {self.asked['review']}") < self.chances.nags:
                found[name] = "Say it better."
        return found

    def notices(self, what: str, share: float = 1.0) -> bool:
        """Whether whoever reviews sees it this time."""
        return self.draw(f"notices {what} {self.asked['review']}") < share * self.chances.notices

    def part(self, name: str) -> Part:
        """The part of that name."""
        return next(part for part in self.request.parts if part.name == name)

    def part_in(self, text: str) -> str:
        """The part that a task is about; empty if none."""
        return next((part.name for part in self.request.parts if f"“{part.name}”" in text), "")


UNHELPFUL = "I am afraid I cannot say much about that at the moment."


def facts_in(request: Request, answer: str) -> tuple[int, int]:
    """Key facts that stand in an answer, and how many there are."""
    flat = " ".join(answer.split())
    facts = [fact for part in request.parts for fact in part.facts]
    return sum(fact in flat for fact in facts), len(facts)


def requests() -> list[Request]:
    """All requests: the same ones for the same sources."""
    found = []
    for corpus, texts in corpora().items():
        pool = [facts for text in texts for facts in _facts(text)]
        found += [_request(corpus, n, SUBJECTS[corpus], pool) for n in range(REQUESTS)]
    return found


def earlier() -> list[Request]:
    """Ten requests of the same kinds about other things."""
    pool = [facts for text in corpora()["market"] for facts in _facts(text)]
    return [_request("earlier", n, EARLIER, pool) for n in range(len(EARLIER))]


def _request(corpus: str, n: int, subjects: list[str], pool: list[tuple[str, ...]]) -> Request:
    form = [*FAMILIES][n % len(FAMILIES)]
    text = form.format(subjects[n % len(subjects)])
    parts = (Part(name, pool[(n * 11 + k) % len(pool)]) for k, name in enumerate(FAMILIES[form]))
    return Request(f"{corpus} {n}", text, tuple(parts))


def corpora() -> dict[str, list[str]]:
    """The texts: reports on a market, the documents of this project, descriptions of installed packages."""
    market = [*(ROOT / "examples" / "market" / "sources").glob("*.md")]
    docs = [*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"]
    packages = [str(distribution(name).metadata.get_payload()) for name in PACKAGES]
    return {
        "market": [path.read_text("utf-8") for path in sorted(market)],
        "documents": [path.read_text("utf-8") for path in sorted(docs)],
        "packages": packages,
    }


def _facts(text: str) -> list[tuple[str, ...]]:
    """Two or three telling sentences of each paragraph that has them."""
    found = []
    plain = re.sub(r"```.*?```|<[^>]*>", " ", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n(?=[-*#|] )", plain):
        line = " ".join(block.strip("-*#| \n").split())
        sentences = [one.strip() for one in re.findall(r"[^.!?|]+[.!?](?=\s|$)", line)]
        telling = [one for one in sentences if 40 <= len(one) <= 240 and len(re.findall(r"[A-Za-z]{3,}", one)) >= 5]
        if len(telling) > 1:
            found.append(tuple(telling[:3]))
    return found
