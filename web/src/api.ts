// Talking to the server: what is true, events as they happen, and the verbs.
import * as store from "./store";
import type { Event, Listed, Passage, View } from "./types";

let source: EventSource | null = null;
let soon = 0;
/** Questions to the server about the open run: how many were sent, and the last one whose answer is shown. */
let sent = 0;
let taken = 0;
/** Whether the list of runs is to be read too; whether events have come while the run was being read. */
let runsToo = false;
let late = false;

const path = (thread: string, rest = ""): string => `/api/runs/${encodeURIComponent(thread)}${rest}`;

/** What the server refused, with the status it gave. */
class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Seconds that the server has for an answer: a start may read many sources first; one that is gone is not waited for. */
const PATIENCE = { live: 120, still: 120, gone: 10, out: 10 };

async function asked<T>(url: string, init?: RequestInit): Promise<T> {
  const patience = init?.method === "POST" ? PATIENCE[store.connected.value] : 30;
  const done = await fetch(url, { ...init, signal: AbortSignal.timeout(patience * 1000) });
  const told: unknown = await done.json().catch(() => ({}));
  if (!done.ok) {
    const detail = (told as { detail?: unknown }).detail;
    throw new Refused(typeof detail === "string" ? detail : `the server says ${done.status}`, done.status);
  }
  return told as T;
}

/** Say that the server does not answer, or does not let this page in any more. */
function lost(error: unknown): void {
  if (error instanceof Refused && error.status !== 401 && error.status !== 403) store.trouble.value = error.message;
  else store.connected.value = error instanceof Refused ? "out" : "gone";
}

/** The list that is being read, and whether it is to be read once more behind that. */
let listing: Promise<void> | null = null;
let again = false;

export function loadRuns(): Promise<void> {
  again = listing !== null;
  listing ??= readRuns().finally(() => {
    listing = null;
    if (again) void loadRuns();
  });
  return listing;
}

/** Reads the list every five seconds, and less often from a server that takes its time. */
export async function keepListed(): Promise<void> {
  for (;;) {
    const began = performance.now();
    await loadRuns();
    await new Promise((done) => setTimeout(done, Math.max(5000, 4 * (performance.now() - began))));
  }
}

async function readRuns(): Promise<void> {
  try {
    const listed = await asked<Listed>("/api/runs?limit=50");
    store.setListed(listed);
    if (store.connected.value !== "live" && (!source || source.readyState === EventSource.OPEN)) store.connected.value = source ? "live" : "still";
    const shown = store.view.value?.run;
    const same = [...listed.needs_you, ...listed.running, ...listed.ended].find((one) => one.thread_id === shown?.thread_id);
    // a run can come to stand still without an event
    if (same && same.status !== shown?.status) void loadRun();
  } catch (error) {
    lost(error);
  }
}

/** The next page of runs that have ended. */
export async function loadMore(): Promise<void> {
  const known = store.listed.value;
  if (!known?.next) return;
  try {
    const more = await asked<Listed>(`/api/runs?limit=50&offset=${known.next}`);
    store.older.value = [...store.older.value, ...more.ended];
    store.listed.value = { ...known, next: more.next };
  } catch (error) {
    lost(error);
  }
}

export async function loadRun(): Promise<void> {
  const thread = store.thread.value;
  if (!thread) return;
  const number = ++sent;
  const known = store.view.value?.run.thread_id === thread ? store.lastSeq() : 0;
  try {
    const view = await asked<View>(path(thread, `?after=${known}`));
    if (thread !== store.thread.value || number < taken) return;
    taken = number;
    store.setView(view);
  } catch (error) {
    lost(error);
  }
}

const TELLING = new Set(["approval_requested", "approval_answered", "control_changed", "run_finished"]);

/** Read again in a moment: events come in bursts, and a large run takes its time. */
function reload(withRuns: boolean): void {
  runsToo ||= withRuns;
  if (soon) return;
  soon = window.setTimeout(async () => {
    const began = performance.now();
    const both = runsToo;
    runsToo = late = false;
    await Promise.all([loadRun(), both ? loadRuns() : null]);
    const wait = Math.min(10_000, Math.max(700, 3 * (performance.now() - began)));
    soon = 0;
    if (late) window.setTimeout(() => reload(false), wait);
  }, 250);
}

export async function open(thread: string): Promise<void> {
  source?.close();
  waiting = [];
  history.replaceState(null, "", `#${encodeURIComponent(thread)}`);
  store.thread.value = thread;
  store.view.value = null;
  store.past.value = null;
  store.chosen.value = "";
  store.trouble.value = "";
  store.wanted.value = "";
  store.passage.value = null;
  await loadRun();
  if (thread !== store.thread.value) return;
  store.panel.value = store.question.value ? "question" : "report";
  store.tab.value = store.question.value ? "sel" : "plan";
  listen();
}

/** Events that have come since the page was drawn last, and when that was: it is drawn five times a second at most. */
let waiting: Event[] = [];
let drawn = 0;
const DRAWN_EVERY = 200;

