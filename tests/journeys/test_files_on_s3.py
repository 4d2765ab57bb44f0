"""Files in buckets of a server that speaks S3: a worker writes what another process reads, and what is refused is told.

Worker, clerk and reader are processes of their own, which share a database and the buckets and nothing else.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.services

SERVER = """
import boto3, sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
url = "http://%s:%s" % server.get_host_and_port()
s3 = boto3.client("s3", "us-east-1", endpoint_url=url, aws_access_key_id="testing", aws_secret_access_key="testing")
for name in ("docs", "runs"):
    s3.create_bucket(Bucket=name)
s3.put_object(Bucket="docs", Key="pumps/notes.md", Body=b"# Pump\\n\\nThe pump delivers 40 litres a minute.\\n")
s3.put_object(Bucket="docs", Key="pumps/old/notes.md", Body=b"# Pump\\n\\nThe old pump delivered 30.\\n")
print(url, flush=True)
for line in sys.stdin:
    found = s3.list_objects_v2(Bucket="runs").get("Contents", [])
    print(*(one["Key"] for one in found), sep=" ", flush=True)
"""
BATON = "import sys; from graph.cli import main; sys.exit(main())"
PROGRAM = """
import asyncio, sys
from graph.supervisor import open_supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec

async def act(brief, desk):
    return "Forty litres. " * 10_000 if brief.query == "Q" else "; ".join(brief.sources)

async def main(role, db, query):
    team = [AgentSpec(name="ada", role="generalist", run=act)]
    async with open_supervisor(db, team, {}, ScriptedModel([])) as sup:
        if role == "worker":
            return await sup.work(1, drain_s=5)
        plan = {"tasks": [{"id": "a", "description": "Do it."}]}
        await sup.enqueue(query, ["s3://docs/pumps/"], "t", plan=plan)
        while not (run := await sup.view("t")).has_ended:
            await asyncio.sleep(0.1)
        print(run.status, run.tasks[0].result[:200], *(one.path for one in run.artifacts), sep="|")

asyncio.run(main(*sys.argv[1:]))
"""


class Buckets:
    """The server, and processes that reach it."""

    def __init__(self, python: Path, db: str, folder: Path) -> None:
        self.python, self.db = python, db
        self.server = subprocess.Popen(
            [python, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.server.stdin
        assert self.server.stdout
        self.asked, self.told = self.server.stdin, self.server.stdout
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            "HOME": str(folder),
            "AWS_ENDPOINT_URL": next((line.strip() for line in self.told if line.startswith("http://")), ""),
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "s3/cr3t",
            "BATON_DB": db,
            "BATON_FILES": "s3://runs/baton",
            "BATON_MODEL": "offline",
        }

    def keys(self) -> list[str]:
        """What is in the bucket of runs."""
        self.asked.write("keys\n")
        self.asked.flush()
        return self.told.readline().split()

    def baton(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        """A command; a variable that is empty is not set."""
        given = {name: value for name, value in {**self.env, **env}.items() if value}
        return subprocess.run(
            [self.python, "-c", BATON, *args], env=given, capture_output=True, text=True, check=False, timeout=60
        )

    def asks(self, query: str) -> str:
        """What comes of a queued request, with a worker that is there for it alone."""
        worker = subprocess.Popen([self.python, "-c", PROGRAM, "worker", self.db, ""], env=self.env)
        try:
            asking = [str(self.python), "-c", PROGRAM, "clerk", self.db, query]
            return subprocess.check_output(asking, env=self.env, text=True, timeout=60).strip()
        finally:
            worker.terminate()
            worker.wait(timeout=60)


@pytest.fixture
def buckets(root: Path, on_postgres: str, tmp_path: Path) -> Iterator[Buckets]:
    python = root / "build" / "services" / "bin" / "python"
    if not (python.parent.parent / "installed").exists():
        pytest.skip("`make test-services` installs a server of S3, in an environment of its own")
    made = Buckets(python, on_postgres, tmp_path)
    try:
        assert made.env["AWS_ENDPOINT_URL"], "the server did not start"
        yield made
    finally:
        made.server.kill()
        made.server.communicate()


def test_what_one_worker_writes_into_a_bucket_another_reads_and_prune_deletes(buckets: Buckets) -> None:
    status, _, path = buckets.asks("Q").split("|")
    assert (status, path) == ("complete", "s3://runs/baton/artifacts/t/results/a.txt")
    assert buckets.keys() == ["baton/artifacts/t/results/a.txt"]

    told = buckets.asks("And what was there to read?").split("|")[1]
    assert [line.partition(":")[0] for line in told.split("; ")] == ["notes.md", "old/notes.md", "a.txt"]

    gone = buckets.baton("prune", "--keep-days", "0", "--files")
    assert (gone.returncode, buckets.keys()) == (0, [])
    assert "of their files below s3://runs/baton/artifacts deleted" in gone.stderr


def test_a_run_on_a_bucket_answers_with_citations_and_what_is_wrong_is_told_in_one_line(buckets: Buckets) -> None:
    asked = ["How much does the pump deliver?", "--oversight", "on_the_loop", "--thread", "t", "--sources"]
    done = buckets.baton("run", *asked, "s3://docs/pumps/notes.md")
    assert (done.returncode, done.stdout[-39:]) == (0, "s3://runs/baton/artifacts/t/report.md\n"), done.stderr
    assert "40 litres" in buckets.baton("status", "t", "--report").stdout
    assert buckets.keys() == ["baton/artifacts/t/report.md"]

    for source, env, why in (
        ("s3://nobody/docs", {}, "s3://nobody/docs does not exist (there is no such bucket)"),
        ("s3://docs/nothing", {}, "s3://docs/nothing does not exist (nothing is there)"),
        ("s3://key:s3/cr3t@docs/pumps", {}, "has a password or key in it"),
        ("s3://docs/pumps", {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "Unable to locate credentials"),
        ("gs://docs/pumps", {}, "gs:// needs a package that is not installed"),
    ):
        refused = buckets.baton("run", "Q?", "--thread", "u", "--sources", source, **env)
        assert (refused.returncode, why in refused.stderr, refused.stderr.count("\n")) == (2, True, 1), refused.stderr
        assert "s3/cr3t" not in refused.stderr

    stopped = buckets.baton("run", *asked[:-2], "u", "--sources", "s3://docs/pumps", BATON_FILES="s3://nobody/baton")
    assert (stopped.returncode, "nobody" in stopped.stderr) == (1, True), stopped.stderr
    assert "Traceback" not in stopped.stderr
