// The plan as a graph, and on the same rows its time: both drawn from the timeline and a second.
import { useEffect, useRef, useState } from "preact/hooks";
import dagre from "@dagrejs/dagre";
import * as store from "./store";
import { Icon } from "./parts";
import type { Segment, Status, Task } from "./types";

const MOST_CARDS = 60;
const HEIGHT = 60;

/** Edges that no longer chain says already. */
function reduced(tasks: Task[]): [string, string][] {
  const before = new Map(tasks.map((task) => [task.id, task.depends_on.filter((id) => tasks.some((one) => one.id === id))]));
  const reach = (from: string, to: string, skip: boolean): boolean =>
    (before.get(from) ?? []).some((id) => (!skip && id === to) || (id !== to && reach(id, to, false)));
  return tasks.flatMap((task) => (before.get(task.id) ?? []).filter((id) => !reach(task.id, id, true)).map((id) => [id, task.id] as [string, string]));
}

function layersOf(tasks: Task[]): Map<string, number> {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const layer = new Map<string, number>();
  const walk = (id: string): number => {
    const found = layer.get(id);
    if (found !== undefined) return found;
    layer.set(id, 0);
    const depth = Math.max(-1, ...(byId.get(id)?.depends_on ?? []).filter((one) => byId.has(one)).map(walk)) + 1;
    layer.set(id, depth);
    return depth;
  };
  for (const task of tasks) walk(task.id);
  return layer;
}

interface Drawn {
  width: number;
  height: number;
  card: number;
  places: Map<string, [number, number]>;
  edges: { from: string; to: string; d: string }[];
}

function draw(tasks: Task[], room: number): Drawn {
  const columns = Math.max(1, ...layersOf(tasks).values()) + 1;
  const gap = room < 560 ? 16 : 28;
  const card = Math.max(room < 560 ? 84 : 128, Math.min(188, Math.floor((room - (columns - 1) * gap) / columns)));
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 11, ranksep: gap, marginx: 0, marginy: 0, edgesep: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const task of tasks) graph.setNode(task.id, { width: card, height: HEIGHT });
  const edges = reduced(tasks);
  for (const [from, to] of edges) graph.setEdge(from, to);
  dagre.layout(graph);
  const size = graph.graph() as { width: number; height: number };
  const at = (id: string) => graph.node(id) as { x: number; y: number };
  // dagre begins a layer at either end: mirrored where needed, cards stand in the order of the rows below
  const layers = layersOf(tasks);
  const first = tasks.filter((task) => layers.get(task.id) === 0);
  const isTurned = at(first[0]?.id ?? "").y > at(first.at(-1)?.id ?? "").y;
  const down = (y: number) => (isTurned ? size.height - y : y);
  const places = new Map<string, [number, number]>(tasks.map((task) => [task.id, [at(task.id).x - card / 2, down(at(task.id).y) - HEIGHT / 2]]));
  return {
    width: size.width,
    height: size.height,
    card,
    places,
    edges: edges.map(([from, to]) => {
      const passed = (graph.edge(from, to) as { points: { x: number; y: number }[] }).points.slice(1, -1).map((point) => ({ x: point.x, y: down(point.y) }));
      const [x, y] = places.get(from) ?? [0, 0];
      const [u, v] = places.get(to) ?? [0, 0];
      const points = [{ x: x + card, y: y + HEIGHT / 2 }, ...(passed.length > 1 ? passed : []), { x: u, y: v + HEIGHT / 2 }];
      const d = points.map((point, i) => {
        const last = points[i - 1];
        if (!last) return `M${point.x} ${point.y}`;
        const middle = (last.x + point.x) / 2;
        return `C${middle} ${last.y} ${middle} ${point.y} ${point.x} ${point.y}`;
      });
      return { from, to, d: d.join("") };
    }),
  };
}

const waitsFor = (task: Task, when: number): string =>
  task.depends_on.length ? `${task.depends_on.filter((id) => ["done", "fail", "end"].includes(store.stateOf(id, when).status)).length}/${task.depends_on.length}` : "";

function choose(id: string): void {
  store.chosen.value = id;
  store.panel.value = "task";
  store.tab.value = "sel";
}