function take(): void {
  drawn = performance.now();
  const events = waiting;
  waiting = [];
  const fresh = store.takeEvents(events);
  for (const event of fresh) if (event.kind === "approval_requested") store.said.value = `${event.agent ?? "A run"} asks: ${String(event.data.action)}`;
  if (!fresh.length) return;
  if (soon) late = true;
  reload(fresh.some((event) => TELLING.has(event.kind)));
}

/** A browser has six connections for all its tabs: one that nobody sees keeps none, and reads on when it is seen. */
document.addEventListener("visibilitychange", () => {
  if (!store.thread.value || store.offline) return;
  if (document.hidden) source?.close();
  else listen();
});

function listen(): void {
  source?.close();
  if (document.hidden) return;
  const made = new EventSource(path(store.thread.value, `/events?after=${store.lastSeq()}`));
  source = made;
  made.onopen = () => {
    store.connected.value = "live";
    reload(true);
  };
  made.onerror = () => {
    if (made !== source) return;
    if (store.connected.value !== "out") store.connected.value = "gone";
    void loadRuns();
    if (made.readyState === EventSource.CLOSED) window.setTimeout(() => made === source && listen(), 2000);
  };
  made.onmessage = (message) => {
    if (made !== source) return;
    if (waiting.push(JSON.parse(message.data as string) as Event) > 1) return;
    window.setTimeout(() => requestAnimationFrame(take), Math.max(0, drawn + DRAWN_EVERY - performance.now()));
  };
}

/** Shows a place of a source beside what cites it: in the log's place. */
export async function showPassage(file: string, place: string): Promise<void> {
  const thread = store.thread.value;
  const kept = store.view.value?.passages?.[`${file}#${place}`];
  const missing = (why: string) => ({ file, place, missing: why });
  store.drawer.value = "source";
  if (matchMedia("(max-width:800px)").matches) store.tab.value = "log";
  if (kept || store.offline) {
    store.passage.value = kept ?? missing("This place was not written into the file.");
    return;
  }
  store.passage.value = missing("");
  try {
    const found = await asked<Passage>(path(thread, `/source?file=${encodeURIComponent(file)}&place=${encodeURIComponent(place)}`));
    if (thread === store.thread.value) store.passage.value = found;
  } catch (error) {
    store.passage.value = missing(error instanceof Refused ? error.message : "The server cannot be reached.");
  }
}

let acting: Promise<unknown> = Promise.resolve();

/** Carry out a verb, after those before it; whether it was taken. What was refused is shown. */
export function act(verb: string, body: Record<string, unknown>): Promise<boolean> {
  const url = verb === "start" ? "/api/runs" : path(store.thread.value, `/${verb}`);
  const done = acting.then(() => carryOut(verb, url, body));
  acting = done;
  return done;
}

/** Let a paused run go on; one that somebody has taken over since stays theirs. */
export const goOn = (): void => void act("resume", { of: store.view.value?.run.status === "paused" ? "paused" : null });

async function carryOut(verb: string, url: string, body: Record<string, unknown>): Promise<boolean> {
  store.trouble.value = "";
  const named = verb === "start" ? body : { by: store.who.value || "human", ...body };
  try {
    const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(named) };
    const { thread_id } = await asked<{ thread_id: string }>(url, init);
    if (verb === "start") await open(thread_id);
    else await loadRun();
    await loadRuns();
    return true;
  } catch (error) {
    store.trouble.value =
      error instanceof TypeError
        ? "the server cannot be reached; nothing was sent, and what you typed is kept"
        : error instanceof Refused
          ? error.message
          : "the server does not answer; it may have taken this or not: look at the log once it is back; what you typed is kept";
    if (error instanceof Refused && error.status === 401) lost(error);
    else if (error instanceof Refused) void loadRun();
    return false;
  }
}

/** Sends a file to the server; where it lies there, to be named as a source. */
export async function sendFile(file: File): Promise<string> {
  store.trouble.value = "";
  try {
    const init = { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file };
    return (await asked<{ path: string }>(`/api/uploads?name=${encodeURIComponent(file.name)}`, init)).path;
  } catch (error) {
    store.trouble.value = error instanceof Refused ? error.message : `${file.name} did not reach the server; send it again`;
    return "";
  }
}

/** What a run can be started with. */
export interface Offers {
  teams: { name: string; agents: string[] }[];
  models: string[];
  queue: boolean;
  file_bytes: number;
}
export const offersOf = (): Promise<Offers> => asked("/api/offers");

export const planOf = (thread: string): Promise<Record<string, unknown>> => asked(path(thread, "/plan"));
export const teamOf = (thread: string): Promise<{ team: Member[] }> => asked(path(thread, "/team"));

export interface Member {
  agent: string;
  role: string;
  status: string;
  tasks: string[];
  recruited: boolean;
  unread: number;
  trust: { level: string; tasks_completed: number; tasks_failed: number } | null;
}
