// A plan as a list that can be changed: in the question about it, and when a run is handed back.
import { useState } from "preact/hooks";
import { Icon } from "./parts";

/** A task of a plan; what it waits for as it is typed, and `rest` what the list does not show. */
export interface Step {
  id: string;
  description: string;
  role: string;
  depends_on: string;
  rest: Record<string, unknown>;
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

export function stepsOf(tasks: unknown): Step[] {
  if (!Array.isArray(tasks)) return [];
  return (tasks as Record<string, unknown>[]).map(({ id, description, role, depends_on, ...rest }) => ({
    id: String(id ?? ""),
    description: String(description ?? ""),
    role: String(role ?? "generalist"),
    depends_on: (Array.isArray(depends_on) ? depends_on : []).join(" "),
    rest,
  }));
}

export const tasksOf = (steps: Step[]): Record<string, unknown>[] => steps.map(({ rest, depends_on, ...step }) => ({ ...rest, ...step, depends_on: words(depends_on) }));

/** One line for each task, as people compare plans. */
export const inWords = (steps: Step[]): string =>
  steps.map((step) => `${step.id} (${step.role}${words(step.depends_on).length ? `, after ${words(step.depends_on).join(", ")}` : ""}): ${step.description}`).join("\n");

/** Tasks of a plan that wait for each other, if any do. */
function circle(steps: Step[]): string {
  const before = new Map(steps.map((step) => [step.id, words(step.depends_on)]));
  const settled = new Set<string>();
  for (let found = true; found; ) {
    found = false;
    for (const [id, ids] of before) if (!settled.has(id) && ids.every((one) => settled.has(one) || !before.has(one))) found = Boolean(settled.add(id));
  }
  return [...before.keys()].filter((id) => !settled.has(id)).join(", ");
}

/** All that keeps the list from being a plan, in words. */
export function faultsIn(steps: Step[]): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const { id } of steps) (seen.has(id) ? twice : seen).add(id);
  const round = circle(steps);
  return [
    ...(steps.length ? [] : ["a plan needs a task"]),
    ...steps.flatMap((step, i) => [
      ...(step.id ? (/^[A-Za-z0-9][\w.'-]{0,63}$/.test(step.id) ? [] : [`${step.id} cannot be an id: letters, digits and _ . ' - only, 64 at most`]) : [`task ${i + 1} has no id`]),
      ...(step.description.trim() ? [] : [`${step.id || `task ${i + 1}`} does not say what is to be done`]),
      ...words(step.depends_on).filter((one) => !seen.has(one)).map((one) => `${step.id} waits for ${one}, which is no task`),
    ]),
    ...[...twice].filter(Boolean).map((id) => `${id} stands there twice`),
    ...(round ? [`${round} wait for each other`] : []),
  ];
}

const OPENED = 12;
const SHOWN = 200;

interface Given {
  steps: Step[];
  /** What becomes of the changed list; null: it is only read. */
  changes: ((steps: Step[]) => void) | null;
  /** How a task stands in the run: `done` ones stay as they are. */
  stands?: (id: string) => string;
  results?: Record<string, string>;
  gives?: (id: string, result: string) => void;
}

const STOOD: Record<string, string> = { new: "new", pending: "not begun", ready: "not begun", running: "not done", parked: "not done" };

export function Steps({ steps, changes, stands, results, gives }: Given) {
  const isOver = (step: Step) => stands?.(step.id) === "done";
  const first = steps.flatMap((step, i) => (isOver(step) ? [] : [i])).slice(0, OPENED);
  const [opened, setOpened] = useState<Set<number> | null>(null);
  const [most, setMost] = useState(SHOWN);
  const shown = opened ?? new Set(first);
  const turn = (i: number) => {
    const next = new Set(shown);
    if (!next.delete(i)) next.add(i);
    setOpened(next);
  };
  const change = (i: number, fields: Partial<Step>) => changes?.(steps.map((step, n) => (n === i ? { ...step, ...fields } : step)));
  return (
    <>
      <ol class="steps">
        {steps.slice(0, most).map((step, i) => {
          const after = words(step.depends_on);
          const canChange = changes !== null && !isOver(step);
          const isOpen = canChange && shown.has(i);
          const name = step.id || `task ${i + 1}`;
          return (
            <li key={i} class={isOpen ? "open" : ""}>
              <p class="sh">
                {isOver(step) ? <Icon status="done" /> : <span class="m n">{i + 1}</span>}
                <b class="mono">{step.id || "new"}</b>
                <span class="m">
                  {isOpen ? (stands ? (STOOD[stands(step.id)] ?? stands(step.id)) : "") : `${step.role}${after.length ? `, after ${after.join(", ")}` : ""}`}
                </span>
                {canChange && (
                  <span class="r">
                    {isOpen && (
                      <button
                        class="lnk"
                        onClick={() => {
                          setOpened(new Set([...shown].filter((n) => n !== i).map((n) => (n > i ? n - 1 : n))));
                          changes(steps.filter((_, n) => n !== i));
                        }}
                      >
                        Remove<span class="vh"> {name}</span>
                      </button>
                    )}
                    <button class="lnk" aria-expanded={isOpen} onClick={() => turn(i)}>
                      {isOpen ? "Fold" : "Change"}
                      <span class="vh"> {name}</span>
                    </button>
                  </span>
                )}
              </p>
              {isOpen ? (
                <div class="fields">
                  <label>
                    <span>id</span>
                    <input aria-label={`id of task ${i + 1}`} value={step.id} onInput={(event) => change(i, { id: event.currentTarget.value.trim() })} />
                  </label>
                  <label>
                    <span>role</span>
                    <input aria-label={`role for task ${i + 1}`} value={step.role} onInput={(event) => change(i, { role: event.currentTarget.value })} />
                  </label>
                  <label class="all">
                    <span>after</span>
                    <input aria-label={`what task ${i + 1} waits for`} placeholder="nothing: it starts at once" value={step.depends_on} onInput={(event) => change(i, { depends_on: event.currentTarget.value })} />
                  </label>
                  <textarea aria-label={`what task ${i + 1} is`} dir="auto" rows={2} placeholder="What is to be done" value={step.description} onInput={(event) => change(i, { description: event.currentTarget.value })} />
                  {gives && stands?.(step.id) !== "new" && (
                    <textarea aria-label={`result of ${step.id}`} dir="auto" rows={1} placeholder="Its result, if you did it" value={results?.[step.id] ?? ""} onInput={(event) => gives(step.id, event.currentTarget.value)} />
                  )}
                </div>
              ) : (
                <p class="what" dir="auto">
                  {step.description.slice(0, 300)}
                  {step.description.length > 300 ? "…" : ""}
                </p>
              )}
            </li>
          );
        })}
      </ol>
      {steps.length > most && (
        <p>
          <button class="lnk" onClick={() => setMost(steps.length)}>
            Show all {steps.length.toLocaleString("en")} tasks
          </button>
        </p>
      )}
      {changes && (
        <>
          <p>
            <button
              class="btn"
              onClick={() => {
                setOpened(new Set([...shown, steps.length]));
                setMost(Math.max(most, steps.length + 1));
                changes([...steps, { id: "", description: "", role: "generalist", depends_on: "", rest: {} }]);
              }}
            >
              Add a task
            </button>
          </p>
          {faultsIn(steps).slice(0, 8).map((one) => (
            <p key={one} class="fail">
              {one}
            </p>
          ))}
        </>
      )}
    </>
  );
}
