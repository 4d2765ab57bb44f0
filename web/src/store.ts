// What the page knows: signals fed by the server, or by the data in an exported file.
import { computed, effect, signal } from "@preact/signals";
import { Fold } from "./timeline";
import type { Event, Listed, Status, Task, View } from "./types";

export type Panel = "question" | "task" | "report" | "cancel" | "back" | "start" | "team";

const embedded = document.getElementById("run");
/** Whether this is an exported file: nothing is asked of a server. */
export const offline = embedded !== null;

export const listed = signal<Listed | null>(null);
export const view = signal<View | null>(null);
export const thread = signal("");
export const panel = signal<Panel>("report");
export const chosen = signal("");
export const hover = signal("");
export const tab = signal("plan");
export const drawer = signal<"events" | "approvals" | "replay" | "raw" | "">("events");
export const wanted = signal("");
export const filter = signal("");
export const connected = signal<"live" | "gone" | "still">("still");
export const said = signal("");
export const trouble = signal("");
export const past = signal<number | null>(null);
export const tick = signal(Date.now() / 1000);
/** How far this machine's clock is behind the server's, in seconds. */
let behind = 0;
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
export const hasEnded = computed(() => ["complete", "partial", "failed", "cancelled"].includes(view.value?.run.status ?? ""));
/** The second that the page shows. */
export const at = computed(() => {
  const line = timeline.value;
  const latest = line.end ?? (offline ? (view.value?.now ?? 0) : Math.max(tick.value + behind, line.start ?? 0));
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

export function setView(next: View): void {
  behind = offline ? 0 : next.now - Date.now() / 1000;
  const before = view.value?.run.thread_id === next.run.thread_id ? (view.value?.events ?? []) : [];
  const last = before.at(-1)?.seq ?? 0;
  const known = next.events.length > 0 && (next.events.at(-1)?.seq ?? 0) < last ? before : next.events;
  folding = new Fold();
  for (const event of known) folding.take(event);
  view.value = { ...next, events: known };
  revision.value += 1;
}

/** Folds in an event that has come; whether it was new. */
export function takeEvent(event: Event): boolean {
  const known = view.value?.events;
  if (!known || event.seq <= (known.at(-1)?.seq ?? 0)) return false;
  known.push(event);
  folding.take(event);
  revision.value += 1;
  return true;
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
  const minutes = Math.floor(s / 60);
  const rest = String(s % 60).padStart(2, "0");
  return minutes >= 60 ? `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
};
export const short = (n: number): string => (n >= 1000 ? `${(n / 1000).toFixed(n >= 100_000 ? 0 : 1)}k` : String(n));
export const plain = (value: unknown): string => (typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value, null, 1));

export function titleOf(task: Task): string {
  const words = /^[a-z]?\d+$/i.test(task.id) ? task.description : task.id.replace(/[-_]+/g, " ");
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
