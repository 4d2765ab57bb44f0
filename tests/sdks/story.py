"""What a program in Python sees of a server, as plain data; `story.mjs` does the same in JavaScript, call by call."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, get_args

from httpx import HTTPStatusError
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import MultitaskStrategy, StreamMode

GRAPH = "supervisor"
MODES: list[StreamMode] = [
    "values",
    "updates",
    "messages",
    "messages-tuple",
    "custom",
    "events",
    "debug",
    "tasks",
    "checkpoints",
]


class Story:
    """Told to `client`; `folder` is the server's, where its agents note what they do, and wait for files."""

    def __init__(self, client: LangGraphClient, folder: Path) -> None:
        self._client: Any = client
        self._folder = folder

    async def tell(self) -> dict[str, Any]:
        """All of it."""
        return {
            "modes": {mode: await self.modes([mode]) for mode in MODES} | {"all": await self.modes(MODES)},
            "assistants": await self.assistants(),
            "doubled": {strategy: await self.doubled(strategy) for strategy in get_args(MultitaskStrategy)},
            "forked": await self.forked(),
            "stored": await self.stored(),
            "ran": await self.ran(),
        }

    async def modes(self, modes: list[StreamMode]) -> list[str]:
        """The kinds of parts that a stream of these modes has."""
        given = {"query": "Mode", "plan": {"tasks": [task("m1"), task("m2", "m1")]}}
        thread = await self._created()
        stream = self._client.runs.stream(thread, GRAPH, input=given, stream_mode=modes, stream_subgraphs=True)
        return sorted({part.event async for part in stream})

    async def assistants(self) -> dict[str, Any]:
        """Settings that hold for an assistant's runs, within the server's bounds."""
        assistants, runs = self._client.assistants, self._client.runs
        sets = {"oversight": "in_command", "max_parallel": 900}
        made = (await assistants.create(GRAPH, name="Harbour", context=sets))["assistant_id"]
        thread = await self._created()
        await runs.wait(thread, made, input={"query": "Sail", "plan": {"tasks": [task("h")]}})
        values = (await self._client.threads.get_state(thread))["values"]
        schemas = await assistants.get_schemas(made)
        drawn = await assistants.get_graph(made, xray=True)
        parts = await assistants.get_subgraphs(made)
        wrong = [
            await refused(assistants.create(GRAPH, context={"oversigt": "auto"})),
            await refused(assistants.update(made, context={"max_parallel": 0})),
            await refused(runs.create(thread, GRAPH, input={"query": "x"}, context={"oversigt": "auto"})),
        ]
        await assistants.update(made, context={"oversight": "on_the_loop"})
        versions = [one["version"] for one in await assistants.get_versions(made)]
        found = await assistants.search(name="Harbour")
        await assistants.delete(made)
        return {
            "phase": values["phase"],
            "policy": [values["terms"]["policy"][name] for name in sets],
            "about": schemas["context_schema"]["properties"]["oversight"]["description"],
            "nodes": len(drawn["nodes"]) > 5,
            "parts": [*parts],
            "wrong": wrong,
            "versions": versions,
            "found": len(found),
            "gone": (await refused(assistants.get(made)))[0],
        }

    async def doubled(self, strategy: MultitaskStrategy) -> dict[str, Any]:
        """A second request while the first one is at work."""
        first, gate, second = f"py-{strategy}-a", f"gate-py-{strategy}", f"py-{strategy}-b"
        thread = await self._created()
        given = {"query": "First", "plan": {"tasks": [task(first), task(gate, first)]}}
        await self._client.runs.create(thread, GRAPH, input=given)
        await self._begun(gate)
        later = {"query": "Second", "plan": {"tasks": [task(second)]}}
        code, _ = await refused(self._client.runs.create(thread, GRAPH, input=later, multitask_strategy=strategy))
        await self._begun(second if strategy == "rollback" else gate, 2 if strategy == "interrupt" else 1)
        self._open(gate)
        await self._idle(thread)
        values = (await self._client.threads.get_state(thread))["values"]
        return {
            "code": code,
            "phase": values["phase"],
            "asked": [one["content"] for one in values["messages"] if one["type"] == "human"],
            "noted": values.get("notes") or [],
            "first": self._starts(first),
            "second": self._starts(second),
        }

    async def forked(self) -> dict[str, Any]:
        """On from a checkpoint of the history, an edited state, and an answer with other arguments."""
        threads = self._client.threads
        thread = await self._created()
        captain = {**task("py-sail", "py-pack"), "role": "captain"}
        await self._waited(thread, input={"query": "Sail", "plan": {"tasks": [task("py-pack"), captain]}})
        before = await threads.get_state(thread)
        at = [one for one in await threads.get_history(thread, limit=50) if "execute" in one["next"]][-1]
        await self._waited(thread, input=None, checkpoint=at["checkpoint"])
        again = (await threads.get_state(thread))["next"]
        edited = await threads.update_state(thread, {"notes": ["Mind the gap."]})
        settled = await refused(threads.update_state(thread, {"decisions": {"x": {"type": "approve"}}}))
        action = {"name": "set sail", "args": {"to": "Port Ann"}}
        answer = {"decisions": [{"type": "edit", "edited_action": action}]}
        await self._waited(thread, command={"resume": answer}, checkpoint=edited["checkpoint"])
        after = await threads.get_state(thread)
        asked = [asks["value"]["action_requests"][0]["name"] for one in before["tasks"] for asks in one["interrupts"]]
        return {
            "asked": asked,
            "again": again,
            "settled": settled[0],
            "next": after["next"],
            "notes": after["values"]["notes"],
            "sailed": "edit: Port Ann" in after["values"]["report"],
            "packed": self._starts("py-pack"),
        }

    async def stored(self) -> dict[str, Any]:
        """Rows of one's own, and Baton's, which are there to be read."""
        store = self._client.store
        await store.put_item(["mine", "py"], "k", {"a": 1})
        kept = (await store.get_item(["mine", "py"], "k"))["value"]
        rows = (await store.search_items(["runs"], limit=1))["items"]
        places = (await store.list_namespaces(prefix=["mine"]))["namespaces"]
        wrong = [
            await refused(store.put_item(["trust", "ada"], "k", {"a": 1})),
            await refused(store.delete_item(["runs"], "k")),
        ]
        await store.delete_item(["mine", "py"], "k")
        return {"kept": kept, "rows": len(rows), "places": [one for one in places if one[1] == "py"], "wrong": wrong}

    async def ran(self) -> dict[str, Any]:
        """Runs that are cancelled and go on, joined, without a thread, several at once, at times, and copied."""
        runs, threads, crons = self._client.runs, self._client.threads, self._client.crons
        cut = await self._created()
        given = {"query": "Cut", "plan": {"tasks": [task("py-cut"), task("gate-py-cut", "py-cut")]}}
        run = await runs.create(cut, GRAPH, input=given)
        await self._begun("gate-py-cut")
        await runs.cancel(cut, run["run_id"], wait=True)
        cancelled = (await runs.get(cut, run["run_id"]))["status"]
        self._open("gate-py-cut")
        onward = (await self._waited(cut, input=None))["phase"]
        joined = await self._created()
        slow = await runs.create(
            joined,
            GRAPH,
            input={"query": "Join", "plan": {"tasks": [task("gate-py-join")]}},
            stream_mode=["custom"],
            stream_resumable=True,
        )
        await self._begun("gate-py-join")
        self._open("gate-py-join")
        phase = (await runs.join(joined, slow["run_id"]))["phase"]
        parts = runs.join_stream(joined, slow["run_id"], last_event_id="0")
        kinds = [part.data["kind"] async for part in parts if part.event == "custom"]
        copy = (await self._client.http.post(f"/threads/{joined}/copy", json=None))["thread_id"]
        copied = (await threads.get_state(copy))["values"]["phase"]
        await threads.delete(copy)
        alone = await self._waited(None, input={"query": "Alone", "plan": {"tasks": [task("py-alone")]}})
        asking = {"tasks": [{**task("py-ask"), "role": "captain"}]}
        unasked = await self._waited(None, input={"query": "Sail", "plan": asking})
        several = [{"query": "Batch", "plan": {"tasks": [task(name)]}} for name in ("py-b1", "py-b2")]
        batch = await runs.create_batch([{"assistant_id": GRAPH, "input": one} for one in several])
        await self._begun("py-b1")
        await self._begun("py-b2")
        cron = await crons.create(GRAPH, schedule="0 0 1 1 *", input={"query": "Yearly"})
        due = await crons.search()
        await crons.delete(cron["cron_id"])
        return {
            "cancelled": cancelled,
            "onward": onward,
            "cut": [self._starts("py-cut"), self._starts("gate-py-cut")],
            "phase": phase,
            "kinds": [kinds[0], kinds[-1]],
            "alone": alone["phase"],
            "unasked": "nobody can be asked" in unasked["report"],
            "batch": len(batch),
            "crons": len(due),
            "copied": copied,
            "gone": (await refused(threads.get(copy)))[0],
        }

    async def _created(self) -> str:
        return str((await self._client.threads.create())["thread_id"])

    async def _waited(self, thread: str | None, **given: Any) -> Any:
        return await self._client.runs.wait(thread, GRAPH, raise_error=False, **given)

    async def _begun(self, name: str, times: int = 1) -> None:
        while self._starts(name) < times:  # noqa: ASYNC110 # another process
            await asyncio.sleep(0.05)

    async def _idle(self, thread: str) -> None:
        while (await self._client.threads.get(thread))["status"] == "busy":  # noqa: ASYNC110 # another process
            await asyncio.sleep(0.05)

    def _open(self, name: str) -> None:
        (self._folder / name).touch()

    def _starts(self, name: str) -> int:
        log = self._folder / "log"
        return log.read_text("utf-8").splitlines().count(f"start {name}") if log.exists() else 0


def task(name: str, *after: str) -> dict[str, Any]:
    """A task of a plan."""
    return {"id": name, "description": f"Do {name}.", "depends_on": [*after]}


async def refused(doing: Coroutine[Any, Any, Any]) -> list[Any]:
    """The code and the text with which it was refused; 200 where it was not."""
    try:
        await doing
    except HTTPStatusError as error:
        return [error.response.status_code, error.response.text]
    return [200, ""]
