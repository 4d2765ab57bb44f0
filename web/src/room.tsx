// The control room: everything on it is a function of a run's events and a time.
import { render } from "preact";
import { effect } from "@preact/signals";
import { act, goOn, keepListed, loadRuns, open } from "./api";
import { Middle, Right, Runs, Tabs, Top, show, theme } from "./frame";
import { leave, questionKeys } from "./question";
import * as store from "./store";
import { fold } from "./timeline";

function Room() {
  return (
    <div class={`room${store.offline ? " alone" : ""}`} data-tab={store.tab.value}>
      <svg class="vh" aria-hidden="true">
        <defs>
          <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect class="h0" width="5" height="5" />
            <rect class="h1" width="2" height="5" />
          </pattern>
        </defs>
      </svg>
      <Top />
      <Tabs />
      <main>
        {!store.offline && <Runs />}
        <Middle />
        <Right />
      </main>
      <div class="vh" aria-live="polite">
        {store.said.value}
      </div>
    </div>
  );
}

function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (event.key === "Escape") {
    if (!target.matches("input,textarea,select") || target.closest(".right")) {
      if (store.panel.value === "question") leave();
      store.close("cancel");
    }
    target.blur();
    return;
  }
  if (target.matches("input,textarea,select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const run = store.view.value?.run;
  const keys: Record<string, () => unknown> = {
    "/": () => document.getElementById("search")?.focus(),
    j: () => step(1),
    k: () => step(-1),
    g: () => store.question.value && show("question"),
    l: () => (store.drawer.value = store.drawer.value ? "" : "events"),
    t: theme,
    ...(!store.offline && run?.hint.includes("pause") ? { p: () => void act("pause", {}) } : {}),
    ...(!store.offline && run?.hint.includes("resume") ? { p: goOn } : {}),
    ...questionKeys(),
  };
  const does = keys[event.key];
  if (!does) return;
  event.preventDefault();
  does();
}

function step(by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>("button.run")];
  const now = all.indexOf(document.activeElement as HTMLElement);
  all[Math.max(0, Math.min(all.length - 1, now + by))]?.focus();
}

function threadIn(hash: string): string {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return "";
  }
}

const theme_ = store.kept("theme");
if (theme_) document.documentElement.dataset.theme = theme_;
effect(() => {
  const asks = store.offline ? 0 : (store.listed.value?.needs_you.length ?? 0);
  document.title = `${asks ? `(${asks}) ` : ""}${store.view.value?.run.query.slice(0, 60) ?? "Baton"}`;
});
addEventListener("keydown", onKey);
// a file that misses the form must not replace the page
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
/** For tests, which fold the same events here and in Python. */
Object.assign(window, { batonFold: fold });

const root = document.getElementById("room");
if (root) render(<Room />, root);
if (!store.offline) {
  const named = threadIn(location.hash);
  const first = (): string => {
    const all = store.listed.value;
    return (all?.needs_you[0] ?? all?.running[0] ?? all?.ended[0])?.thread_id ?? "";
  };
  const shown = named ? open(named) : loadRuns().then(() => (first() ? open(first()) : void (store.panel.value = "start")));
  void shown.then(keepListed);
  window.setInterval(() => {
    if (!store.hasEnded.value || store.listed.value?.needs_you.length) store.tick.value = Date.now() / 1000;
  }, 1000);
}