function onArrow(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  const from = (event.target as HTMLElement).closest("[data-task]");
  if (!step || !from) return;
  const all = [...((event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[data-task]") ?? [])];
  event.preventDefault();
  all[Math.max(0, Math.min(all.length - 1, all.indexOf(from as HTMLElement) + step))]?.focus();
}

export function Graph() {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(740);
  useEffect(() => {
    if (!box.current) return;
    const watching = new ResizeObserver(([entry]) => entry && setRoom(Math.max(280, entry.contentRect.width - (entry.contentRect.width < 560 ? 24 : 40))));
    watching.observe(box.current);
    return () => watching.disconnect();
  }, []);
  const when = store.at.value;
  const tasks = (store.view.value?.run.tasks ?? []).filter((task) => store.stateOf(task.id, when).known);
  const shape = tasks.map((task) => task.id + task.depends_on.join()).join(";") + room;
  const last = useRef<{ shape: string; drawn: Drawn | null }>({ shape: "", drawn: null });
  if (last.current.shape !== shape) last.current = { shape, drawn: tasks.length && tasks.length <= MOST_CARDS ? draw(tasks, room) : null };
  const drawn = last.current.drawn;
  const hot = store.hover.value;
  return (
    <div class="scroll" ref={box} tabIndex={-1}>
      {drawn ? (
        <div class={`graph${hot ? " h" : ""}`} style={{ width: `${drawn.width}px`, height: `${drawn.height}px` }} onKeyDown={onArrow}>
          <svg class="e" aria-hidden="true">
            {drawn.edges.map(({ from, to, d }) => {
              const isCritical = store.critical.value.ids.has(from) && store.critical.value.ids.has(to);
              const met = store.stateOf(from, when).status === "done";
              const near = hot && (hot === from || hot === to);
              return <path key={from + to} d={d} class={`${met ? "met" : ""}${isCritical ? " crit" : ""}${near ? " hot" : ""}`} />;
            })}
          </svg>
          {tasks.map((task) => (
            <Card key={task.id} task={task} place={drawn.places.get(task.id) ?? [0, 0]} width={drawn.card} />
          ))}
        </div>
      ) : tasks.length ? (
        <Layers tasks={tasks} />
      ) : (
        <p class="m none">The plan appears here when it is made.</p>
      )}
    </div>
  );
}

function Card({ task, place, width }: { task: Task; place: [number, number]; width: number }) {
  const when = store.at.value;
  const { status, worked, parked } = store.stateOf(task.id, when);
  const line = store.timeline.value.tasks[task.id];
  const isChosen = (store.chosen.value === task.id && store.panel.value === "task") || (store.panel.value === "question" && store.question.value?.task_id === task.id);
  const classes = ["card", `c-${status}`, task.recruited_by && "rec", store.critical.value.ids.has(task.id) && "crit", isChosen && "sel", store.hover.value === task.id && "hot"];
  return (
    <button
      class={classes.filter(Boolean).join(" ")}
      data-task={task.id}
      title={task.description}
      aria-current={isChosen}
      style={{ left: `${place[0]}px`, top: `${place[1]}px`, width: `${width}px`, height: `${HEIGHT}px` }}
      onClick={() => choose(task.id)}
      onMouseEnter={() => (store.hover.value = task.id)}
      onMouseLeave={() => (store.hover.value = "")}
    >
      <b>
        <Icon status={status} turns={status === "work" && store.past.value === null} />
        <span class="cut">{store.titleOf(task)}</span>
      </b>
      <span class="a cut">
        {task.recruited_by ? "+ " : ""}
        {task.agent ?? task.role}
      </span>
      <span class="n k">{task.tokens ? store.short(task.tokens) : ""}</span>
      <span class="s">
        <Icon status={status} />
        <span class={`w ${status}`}>{store.WORD[status]}</span>
        {status === "wait" ? waitsFor(task, when) : store.mmss(status === "park" ? parked : worked)}
      </span>
      <span class="n k">{task.confidence !== null ? task.confidence.toFixed(2) : (line?.tries ?? 0) > 1 ? `try ${line?.tries}` : ""}</span>
    </button>
  );
}

/** A plan too large for cards: each layer as counts. */
function Layers({ tasks }: { tasks: Task[] }) {
  const layers = layersOf(tasks);
  const when = store.at.value;
  const rows = new Map<number, Map<Status, number>>();
  for (const task of tasks) {
    const counts = rows.get(layers.get(task.id) ?? 0) ?? new Map<Status, number>();
    const { status } = store.stateOf(task.id, when);
    rows.set(layers.get(task.id) ?? 0, counts.set(status, (counts.get(status) ?? 0) + 1));
  }
  return (
    <ol class="layers">
      {[...rows].sort(([a], [b]) => a - b).map(([layer, counts]) => (
        <li key={layer}>
          <b>Layer {layer + 1}</b>
          {[...counts].map(([status, count]) => (
            <span key={status} class={status}>
              <Icon status={status} /> {count} {store.WORD[status].toLowerCase()}
            </span>
          ))}
        </li>
      ))}
    </ol>
  );
}

const HIGH: Partial<Record<string, number>> = { work: 11, park: 11, hold: 11 };
const LONG: Record<string, string> = { wait: "waits for inputs", slot: "waits for a slot", work: "works", park: "waits for you", back: "waits to try again", hold: "paused" };

function Bars({ segments, from, span, isCritical }: { segments: Segment[]; from: number; span: number; isCritical: boolean }) {
  const when = store.at.value;
  const place = (second: number) => `${((second - from) / span) * 100}%`;
  return (
    <>
      {segments.filter((part) => part.start <= when).map((part, i, all) => {
        const end = Math.min(part.end ?? when, when);
        const high = HIGH[part.kind] ?? 7;
        const wide = `${Math.max(((end - part.start) / span) * 100, 0.15)}%`;
        const goesOn = part.end === null && !store.hasEnded.value;
        return (
          <g key={i}>
            <rect class={`${part.kind}${goesOn ? " o" : ""}${part.round ? " again" : ""}`} x={place(part.start)} y={12 - high / 2} width={wide} height={high} />
            {isCritical && part.kind === "work" && <line class="c" x1={place(part.start)} x2={place(end)} y1="20" y2="20" />}
            {part.kind === "work" && all[i - 1]?.kind === "back" && <line class="t" x1={place(part.start)} x2={place(part.start)} y1="3" y2="21" />}
            {part.failed && <line class="x" x1={place(end)} x2={place(end)} y1="3" y2="21" />}
          </g>
        );
      })}
    </>
  );
}

const ROW = 24;

export function Gantt() {
  const box = useRef<HTMLDivElement>(null);
  const [window_, setWindow] = useState<[number, number]>([0, 60]);
  const line = store.timeline.value;
  const when = store.at.value;
  const from = line.start ?? when;
  const span = Math.max((line.end !== null ? line.end - from : when - from) * (line.end !== null ? 1.04 : 1.16), 0.5);
  const steps = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 21600, 86400, 604800];
  const step = steps.find((one) => span / one <= 8) ?? span / 8;
  const marks = Array.from({ length: Math.floor(span / step) + 1 }, (_, i) => i * step);
  const told = (second: number) => (step < 1 ? `${second.toFixed(1)} s` : store.mmss(second));
  const tasks = (store.view.value?.run.tasks ?? []).filter((task) => store.stateOf(task.id, when).known);
  const isLong = tasks.length > MOST_CARDS;
  const [first, last] = isLong ? window_ : [0, tasks.length];
  return (
    <div
      class={isLong ? "rows long" : "rows"}
      ref={box}
      onKeyDown={onArrow}
      onScroll={() => box.current && isLong && setWindow([Math.max(0, Math.floor(box.current.scrollTop / ROW) - 10), Math.ceil(box.current.scrollTop / ROW) + 40])}
    >
      <div class="axis" aria-hidden="true">
        {marks.filter((mark) => mark === 0 || Math.abs(mark - (when - from)) / span > 0.08).map((mark) => (
          <span key={mark} style={{ left: `${(mark / span) * 100}%` }}>
            {told(mark)}
          </span>
        ))}
      </div>
      <div class="grid" aria-hidden="true">
        {marks.map((mark) => (
          <i key={mark} style={{ left: `${(mark / span) * 100}%` }} />
        ))}
      </div>
      <div style={{ height: `${first * ROW}px` }} />
      {tasks.slice(first, last).map((task) => {
        const { status, worked, parked } = store.stateOf(task.id, when);
        const segments = line.tasks[task.id]?.segments ?? [];
        const tries = line.tasks[task.id]?.tries ?? 0;
        const isCritical = store.critical.value.ids.has(task.id);
        const isChosen = store.chosen.value === task.id && store.panel.value === "task";
        const words = segments.filter((part) => part.start <= when).map((part) => `${LONG[part.kind]} ${store.mmss(Math.min(part.end ?? when, when) - part.start)}`);
        return (
          <button
            key={task.id}
            class={`row${isCritical ? " crit" : ""}${isChosen ? " sel" : ""}${store.hover.value === task.id ? " hot" : ""}`}
            data-task={task.id}
            onClick={() => choose(task.id)}
            onMouseEnter={() => (store.hover.value = task.id)}
            onMouseLeave={() => (store.hover.value = "")}
          >
            <span class="lb">
              <Icon status={status} />
              <span class="cut">{store.titleOf(task)}</span>
            </span>
            <svg class="b" role="img" aria-label={words.join(", ") || store.WORD[status]}>
              <Bars segments={segments} from={from} span={span} isCritical={isCritical} />
            </svg>
            <span class={`n ${status === "park" ? "park" : ""}`}>
              {tries > 1 && <small>{tries} tries</small>}
              {worked || parked ? store.mmss(status === "park" ? parked : worked) : waitsFor(task, when)}
            </span>
          </button>
        );
      })}
      <div style={{ height: `${Math.max(0, tasks.length - last) * ROW}px` }} />
      <div class="now" aria-hidden="true">
        <i style={{ left: `${((when - from) / span) * 100}%` }} />
        <b style={{ left: `${((when - from) / span) * 100}%` }}>{told(when - from)}</b>
      </div>
    </div>
  );
}
