// What a program in JavaScript sees of a server, as JSON on stdout; `story.py` does the same in Python, call by call.
// node story.mjs URL FOLDER: the folder is the server's, where its agents note what they do, and wait for files.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";

const [url, folder] = process.argv.slice(2);
const client = new Client({ apiUrl: url, callerOptions: { maxRetries: 0 } });
const graph = "supervisor";
const MODES = ["values", "updates", "messages", "messages-tuple", "custom", "events", "debug", "tasks", "checkpoints"];

const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
const log = () => (existsSync(join(folder, "log")) ? readFileSync(join(folder, "log"), "utf8") : "");
const begun = async (task) => {
  while (!log().includes(`start ${task}\n`)) await pause();
};
const open = (task) => writeFileSync(join(folder, task), "");
const idle = async (thread) => {
  while ((await client.threads.get(thread)).status === "busy") await pause();
};
const starts = (task) => log().split("\n").filter((line) => line === `start ${task}`).length;
const task = (id, ...after) => ({ id, description: `Do ${id}.`, depends_on: after });
const created = async () => (await client.threads.create()).thread_id;
const waited = (thread, given) => client.runs.wait(thread, graph, { raiseError: false, ...given });
const refused = async (doing) => {
  try {
    await doing;
  } catch (error) {
    return [error.status, error.message];
  }
  return [200, ""];
};

const modes = async (streamMode) => {
  const seen = new Set();
  const stream = client.runs.stream(await created(), graph, {
    input: { query: "Mode", plan: { tasks: [task("m1"), task("m2", "m1")] } },
    streamMode,
    streamSubgraphs: true,
  });
  for await (const part of stream) seen.add(part.event);
  return [...seen].sort();
};

const assistants = async () => {
  const sets = { oversight: "in_command", max_parallel: 900 };
  const made = await client.assistants.create({ graphId: graph, name: "Harbour", context: sets });
  const id = made.assistant_id;
  const thread = await created();
  await client.runs.wait(thread, id, { input: { query: "Sail", plan: { tasks: [task("h")] } } });
  const { values } = await client.threads.getState(thread);
  const schemas = await client.assistants.getSchemas(id);
  const drawn = await client.assistants.getGraph(id, { xray: true });
  const parts = await client.assistants.getSubgraphs(id);
  const wrong = [
    await refused(client.assistants.create({ graphId: graph, context: { oversigt: "auto" } })),
    await refused(client.assistants.update(id, { context: { max_parallel: 0 } })),
    await refused(client.runs.create(thread, graph, { input: { query: "x" }, context: { oversigt: "auto" } })),
  ];
  await client.assistants.update(id, { context: { oversight: "on_the_loop" } });
  const versions = (await client.assistants.getVersions(id)).map((one) => one.version);
  const found = await client.assistants.search({ name: "Harbour" });
  await client.assistants.delete(id);
  return {
    phase: values.phase,
    policy: [values.terms.policy.oversight, values.terms.policy.max_parallel],
    about: schemas.context_schema.properties.oversight.description,
    nodes: drawn.nodes.length > 5,
    parts: Object.keys(parts),
    wrong,
    versions,
    found: found.length,
    gone: (await refused(client.assistants.get(id)))[0],
  };
};

const doubled = async (strategy) => {
  const [first, gate] = [`js-${strategy}-a`, `gate-js-${strategy}`];
  const thread = await created();
  await client.runs.create(thread, graph, { input: { query: "First", plan: { tasks: [task(first), task(gate, first)] } } });
  await begun(gate);
  const second = { input: { query: "Second", plan: { tasks: [task(`js-${strategy}-b`)] } }, multitaskStrategy: strategy };
  const [code] = await refused(client.runs.create(thread, graph, second));
  if (strategy === "rollback") await begun(`js-${strategy}-b`);
  if (strategy === "interrupt") while (starts(gate) < 2) await pause();
  open(gate);
  await idle(thread);
  const { values } = await client.threads.getState(thread);
  return {
    code,
    phase: values.phase,
    asked: values.messages.filter((one) => one.type === "human").map((one) => one.content),
    noted: values.notes ?? [],
    first: starts(first),
    second: starts(`js-${strategy}-b`),
  };
};

