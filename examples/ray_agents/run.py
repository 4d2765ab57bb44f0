"""Agents whose work is done by Ray: a function of theirs runs on any machine of a cluster, the run stays here.

    pip install 'baton[ray]'
    python examples/ray_agents/run.py

`on_ray` is all there is to it. A task that is cancelled, paused, taken over or too slow ends its remote function, which
giving up the wait for it alone would not; and Ray does nothing twice by itself: what died half-way is for Baton, and
whoever watches, to decide.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

try:
    import ray
    from ray import exceptions
except ModuleNotFoundError:
    sys.exit("agents on Ray need the extra `ray`: pip install 'baton[ray]'")

from graph import AgentSpec, Plan, Task, open_supervisor
from graph.testing import ScriptedModel
from state.errors import AgentFailed
from state.run import Run

LOST = (
    exceptions.NodeDiedError,
    exceptions.ObjectLostError,
    exceptions.OutOfMemoryError,
    exceptions.TaskCancelledError,
    exceptions.WorkerCrashedError,
)


def on_ray(work: Callable[[dict[str, Any]], Any], **options: Any) -> Callable[..., Awaitable[Any]]:
    """`work` as an agent's `run`: it gets the brief as plain data, and returns what an agent returns.

    `options` are those of `ray.remote` (`num_cpus`, `num_gpus`, `resources`, `runtime_env`).
    """
    remote = ray.remote(max_retries=0, retry_exceptions=False, **options)(work)

    async def run(brief: Any, _: Any) -> Any:
        reference = remote.remote(brief.model_dump(mode="json"))
        try:
            return await reference
        except exceptions.RayTaskError as error:  # its own text is a traceback of another machine
            raise error.cause from None
        except LOST as error:
            kind = type(error).__name__
            raise AgentFailed(f"Ray lost the work ({kind}); how far it came is not known", "permanent") from None
        finally:
            ray.cancel(reference, force=True)  # ends its process; nothing where it has come to its end

    return run


def count(brief: dict[str, Any]) -> str:
    """What a worker of the cluster does."""
    return f"{brief['task']['description']!r} has {len(brief['task']['description'].split())} words."


def sum_up(brief: dict[str, Any]) -> str:
    """What another one makes of it."""
    return " ".join(brief["inputs"].values())


async def carry_out(folder: Path) -> Run:
    """A run of two tasks beside each other, and one that builds on both."""
    team = [
        AgentSpec(name="counter", role="counter", run=on_ray(count)),
        AgentSpec(name="writer", role="writer", run=on_ray(sum_up)),
    ]
    plan = Plan(
        tasks=[
            Task(id="short", description="Few words.", role="counter"),
            Task(id="long", description="A few more words than that.", role="counter"),
            Task(id="report", description="Report on both.", role="writer", depends_on=["short", "long"]),
        ]
    )
    async with open_supervisor(folder / "baton.db", team, {"max_iterations": 0}, ScriptedModel([])) as sup:
        return await sup.start("Count the words.", plan=plan)


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    with tempfile.TemporaryDirectory() as place:
        print(asyncio.run(carry_out(Path(place))).report)
    ray.shutdown()
