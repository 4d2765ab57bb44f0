"""Agents on a cluster of Ray on this machine: what is cancelled stops there, and what died there is not done again."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.services

STORY = """
import asyncio, importlib.util, json, os, signal, sys, time
import ray
from graph import AgentSpec, Cancel, open_supervisor
from graph.testing import ScriptedModel
from nodes.runtime.clock import SystemClock

spec = importlib.util.spec_from_file_location("example", sys.argv[1])
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)

def work(brief):
    doing = brief["task"]["description"]
    with open(os.path.join(brief["query"], doing), "a") as notes:
        print(os.getpid(), file=notes, flush=True)
    if doing == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if doing == "fail":
        raise TypeError("there is no vendor of that name")
    while doing == "last":
        try:
            time.sleep(0.1)
        except BaseException:
            pass  # it does not let itself be interrupted
    return f"{doing} is done"

async def main():
    told = {}
    team = [AgentSpec(name="ada", role="generalist", run=example.on_ray(work, num_cpus=0))]
    policy = {"max_iterations": 0, "oversight": "on_the_loop"}
    async with open_supervisor("ray.db", team, policy, ScriptedModel([])) as sup:
        for doing in ("well", "fail", "die"):
            plan = {"tasks": [{"id": "a", "description": doing}]}
            run = await sup.start(os.getcwd(), thread_id=doing, plan=plan)
            task = run.tasks[0]
            told[doing] = [task.status, task.attempts, task.result, task.error]
        plan = {"tasks": [{"id": "a", "description": "last"}]}
        running = asyncio.create_task(sup.start(os.getcwd(), thread_id="last", plan=plan))
        while not os.path.exists("last") or not open("last").read().endswith("\\n"):
            await asyncio.sleep(0.05)
        await sup.signal("last", Cancel())
        told["last"] = [(await running).status]
        pid = int(open("last").read().split()[0])
        for _ in range(600):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                told["last"].append("its process is gone")
                break
            await asyncio.sleep(0.1)
    print("told:", json.dumps(told))

for left in range(4, -1, -1):
    try:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False,
                 object_store_memory=80_000_000, _node_ip_address="127.0.0.1", _temp_dir=sys.argv[2])
        break
    except Exception:  # it gives a node half a minute to start
        ray.shutdown()
        if not left:
            raise
asyncio.run(main())
ray.shutdown()
"""


def test_what_is_cancelled_stops_on_the_cluster_and_what_died_there_is_not_done_again(
    root: Path, tmp_path: Path
) -> None:
    python = root / "build" / "services" / "bin" / "python"
    if not (python.parent.parent / "installed").exists():
        pytest.skip("`make test-services` installs Ray, in an environment of its own")
    # Without the guard of the tests: the cluster's own processes look for each other by more than 127.0.0.1.
    env = {**os.environ, "PYTHONPATH": str(root), "HOME": str(tmp_path)}
    env |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as folder:  # a socket's path has to be short
        story = [str(python), "-c", STORY, str(root / "examples" / "ray_agents" / "run.py"), folder]
        done = subprocess.run(story, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.rpartition("told: ")[2].partition("\n")[0])

    assert told["well"] == ["done", 1, "well is done", None]
    assert told["fail"][:2] == ["failed", 1]
    assert told["fail"][3] == "TypeError: there is no vendor of that name"
    assert told["die"][:2] == ["failed", 1]
    assert told["die"][3].startswith("Ray lost the work (WorkerCrashedError); how far it came is not known")
    assert len((tmp_path / "die").read_text().split()) == 1, "what a worker died of was done again"
    assert told["last"] == ["cancelled", "its process is gone"]