const forked = async () => {
  const thread = await created();
  const captain = { ...task("js-sail", "js-pack"), role: "captain" };
  await waited(thread, { input: { query: "Sail", plan: { tasks: [task("js-pack"), captain] } } });
  const before = await client.threads.getState(thread);
  const history = await client.threads.getHistory(thread, { limit: 50 });
  const at = history.findLast((one) => one.next.includes("execute"));
  await waited(thread, { input: null, checkpoint: at.checkpoint });
  const again = (await client.threads.getState(thread)).next;
  const edited = await client.threads.updateState(thread, { values: { notes: ["Mind the gap."] } });
  const settled = await refused(client.threads.updateState(thread, { values: { decisions: { x: { type: "approve" } } } }));
  const answer = { decisions: [{ type: "edit", edited_action: { name: "set sail", args: { to: "Port Ann" } } }] };
  await waited(thread, { command: { resume: answer }, checkpoint: edited.checkpoint });
  const { values, next } = await client.threads.getState(thread);
  return {
    asked: before.tasks.flatMap((one) => one.interrupts.map((asks) => asks.value.action_requests[0].name)),
    again,
    settled: settled[0],
    next,
    notes: values.notes,
    sailed: values.report.includes("edit: Port Ann"),
    packed: starts("js-pack"),
  };
};

const stored = async () => {
  await client.store.putItem(["mine", "js"], "k", { a: 1 });
  const kept = (await client.store.getItem(["mine", "js"], "k")).value;
  const rows = (await client.store.searchItems(["runs"], { limit: 1 })).items.length;
  const places = (await client.store.listNamespaces({ prefix: ["mine"] })).namespaces;
  const wrong = [
    await refused(client.store.putItem(["trust", "ada"], "k", { a: 1 })),
    await refused(client.store.deleteItem(["runs"], "k")),
  ];
  await client.store.deleteItem(["mine", "js"], "k");
  return { kept, rows, places: places.filter((one) => one[1] === "js"), wrong };
};

const ran = async () => {
  const cut = await created();
  const run = await client.runs.create(cut, graph, {
    input: { query: "Cut", plan: { tasks: [task("js-cut"), task("gate-js-cut", "js-cut")] } },
  });
  await begun("gate-js-cut");
  await client.runs.cancel(cut, run.run_id, true);
  const cancelled = (await client.runs.get(cut, run.run_id)).status;
  open("gate-js-cut");
  const onward = (await waited(cut, { input: null })).phase;
  const joined = await created();
  const slow = await client.runs.create(joined, graph, {
    input: { query: "Join", plan: { tasks: [task("gate-js-join")] } },
    streamMode: ["custom"],
    streamResumable: true,
  });
  await begun("gate-js-join");
  open("gate-js-join");
  const phase = (await client.runs.join(joined, slow.run_id)).phase;
  const kinds = [];
  for await (const part of client.runs.joinStream(joined, slow.run_id, { lastEventId: "0" }))
    if (part.event === "custom") kinds.push(part.data.kind);
  const copy = await client.threads.copy(joined);
  const copied = (await client.threads.getState(copy.thread_id)).values.phase;
  await client.threads.delete(copy.thread_id);
  const alone = await waited(null, { input: { query: "Alone", plan: { tasks: [task("js-alone")] } } });
  const asking = { tasks: [{ ...task("js-ask"), role: "captain" }] };
  const unasked = await waited(null, { input: { query: "Sail", plan: asking } });
  const batch = await client.runs.createBatch(
    ["js-b1", "js-b2"].map((id) => ({ assistantId: graph, input: { query: "Batch", plan: { tasks: [task(id)] } } })),
  );
  await begun("js-b1");
  await begun("js-b2");
  const cron = await client.crons.create(graph, { schedule: "0 0 1 1 *", input: { query: "Yearly" } });
  const crons = (await client.crons.search()).length;
  await client.crons.delete(cron.cron_id);
  return {
    cancelled,
    onward,
    cut: [starts("js-cut"), starts("gate-js-cut")],
    phase,
    kinds: [kinds[0], kinds.at(-1)],
    alone: alone.phase,
    unasked: unasked.report.includes("nobody can be asked"),
    batch: batch.length,
    crons,
    copied,
    gone: (await refused(client.threads.get(copy.thread_id)))[0],
  };
};

const told = { modes: {}, doubled: {} };
for (const mode of MODES) told.modes[mode] = await modes(mode);
told.modes.all = await modes(MODES);
told.assistants = await assistants();
for (const strategy of ["reject", "enqueue", "interrupt", "rollback"]) told.doubled[strategy] = await doubled(strategy);
told.forked = await forked();
told.stored = await stored();
told.ran = await ran();
process.stdout.write(JSON.stringify(told));
