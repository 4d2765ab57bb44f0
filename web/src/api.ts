// Talking to the server: what is true, events as they happen, and the verbs.
import * as store from "./store";
import type { Event, Listed, View } from "./types";

let source: EventSource | null = null;
let soon = 0;
/** Questions to the server about the open run: how many were sent, and the last one whose answer is shown. */
let sent = 0;
let taken = 0;

const path = (thread: string, rest = ""): string => `/api/runs/${encodeURIComponent(thread)}${rest}`;

async function asked<T>(url: string, init?: RequestInit): Promise<T> {
  const done = await fetch(url, init);
  const told: unknown = await done.json().catch(() => ({}));
  if (!done.ok) {
    const detail = (told as { detail?: unknown }).detail;
    throw new Error(typeof detail === "string" ? detail : `the server says ${done.status}`);
  }
  return told as T;
}

export async function loadRuns(): Promise<void> {
  try {
    const listed = await asked<Listed>("/api/runs?limit=50");
    store.listed.value = listed;
    const shown = store.view.value?.run;
    const same = [...listed.needs_you, ...listed.running, ...listed.ended].find((one) => one.thread_id === shown?.thread_id);
    // a run can come to stand still without an event
    if (same && same.status !== shown?.status) void loadRun();
  } catch {
    store.connected.value = "gone";
  }
}

export async function loadRun(): Promise<void> {
  const thread = store.thread.value;
  if (!thread) return;
  const number = ++sent;
  try {
    const view = await asked<View>(path(thread));
    if (thread !== store.thread.value || number < taken) return;
    taken = number;
    store.setView(view);
  } catch (error) {
    if (!(error instanceof TypeError)) store.trouble.value = (error as Error).message;
  }
}

/** Read again in a moment: events come in bursts. */
function reload(): void {
  if (soon) return;
  soon = window.setTimeout(() => {
    soon = 0;
    void loadRun();
    void loadRuns();
  }, 250);
}

export async function open(thread: string): Promise<void> {
  store.thread.value = thread;
  store.view.value = null;
  store.past.value = null;
  store.chosen.value = "";
  store.trouble.value = "";
  store.wanted.value = "";
  await loadRun();
  if (thread !== store.thread.value) return;
  store.panel.value = store.question.value ? "question" : "report";
  store.tab.value = store.question.value ? "sel" : "plan";
  listen();
}

function listen(): void {
  source?.close();
  const after = store.events.value.at(-1)?.seq ?? 0;
  const made = new EventSource(path(store.thread.value, `/events?after=${after}`));
  source = made;
  made.onopen = () => {
    store.connected.value = "live";
    reload();
  };
  made.onerror = () => {
    store.connected.value = "gone";
    if (made.readyState === EventSource.CLOSED) window.setTimeout(() => made === source && listen(), 2000);
  };
  made.onmessage = (message) => {
    const event = JSON.parse(message.data as string) as Event;
    if (!store.takeEvent(event)) return;
    if (event.kind === "approval_requested") store.said.value = `${event.agent ?? "A run"} asks: ${String(event.data.action)}`;
    reload();
  };
}

/** Carry out a verb; whether it was taken. What was refused is shown. */
export async function act(verb: string, body: Record<string, unknown>): Promise<boolean> {
  store.trouble.value = "";
  const url = verb === "start" ? "/api/runs" : path(store.thread.value, `/${verb}`);
  const named = verb === "start" ? body : { by: store.who.value || "human", ...body };
  try {
    const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(named) };
    const { thread_id } = await asked<{ thread_id: string }>(url, init);
    if (verb === "start") await open(thread_id);
    else await loadRun();
    await loadRuns();
    return true;
  } catch (error) {
    store.trouble.value = error instanceof TypeError ? "the server cannot be reached; nothing was sent, and what you typed is kept" : (error as Error).message;
    return false;
  }
}

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
