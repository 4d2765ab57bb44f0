// The plan as a graph, and on the same rows its time: both drawn from the timeline and a second.
import { useEffect, useRef, useState } from "preact/hooks";
import dagre from "@dagrejs/dagre";
import { axisOf, marksOf, type Axis } from "./axis";
import * as store from "./store";
import { Icon } from "./parts";
import type { Segment, Status, Task } from "./types";

const MOST_CARDS = 60;
/** Pixels that a card is high: with a title of one line, of two; and about how wide a letter of it is. */
const HEIGHT = { one: 60, two: 76 };
const LETTER = 6.2;

/** Edges that no longer chain says already. */
function reduced(tasks: Task[]): [string, string][] {
  const before = new Map(tasks.map((task) => [task.id, task.depends_on]));
  const known = new Map<string, Set<string>>();
  const above = (id: string): Set<string> => {
    let found = known.get(id);
    if (!found) {
      known.set(id, (found = new Set()));
      for (const one of before.get(id) ?? []) for (const each of [one, ...above(one)]) found.add(each);
    }
    return found;
  };
  return tasks.flatMap((task) => {
    const direct = task.depends_on.filter((id) => before.has(id));
    return direct.filter((id) => !direct.some((other) => other !== id && above(other).has(id))).map((id) => [id, task.id] as [string, string]);
  });
}

