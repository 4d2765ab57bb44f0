// The axis of time: seconds to places, with a break where a wait would dwarf everything else.
import type { Timeline } from "./types";

export interface Cut {
  start: number;
  end: number;
  /** Where it is drawn, as parts of the whole width. */
  from: number;
  to: number;
}
export interface Axis {
  /** Where a second is, as a part of the whole width. */
  place: (second: number) => number;
  /** Seconds of the run that the whole width would show at the scale of what is not cut out. */
  span: number;
  cuts: Cut[];
}

/** A wait is cut out when it is longer than this, in seconds, and than twice all the rest. */
const LONG = 20;
/** What is left of it, of the drawn width of the rest. */
const LEFT = 0.12;

/** The stretches in which nobody works, longest first. */
function idle(line: Timeline, from: number, to: number): { start: number; end: number }[] {
  const busy = Object.values(line.tasks)
    .flatMap((task) => task.segments)
    .filter((part) => part.kind === "work" || part.kind === "back")
    .map((part): [number, number] => [part.start, Math.min(part.end ?? to, to)])
    .sort(([a], [b]) => a - b);
  const found: { start: number; end: number }[] = [];
  let at = from;
  for (const [start, end] of [...busy, [to, to] as const]) {
    if (Math.min(start, to) > at) found.push({ start: at, end: Math.min(start, to) });
    at = Math.max(at, end);
  }
  return found.sort((a, b) => b.end - b.start - (a.end - a.start));
}

/** The axis from a run's start to `when`, with `room` seconds more at its end for each second. */
export function axisOf(line: Timeline, from: number, when: number, room: number): Axis {
  let rest = when - from;
  const out: { start: number; end: number }[] = [];
  for (const wait of idle(line, from, when)) {
    const length = wait.end - wait.start;
    if (length < LONG || rest - length < 0.5 || length < 2 * (rest - length)) break;
    rest -= length;
    out.push(wait);
  }
  out.sort((a, b) => a.start - b.start);
  const left = rest * LEFT;
  const span = Math.max((rest + left * out.length) * (1 + room), 0.5);
  const place = (second: number): number => {
    let drawn = second - from;
    for (const { start, end } of out) {
      const passed = Math.min(Math.max(second - start, 0), end - start);
      drawn += (passed / (end - start)) * left - passed;
    }
    return drawn / span;
  };
  return { place, span, cuts: out.map(({ start, end }) => ({ start, end, from: place(start), to: place(end) })) };
}

const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 21600, 86400, 604800];

/** Seconds to write on the axis, at most as many as fit; none in a break, none where another stands. */
export function marksOf(axis: Axis, from: number, when: number, most: number): { step: number; marks: number[] } {
  const step = STEPS.find((one) => axis.span / one <= most) ?? axis.span / most;
  const taken = [axis.place(when), ...axis.cuts.map((cut) => (cut.from + cut.to) / 2)];
  const marks: number[] = [];
  const put = (mark: number) => {
    const place = axis.place(from + mark);
    const isFree = taken.every((other) => Math.abs(other - place) * most > 0.7);
    if (place > 1 || axis.cuts.some((cut) => from + mark > cut.start && from + mark < cut.end)) return;
    if (mark !== 0 && !isFree) return;
    taken.push(place);
    marks.push(mark);
  };
  let at = 0;
  for (const [start, end] of [...axis.cuts.map((cut) => [cut.start - from, cut.end - from] as const), [Infinity, Infinity] as const]) {
    for (; at < start && axis.place(from + at) <= 1; at += step) put(at);
    at = end + step; // behind a break, marks count from its end
  }
  return { step, marks };
}
