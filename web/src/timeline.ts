// What a run's events say of each task over time. The same as nodes/policy/timeline.py: the same events, the same lines.
import type { Event, Line, Segment, SegmentKind, Timeline } from "./types";

interface Task {
  line: Line;
  known: number | null;
  started: number | null;
  finished: number | null;
  round: number;
  asked: Set<string>;
  stopped: boolean;
}

const text = (value: unknown): string => (value === undefined || value === null ? "" : String(value));
const whole = (value: unknown): number => (typeof value === "number" && Number.isInteger(value) ? value : 0);

function close(task: Task, at: number, failed = false): SegmentKind | null {
  const last = task.line.segments.at(-1);
  if (!last || last.end !== null) return null;
  last.end = Math.max(at, last.start);
  last.failed = failed;
  return last.kind;
}

function begin(task: Task, kind: SegmentKind, at: number): void {
  const was = close(task, at);
  const last = task.line.segments.at(-1);
  if (was === null || !last || last.kind !== kind) task.line.segments.push(segment(kind, at, null, task.round));
  else last.end = null;
}

const segment = (kind: SegmentKind, start: number, end: number | null, round = 0): Segment => ({
  kind,
  start,
  end,
  failed: false,
  round,
});

/** Folds events one by one; `timeline` can be asked for at any time. */
export class Fold {
  seq = 0;
  private start: number | null = null;
  private end: number | null = null;
  private phases: [string, number][] = [];
  private tasks = new Map<string, Task>();
  private executing: number | null = null;
  private held = new Set<string>();

  take(event: Event): void {
    const nested = event.path.length > (event.agent === null ? 0 : 1);
    const at = event.ts;
    if (this.end !== null && event.kind === "phase_entered") {
      this.start = this.end = this.executing = null;
      this.phases = [];
      this.tasks = new Map();
      this.held = new Set();
    }
    this.seq = event.seq;
    this.start ??= at;
    if (event.kind === "phase_entered" && !nested) {
      this.phases.push([event.phase, at]);
      if (event.phase === "executing") this.executing ??= at;
    } else if (event.kind === "control_changed") this.drive(text(event.data.driving), at);
    else if (event.kind === "run_finished" && !nested) {
      this.end = at;
      for (const task of this.tasks.values()) close(task, at);
    } else if (event.task_id && (!nested || event.kind.startsWith("approval_"))) this.ofTask(event, this.task(event.task_id));
  }

  private task(id: string): Task {
    let task = this.tasks.get(id);
    if (!task) {
      const line: Line = { segments: [], status: "", tries: 0, tokens: 0, errors: [], recruited: false };
      task = { line, known: null, started: null, finished: null, round: 0, asked: new Set(), stopped: false };
      this.tasks.set(id, task);
    }
    return task;
  }

  private ofTask(event: Event, task: Task): void {
    const { ts: at, data } = event;
    const line = task.line;
    task.known ??= at;
    switch (event.kind) {
      case "agent_recruited":
        line.recruited ||= Boolean(data.granted);
        break;
      case "task_started":
        task.round = whole(data.iteration);
        task.started ??= at;
        line.tries += 1;
        line.status = "";
        begin(task, "work", at);
        break;
      case "task_retried": {
        close(task, at, true);
        line.tries += 1;
        line.errors.push(text(data.reason));
        const again = at + (typeof data.delay_s === "number" ? data.delay_s : 0);
        line.segments.push(segment("back", at, again, task.round), segment("work", again, null, task.round));
        break;
      }
      case "task_parked":
        if (task.asked.size || !this.held.has(event.task_id ?? "")) begin(task, "park", at);
        else task.stopped = true; // because the run is held: what goes on then begins anew
        break;
      case "approval_requested":
        task.asked.add(text(data.id));
        begin(task, "park", at);
        break;
      case "approval_answered":
        task.asked.delete(text(data.id));
        if (task.asked.size === 0 && close(task, at) === "park")
          line.segments.push(segment(task.started !== null ? "work" : "slot", at, null, task.round));
        break;
      case "task_finished":
        line.status = text(data.status);
        line.tokens = whole(data.tokens);
        if (data.reason) line.errors.push(text(data.reason));
        close(task, at, line.status === "failed");
        task.finished = at;
        break;
    }
  }

  private drive(driving: string, at: number): void {
    for (const [id, task] of this.tasks) {
      const last = task.line.segments.at(-1);
      if ((driving === "paused" || driving === "handed_over") && last?.kind === "work" && last.end === null) {
        begin(task, "hold", at);
        this.held.add(id);
      } else if (driving === "running" && this.held.delete(id)) {
        if (last?.kind === "hold" && last.end === null) {
          if (task.stopped) close(task, at);
          else begin(task, "work", at);
        }
        task.stopped = false;
      }
    }
  }

  /** The timeline, with what each task waited for before it began. */
  timeline(dependsOn: Record<string, string[]>): Timeline {
    const lines: Record<string, Line> = {};
    const ids = new Set([...this.tasks.keys(), ...Object.keys(dependsOn)]);
    for (const id of [...ids].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))) {
      const task = this.tasks.get(id);
      const line: Line = task?.line ?? { segments: [], status: "", tries: 0, tokens: 0, errors: [], recruited: false };
      const before = dependsOn[id];
      const known = task && task.known !== null && line.recruited ? task.known : this.executing;
      let waited: Segment[] = [];
      if (before && known !== null) {
        const first = line.segments[0]?.start ?? (task?.finished || this.end);
        const ends = before.map((other) => this.tasks.get(other)?.finished ?? null);
        const ready = ends.includes(null) ? null : Math.max(known, ...ends.map(Number));
        waited = waits(known, ready, first);
      }
      lines[id] = { ...line, segments: [...waited, ...line.segments.map((part) => ({ ...part }))] };
    }
    return { seq: this.seq, start: this.start, end: this.end, phases: [...this.phases], tasks: lines };
  }
}

function waits(known: number, ready: number | null, first: number | null): Segment[] {
  if (first !== null && first <= known) return [];
  if (ready === null || (first !== null && ready >= first)) return [segment("wait", known, first)];
  const inputs = ready > known ? [segment("wait", known, ready)] : [];
  return [...inputs, segment("slot", ready, first)];
}

export function fold(events: Event[], dependsOn: Record<string, string[]>): Timeline {
  const folding = new Fold();
  for (const event of events) folding.take(event);
  return folding.timeline(dependsOn);
}