function layersOf(tasks: Task[], also: [string, string][] = []): Map<string, number> {
  const before = new Map(tasks.map((task) => [task.id, [...task.depends_on, ...also.filter(([, to]) => to === task.id).map(([from]) => from)]]));
  const layer = new Map<string, number>();
  const walk = (id: string): number => {
    const found = layer.get(id);
    if (found !== undefined) return found;
    layer.set(id, 0);
    const depth = Math.max(-1, ...(before.get(id) ?? []).filter((one) => before.has(one)).map(walk)) + 1;
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
  high: number;
  places: Map<string, [number, number]>;
  edges: { from: string; to: string; d: string; isRecruit: boolean }[];
}

function draw(tasks: Task[], room: number): Drawn {
  const ids = new Set(tasks.map((task) => task.id));
  const asked = tasks.map((task) => [store.recruiterOf(task), task.id] as [string, string]).filter(([from, to]) => from !== to && ids.has(from));
  const layers = layersOf(tasks, asked);
  const columns = Math.max(...layers.values()) + 1;
  const gap = room < 560 ? 16 : 28;
  const card = Math.max(room < 560 ? 84 : 128, Math.min(232, Math.floor((room - (columns - 1) * gap) / columns)));
  const isShort = room >= 560 && tasks.every((task) => store.titleOf(task).length * LETTER < card - 34);
  const high = isShort ? HEIGHT.one : HEIGHT.two;
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 11, ranksep: gap, marginx: 0, marginy: 0, edgesep: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const task of tasks) graph.setNode(task.id, { width: card, height: high });
  const edges = [...reduced(tasks), ...asked];
  for (const [from, to] of edges) graph.setEdge(from, to);
  dagre.layout(graph);
  const size = graph.graph() as { width: number; height: number };
  const at = (id: string) => graph.node(id) as { x: number; y: number };
  // dagre begins a layer at either end: mirrored where needed, cards stand in the order of the rows below
  const first = tasks.filter((task) => layers.get(task.id) === 0);
  const isTurned = at(first[0]?.id ?? "").y > at(first.at(-1)?.id ?? "").y;
  const down = (y: number) => (isTurned ? size.height - y : y);
  const places = new Map<string, [number, number]>(tasks.map((task) => [task.id, [at(task.id).x - card / 2, down(at(task.id).y) - high / 2]]));
  return {
    width: size.width,
    height: size.height,
    card,
    high,
    places,
    edges: edges.map(([from, to]) => {
      const passed = (graph.edge(from, to) as { points: { x: number; y: number }[] }).points.slice(1, -1).map((point) => ({ x: point.x, y: down(point.y) }));
      const [x, y] = places.get(from) ?? [0, 0];
      const [u, v] = places.get(to) ?? [0, 0];
      const points = [{ x: x + card, y: y + high / 2 }, ...(passed.length > 1 ? passed : []), { x: u, y: v + high / 2 }];
      const d = points.map((point, i) => {
        const last = points[i - 1];
        if (!last) return `M${point.x} ${point.y}`;
        const middle = (last.x + point.x) / 2;
        return `C${middle} ${last.y} ${middle} ${point.y} ${point.x} ${point.y}`;
      });
      return { from, to, d: d.join(""), isRecruit: asked.some(([a, b]) => a === from && b === to) };
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
  const tasks = store.tasks.value.filter((task) => store.stateOf(task.id, when).known);
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
            {drawn.edges.map(({ from, to, d, isRecruit }) => {
              const isCritical = store.critical.value.ids.has(from) && store.critical.value.ids.has(to);
              const met = store.stateOf(from, when).status === "done";
              const near = hot && (hot === from || hot === to);
              return <path key={from + to} d={d} class={`${met ? "met" : ""}${isRecruit ? " rec" : ""}${isCritical && !isRecruit ? " crit" : ""}${near ? " hot" : ""}`} />;
            })}
          </svg>
          {tasks.map((task) => (
            <Card key={task.id} task={task} place={drawn.places.get(task.id) ?? [0, 0]} size={[drawn.card, drawn.high]} />
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

function Card({ task, place, size }: { task: Task; place: [number, number]; size: [number, number] }) {
  const when = store.at.value;
  const { status, worked, parked } = store.stateOf(task.id, when);
  const line = store.timeline.value.tasks[task.id];
  const parts = store.delegated.value.get(task.id)?.length ?? 0;
  const isChosen = (store.chosen.value === task.id && store.panel.value === "task") || (store.panel.value === "question" && store.question.value?.task_id === task.id);
  const classes = ["card", `c-${status}`, task.recruited_by && "rec", store.critical.value.ids.has(task.id) && "crit", isChosen && "sel", store.hover.value === task.id && "hot"];
  return (
    <button
      class={classes.filter(Boolean).join(" ")}
      data-task={task.id}
      title={task.description.slice(0, 300)}
      aria-current={isChosen}
      style={{ left: `${place[0]}px`, top: `${place[1]}px`, width: `${size[0]}px`, height: `${size[1]}px` }}
      onClick={() => choose(task.id)}
      onMouseEnter={() => (store.hover.value = task.id)}
      onMouseLeave={() => (store.hover.value = "")}
    >
      <b>
        <Icon status={status} />
        <span class="title" dir="auto">{store.titleOf(task)}</span>
      </b>
      <span class="a cut">
        {task.recruited_by ? "+ " : ""}
        {task.agent ?? task.role}
        {parts ? `, ${parts} delegated` : ""}
      </span>
      <span class="n k">{task.tokens ? store.short(task.tokens) : ""}</span>
      <span class="s">
        <Icon status={status} />
        <span class={`w ${status}`}>{store.WORD[status]}</span>
        {status === "wait" ? waitsFor(task, when) : store.took(status === "park" ? parked : worked)}
      </span>
      <span class="n k">{task.confidence !== null ? task.confidence.toFixed(2) : (line?.tries ?? 0) > 1 ? `try ${line?.tries}` : ""}</span>
    </button>
  );
}

/** A plan too large for cards: each layer as counts; one of them at a time can be looked at below. */
function Layers({ tasks }: { tasks: Task[] }) {
  const layers = layersOf(tasks);
  const when = store.at.value;
  const rows = new Map<number, Map<Status, number>>();
  for (const task of tasks) {
    const counts = rows.get(layers.get(task.id) ?? 0) ?? new Map<Status, number>();
    const { status } = store.stateOf(task.id, when);
    rows.set(layers.get(task.id) ?? 0, counts.set(status, (counts.get(status) ?? 0) + 1));
  }
  const all = [...rows].sort(([a], [b]) => a - b);
  return (
    <ol class="layers" aria-label="Layers of the plan">
      {all.map(([layer, counts]) => (
        <li key={layer}>
          <button aria-pressed={store.layer.value === layer} onClick={() => (store.layer.value = store.layer.value === layer ? null : layer)}>
            <b>Layer {layer + 1}</b>
            {[...counts].map(([status, count]) => (
              <span key={status} class={status}>
                <Icon status={status} /> {count} {store.WORD[status].toLowerCase()}
              </span>
            ))}
          </button>
        </li>
      ))}
    </ol>
  );
}

const HIGH: Partial<Record<string, number>> = { work: 11, park: 11, hold: 11 };
const LONG: Record<string, string> = { wait: "waits for inputs", slot: "waits for a slot", work: "works", park: "waits for you", back: "waits to try again", hold: "paused" };

const percent = (part: number): string => `${part * 100}%`;
const LEAST = 0.0015;

function Bars({ segments, axis, isCritical }: { segments: Segment[]; axis: Axis; isCritical: boolean }) {
  const when = store.at.value;
  const place = (second: number) => percent(axis.place(second));
  return (
    <>
      {segments.filter((part) => part.start <= when).map((part, i, all) => {
        const end = Math.min(part.end ?? when, when);
        const high = HIGH[part.kind] ?? 7;
        const wide = percent(Math.max(axis.place(end) - axis.place(part.start), LEAST));
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
const MORE = 12;

interface Row {
  task: Task;
  part: store.Part | null;
}

/** The rows of the time chart: each task, and below it what its agent has others do. */
function rowsOf(tasks: Task[], when: number): Row[] {
  return tasks.flatMap((task) => {
    const parts = (store.delegated.value.get(task.id) ?? []).filter((part) => part.start <= when);
    return [{ task, part: null }, ...parts.map((part) => ({ task, part }))];
  });
}

export function Gantt() {
  const box = useRef<HTMLDivElement>(null);
  const [window_, setWindow] = useState<[number, number]>([0, 40]);
  const line = store.timeline.value;
  const when = store.at.value;
  const from = line.start ?? when;
  const axis = axisOf(line, from, line.end ?? when, line.end !== null ? 0.04 : 0.16);
  const { step, marks } = marksOf(axis, from, when, (innerWidth < 800 ? 4 : 8) * (axis.span < 3600 ? 1 : 0.7));
  const behind = (mark: number) => {
    const cut = axis.cuts.findLast((one) => from + mark >= one.end);
    return cut ? `+${told(from + mark - cut.end)}` : told(mark);
  };
  const told = (second: number) => (step < 1 ? `${second.toFixed(1)} s` : store.mmss(second));
  const known = store.tasks.value.filter((task) => store.stateOf(task.id, when).known);
  const layers = store.layer.value === null || known.length <= MOST_CARDS ? null : layersOf(known);
  const rows = rowsOf(layers ? known.filter((task) => layers.get(task.id) === store.layer.value) : known, when);
  const isLong = rows.length > MOST_CARDS;
  const [first, last] = isLong ? [Math.min(window_[0], Math.max(0, rows.length - 20)), window_[1]] : [0, rows.length];
  const look = () => box.current && isLong && setWindow([Math.max(0, Math.floor(box.current.scrollTop / ROW) - MORE), Math.ceil((box.current.scrollTop + box.current.clientHeight) / ROW) + MORE]);
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 10, PageUp: -10, End: rows.length, Home: -rows.length }[event.key];
    const at = rows.findIndex((row) => !row.part && row.task.id === (event.target as HTMLElement).dataset.task);
    if (!step || at < 0 || !box.current) return;
    event.preventDefault();
    let to = Math.max(0, Math.min(rows.length - 1, at + step));
    while (rows[to]?.part && to > 0 && to < rows.length - 1) to += Math.sign(step);
    const id = rows[to]?.task.id ?? "";
    if (isLong && (to < first + MORE || to > last - MORE)) box.current.scrollTop = Math.max(0, to * ROW - box.current.clientHeight / 2);
    look();
    // the row may be drawn only now
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-task="${CSS.escape(id)}"]`)?.focus());
  };
  return (
    <div class={isLong ? "rows long" : "rows"} ref={box} onKeyDown={onKey} onScroll={look}>
      <div class="axis" aria-hidden="true">
        {marks.map((mark) => (
          <span key={mark} style={{ left: percent(axis.place(from + mark)) }}>
            {behind(mark)}
          </span>
        ))}
        {axis.cuts.map((cut) => (
          <span key={cut.start} class="gap" style={{ left: percent((cut.from + cut.to) / 2) }}>
            {store.mmss(cut.end - cut.start)}
          </span>
        ))}
      </div>
      <div class="grid" aria-hidden="true">
        {marks.map((mark) => (
          <i key={mark} style={{ left: percent(axis.place(from + mark)) }} />
        ))}
      </div>
      <div class="gaps" aria-hidden="true">
        {axis.cuts.map((cut) => (
          <i key={cut.start} style={{ left: percent((cut.from + cut.to) / 2) }} />
        ))}
      </div>
      <div style={{ height: `${first * ROW}px` }} />
      {rows.slice(first, last).map(({ task, part }) =>
        part ? <PartRow key={`${task.id}/${part.number}`} part={part} axis={axis} /> : <TaskRow key={task.id} task={task} axis={axis} />,
      )}
      <div style={{ height: `${Math.max(0, rows.length - last) * ROW}px` }} />
      <div class="now" aria-hidden="true">
        <i style={{ left: percent(axis.place(when)) }} />
        <b style={{ left: percent(axis.place(when)) }}>{told(when - from)}</b>
      </div>
    </div>
  );
}

function TaskRow({ task, axis }: { task: Task; axis: Axis }) {
  const when = store.at.value;
  const { status, worked, parked } = store.stateOf(task.id, when);
  const line = store.timeline.value.tasks[task.id];
  const segments = line?.segments ?? [];
  const tries = line?.tries ?? 0;
  const isCritical = store.critical.value.ids.has(task.id);
  const isChosen = store.chosen.value === task.id && store.panel.value === "task";
  const words = segments.filter((part) => part.start <= when).map((part) => `${LONG[part.kind]} ${store.mmss(Math.min(part.end ?? when, when) - part.start)}`);
  return (
    <button
      class={`row${isCritical ? " crit" : ""}${isChosen ? " sel" : ""}${store.hover.value === task.id ? " hot" : ""}`}
      data-task={task.id}
      title={store.titleOf(task)}
      onClick={() => choose(task.id)}
      onMouseEnter={() => (store.hover.value = task.id)}
      onMouseLeave={() => (store.hover.value = "")}
    >
      <span class="lb">
        <Icon status={status} />
        <span class="cut" dir="auto">
          {store.titleOf(task)}
        </span>
      </span>
      <svg class="b" role="img" aria-label={words.join(", ") || store.WORD[status]}>
        <Bars segments={segments} axis={axis} isCritical={isCritical} />
      </svg>
      <span class={`n ${status === "park" ? "park" : ""}`}>
        {tries > 1 && <small>{tries} tries</small>}
        {worked || parked ? store.took(status === "park" ? parked : worked) : waitsFor(task, when)}
      </span>
    </button>
  );
}

/** A part of a task that its agent has another do, indented below it. */
function PartRow({ part, axis }: { part: store.Part; axis: Axis }) {
  const when = store.at.value;
  const end = Math.min(part.end ?? when, when);
  const isOpen = (part.end === null || part.end > when) && !store.hasEnded.value;
  const status: Status = isOpen ? "work" : part.failed ? "fail" : "done";
  return (
    <div class="row part" title={part.task.slice(0, 300)}>
      <span class="lb" style={{ paddingLeft: `${12 * part.depth}px` }}>
        <Icon status={status} />
        <span class="cut">{part.worker}</span>
      </span>
      <svg class="b" role="img" aria-label={`${part.worker}: ${store.WORD[status]}, ${store.mmss(end - part.start)}`}>
        <rect class={isOpen ? "work o" : "work"} x={percent(axis.place(part.start))} y="9" width={percent(Math.max(axis.place(end) - axis.place(part.start), LEAST))} height="6" />
      </svg>
      <span class="n">{store.took(end - part.start)}</span>
    </div>
  );
}
