// What the page knows: signals fed by the server, or by the data in an exported file.
import { computed, effect, signal } from "@preact/signals";
import { Fold } from "./timeline";
import type { Event, Listed, Passage, Short, Status, Task, View } from "./types";

export type Panel = "question" | "task" | "report" | "cancel" | "back" | "start" | "team";

const embedded = document.getElementById("run");
/** Whether this is an exported file: nothing is asked of a server. */
export const offline = embedded !== null;

export const listed = signal<Listed | null>(null);
/** Runs that ended before those of the first page. */
export const older = signal<Short[]>([]);
/** The place of a source that is shown beside what cites it. */
export const passage = signal<Passage | { file: string; place: string; missing: string } | null>(null);
export const view = signal<View | null>(null);
export const thread = signal("");
export const panel = signal<Panel>("report");
/** Back to the report, if this panel is the one that is shown still. */
export function close(shown: Panel): void {
  if (panel.value === shown) panel.value = "report";
}
export const chosen = signal("");
export const hover = signal("");
export const tab = signal("plan");
export const drawer = signal<"events" | "approvals" | "replay" | "raw" | "source" | "">("events");
/** The layer of a large plan that is looked at; null: all. */
export const layer = signal<number | null>(null);
/** The question that is looked at. */
export const wanted = signal("");
export const filter = signal("");
/** Events of the log that are drawn at most. */
export const mostEvents = signal(150);
/** What the events of the log are searched for. */
export const sought = signal("");
export const connected = signal<"live" | "gone" | "out" | "still">("still");
export const said = signal("");
export const trouble = signal("");
export const past = signal<number | null>(null);
export const tick = signal(Date.now() / 1000);
/** How far this machine's clock is behind the server's, in seconds. */
const behind = signal(0);
/** The second that it is at the server. */
export const now = computed(() => tick.value + behind.value);
let folding = new Fold();
const revision = signal(0);

export const who = signal(kept("who") || "");
export const dependsOn = computed<Record<string, string[]>>(() =>
  Object.fromEntries((view.value?.run.tasks ?? []).map((task) => [task.id, task.depends_on])),
);
export const timeline = computed(() => {
  revision.value;
  return folding.timeline(dependsOn.value);
});
export const events = computed<Event[]>(() => {
  revision.value;
  return view.value?.events ?? [];
});
/** The task that a recruit was asked for in; empty for others. */
export const recruiterOf = (task: Task): string => (task.recruited_by ? task.id.replace(/\.r\d+$/, "") : "");
/** The run's tasks, each recruit behind the task that asked for it. */
export const tasks = computed<Task[]>(() => {
  const all = view.value?.run.tasks ?? [];
  const ids = new Set(all.map((task) => task.id));
  const below = new Map<string, Task[]>();
  for (const task of all) {
    const by = recruiterOf(task);
    const key = by !== task.id && ids.has(by) ? by : "";
    below.set(key, [...(below.get(key) ?? []), task]);
  }
  const inOrder = (id: string): Task[] => (below.get(id) ?? []).flatMap((task) => [task, ...inOrder(task.id)]);
  return below.size > 1 ? inOrder("") : all;
});
/** A part of a task that an agent had another do. */
export interface Part {
  number: number;
  worker: string;
  task: string;
  depth: number;
  start: number;
  end: number | null;
  failed: boolean;
}
/** Parts by the task of the plan that they belong to, in the order in which they began. */
export const delegated = computed(() => {
  const found = new Map<string, Part[]>();
  for (const event of events.value) {
    if (!event.kind.startsWith("delegation_") || !event.task_id || event.ts < (timeline.value.start ?? 0)) continue;
    const parts = found.get(event.task_id) ?? [];
    const { worker, task, depth, status } = event.data;
    if (event.kind === "delegation_started") {
      parts.push({ number: event.seq, worker: String(worker), task: String(task), depth: Number(depth) || 1, start: event.ts, end: null, failed: false });
      found.set(event.task_id, parts);
    } else {
      const part = parts.find((one) => one.end === null && one.worker === worker && one.task === task);
      if (part) [part.end, part.failed] = [event.ts, status !== "done"];
    }
  }
  return found;
});
export const hasEnded = computed(() => ["complete", "partial", "failed", "cancelled"].includes(view.value?.run.status ?? ""));
/** The second that the page shows. */
export const at = computed(() => {
  const line = timeline.value;
  const latest = line.end ?? (offline ? (view.value?.now ?? 0) : Math.max(now.value, line.start ?? 0));
  return Math.min(past.value ?? latest, latest);
});
export const question = computed(() => {
  const asked = view.value?.run.approvals ?? [];
  return asked.find((one) => one.id === wanted.value) ?? (wanted.value ? null : (asked[0] ?? null));
});
// the question that is looked at stays, whatever else is asked or answered
effect(() => {
  const isThere = view.value?.run.approvals.some((one) => one.id === wanted.value);
  if (panel.value === "question") wanted.value ||= question.value?.id ?? "";
  else if (!isThere) wanted.value = "";
});

/** The seq of the last event that is here. */
export const lastSeq = (): number => view.value?.events.at(-1)?.seq ?? 0;

