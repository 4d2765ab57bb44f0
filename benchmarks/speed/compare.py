"""Measures Baton beside what people would pick instead, and says so in a table.

    python benchmarks/speed/compare.py                    Baton, and LangGraph's @task with a scheduler of one's own
    python benchmarks/speed/compare.py --peers FOLDER     all peers too, by the interpreters of the environments there
                                                          (`ALONE`); keeps it in results.json, and table and plot in
                                                          README.md

Every candidate runs in a process of its own, one after the other. Peers are used as their own documentation says.
"""

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- speed: written by make bench-peers -->", "<!-- end of speed -->"
LATENCY_S = 0.1

NAMES = {
    "baton": ("Baton", "baton", "SQLite"),
    "langgraph_task": ("LangGraph @task, own scheduler", "langgraph", "SQLite"),
    "peers.state_graph": ("LangGraph StateGraph", "langgraph", "SQLite"),
    "peers.supervisor": ("langgraph-supervisor", "langgraph-supervisor", "memory"),
    "peers.agents_as_tools": ("create_agent, agents as tools", "langchain", "memory"),
    "peers.deep_agents": ("deepagents", "deepagents", "memory"),
    "peers.openai_agents": ("OpenAI Agents SDK", "openai-agents", "memory"),
    "peers.autogen_flow": ("AutoGen GraphFlow", "autogen-agentchat", "memory"),
    "peers.agent_framework_flow": ("Agent Framework workflow", "agent-framework-core", "memory"),
    "peers.pydantic_graph_joins": ("Pydantic Graph", "pydantic-graph", "memory"),
    "peers.google_adk": ("Google ADK", "google-adk", "memory"),
    "peers.smol_agents": ("smolagents", "smolagents", "memory"),
    "peers.crewai_flow": ("CrewAI Flow", "crewai", "memory"),
}
"""By module: what people call it, its package, and where it keeps what was done."""
ALONE = {"peers.crewai_flow": "crewai"}
"""The environments of those that cannot be installed beside the others, which are in `peers`."""

Row = dict[str, Any]


def lines_of(candidate: str, python: str, latency_s: float) -> list[Row]:
    """What `run.py` tells of one candidate."""
    command = [python, str(HERE / "run.py"), candidate, "3", str(latency_s)]
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "OTEL_SDK_DISABLED": "true"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def version_of(package: str, python: str) -> str:
    """The version of a package that an interpreter has."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def figures(rows: list[Row]) -> Row:
    """What is shown of one candidate; None where it did not get there."""
    by_plan = {row["plan"]: row for row in rows if "median_s" in row and not row["latency_s"]}
    drawn = [row["median_s"] / row["critical_s"] for name, row in by_plan.items() if name.startswith("random")]
    led = {row["plan"]: row["median_s"] for row in rows if "median_s" in row and row["latency_s"]}

    def seconds(plan: str) -> float | None:
        return by_plan[plan]["median_s"] if plan in by_plan else None

    def each_ms(plan: str) -> float | None:
        row = by_plan.get(plan)
        return 1000 * (row["median_s"] - row["critical_s"]) / row["tasks"] if row else None

    return {
        "skew": seconds("skew"),
        "skew with a model": led.get("skew"),
        "market": seconds("market"),
        "random, mean": mean(drawn) if drawn else None,
        "random, worst": max(drawn, default=None),
        "wide50": seconds("wide50"),
        "chain20, ms each": each_ms("chain20"),
        "wide1000, ms each": each_ms("wide1000"),
        "chain1000, ms each": each_ms("chain1000"),
        "one, ms": each_ms("one"),
    }


def table(results: dict[str, Row]) -> str:
    """The figures in Markdown."""
    columns = list(next(iter(results.values()))["figures"])
    lines = ["| | kept in | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for name, result in results.items():
        shown = (f"{value:.3g}" if value is not None else "–" for value in result["figures"].values())
        lines.append(f"| {NAMES[name][0]} {result['version']} | {NAMES[name][2]} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def plot(results: dict[str, Row]) -> str:
    """How much longer than its critical path each takes, over the random plans."""
    shown = {NAMES[name][0]: one["figures"]["random, mean"] for name, one in results.items()}
    shown = {name: value for name, value in shown.items() if value is not None}
    names = ", ".join(f'"{name}"' for name in shown)
    values = ", ".join(f"{value:.2f}" for value in shown.values())
    return (
        "```mermaid\nxychart-beta horizontal\n"
        '    title "Times the critical path, mean of 50 random plans (1 is the least there can be)"\n'
        f"    x-axis [{names}]\n    y-axis 0 --> {max(shown.values()) + 0.2:.1f}\n    bar [{values}]\n```"
    )


def measured(python_of: dict[str, str]) -> dict[str, Row]:
    """All candidates, one after the other."""
    results = {}
    for candidate, python in python_of.items():
        print(f"measuring {NAMES[candidate][0]}", file=sys.stderr, flush=True)
        rows = [row for latency in (0.0, LATENCY_S) for row in lines_of(candidate, python, latency)]
        version = version_of(NAMES[candidate][1], python)
        results[candidate] = {"version": version, "figures": figures(rows), "rows": rows}
    return results


def _python_of(name: str, folder: str) -> str:
    is_peer = name.startswith("peers")
    return str(Path(folder, ALONE.get(name, "peers"), "bin", "python")) if is_peer else sys.executable


def main() -> None:
    """Measure, print, and keep it where peers were measured."""
    peers = sys.argv[2] if sys.argv[1:2] == ["--peers"] else ""
    names = NAMES if peers else ("baton", "langgraph_task")
    results = measured({name: _python_of(name, peers) for name in names})
    print(table(results))
    if not peers:
        return
    about = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "processors": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[1], 1),
    }
    (HERE / "results.json").write_text(json.dumps({**about, "results": results}, indent=1) + "\n", "utf-8")
    said = "Measured {date} with Python {python} on {processors} processors, at a load of {load}.".format(**about)
    before, _, rest = README.read_text("utf-8").partition(BEGIN)
    shown = "\n\n".join([BEGIN, said, table(results), plot(results), END])
    README.write_text(before + shown + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