export function setListed(next: Listed): void {
  behind.value = next.now - Date.now() / 1000;
  listed.value = next;
}

/** Takes a run as it is now; of a run that is here already, with the later events only. */
export function setView(next: View): void {
  if (!offline) behind.value = next.now - Date.now() / 1000;
  const isSame = view.value?.run.thread_id === next.run.thread_id;
  const events = isSame && view.value ? view.value.events : [];
  if (!isSame) folding = new Fold();
  const last = events.at(-1)?.seq ?? 0;
  for (const event of next.events) {
    if (event.seq <= last) continue;
    events.push(event);
    folding.take(event);
  }
  view.value = { ...next, events };
  revision.value += 1;
}

/** Folds in events that have come; those that were new. */
export function takeEvents(come: Event[]): Event[] {
  const known = view.value?.events;
  if (!known) return [];
  const fresh = come.filter((event) => event.seq > lastSeq());
  for (const event of fresh) {
    known.push(event);
    folding.take(event);
  }
  if (fresh.length) revision.value += 1;
  return fresh;
}

export function kept(name: string): string {
  try {
    return localStorage.getItem(`baton.${name}`) ?? "";
  } catch {
    return "";
  }
}
export function keep(name: string, value: string): void {
  try {
    if (value) localStorage.setItem(`baton.${name}`, value);
    else localStorage.removeItem(`baton.${name}`);
  } catch {
    // a page that may keep nothing forgets it
  }
}

export const mmss = (seconds: number): string => {
  const s = Math.max(0, Math.round(seconds));
  if (s >= 86_400) return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
  const minutes = Math.floor(s / 60);
  const rest = String(s % 60).padStart(2, "0");
  return minutes >= 60 ? `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
};
/** How long something took: to the tenth of a second where it is short. */
export const took = (seconds: number): string => (seconds < 9.95 ? `${Math.max(0, seconds).toFixed(1)} s` : mmss(seconds));
export const short = (n: number): string => (n >= 1000 ? `${(n / 1000).toFixed(n >= 100_000 ? 0 : 1)}k` : String(n));
export const plain = (value: unknown): string => (typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value, null, 1));

export const counted = (n: number, noun: string): string => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

export function titleOf(task: Task): string {
  const words = /^[a-z]?\d+$|\.r\d+$/i.test(task.id) ? task.description.slice(0, 120) : task.id.replace(/[-_]+/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export const WORD: Record<Status, string> = {
  wait: "Waiting",
  slot: "Queued",
  work: "Working",
  park: "Asks you",
  back: "Retrying",
  hold: "Paused",
  done: "Done",
  fail: "Failed",
  end: "Not done",
};

const records = computed(() => new Map((view.value?.run.tasks ?? []).map((task) => [task.id, task.status])));
const ENDS: Record<string, Status> = { done: "done", failed: "fail", skipped: "end", cancelled: "end" };

/** What is true of a task at a time. A result that a human gave ends a task without an event: then its record says so. */
export function stateOf(id: string, when: number): { status: Status; worked: number; parked: number; known: boolean } {
  const line = timeline.value.tasks[id];
  const begun = (line?.segments ?? []).filter((part) => part.start <= when);
  const last = begun.at(-1);
  const sum = (kind: string) =>
    begun.filter((part) => part.kind === kind).reduce((all, part) => all + Math.min(part.end ?? when, when) - part.start, 0);
  let status: Status = "wait";
  if (last) {
    const isLast = last === line?.segments.at(-1);
    const over = isLast && last.end !== null && last.end <= when && (line?.status || timeline.value.end !== null);
    status = over ? (ENDS[line?.status ?? ""] ?? "end") : last.kind;
  }
  if (!line?.status && past.value === null) status = ENDS[records.value.get(id) ?? ""] ?? status;
  const known = !line?.recruited || begun.length > 0 || line.segments.length === 0;
  return { status, worked: sum("work"), parked: sum("park"), known };
}

/** The longest chain of work until a time, and its length in seconds. */
export const critical = computed<{ ids: Set<string>; seconds: number }>(() => {
  const when = at.value;
  const best = new Map<string, { length: number; via: string | null }>();
  const walk = (id: string, on: Set<string>): number => {
    const found = best.get(id);
    if (found) return found.length;
    if (on.has(id)) return 0;
    on.add(id);
    let length = 0;
    let via: string | null = null;
    for (const before of dependsOn.value[id] ?? []) {
      const reach = walk(before, on);
      if (via === null || reach > length) [length, via] = [reach, before];
    }
    on.delete(id);
    best.set(id, { length: length + stateOf(id, when).worked, via });
    return length + stateOf(id, when).worked;
  };
  let end: string | null = null;
  let seconds = 0;
  for (const id of Object.keys(dependsOn.value)) {
    const length = walk(id, new Set());
    if (end === null || length > seconds) [end, seconds] = [id, length];
  }
  const ids = new Set<string>();
  for (let id = seconds > 0 ? end : null; id !== null; id = best.get(id)?.via ?? null) ids.add(id);
  return { ids, seconds };
});

if (embedded) {
  const data = JSON.parse(embedded.textContent ?? "{}") as View;
  setView(data);
  thread.value = data.run.thread_id;
}
