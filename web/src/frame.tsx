// The page around it all: runs at the left, the wheel at the top, what is selected at the right, the log below.
import { act, goOn, loadMore, open } from "./api";
import { Icon, Long, Markdown, standing } from "./parts";
import { Gantt, Graph } from "./plan";
import { QuestionBody, QuestionFoot } from "./question";
import { Cancel, HandBack, Start, Team } from "./steer";
import * as store from "./store";
import type { Panel } from "./store";
import type { Advice, Event, Short } from "./types";

function RunLine({ run, asks }: { run: Short; asks: boolean }) {
  const [status, word] = standing(run.questions.length ? "waiting" : run.status);
  const left = run.questions.map((one) => one.expires_at).filter((one) => one !== null).sort((a, b) => a - b)[0];
  const isOpen = store.thread.value === run.thread_id;
  return (
    <li>
      <button class={`run${asks ? " two" : ""}${isOpen ? " sel" : ""}`} aria-current={isOpen} onClick={() => void open(run.thread_id)} title={run.query.slice(0, 300)}>
        <Icon status={status} />
        <span class="cut t" dir="auto">
          {run.query.slice(0, 200)}
          <span class="vh">, {word}</span>
        </span>
        {asks ? (
          <>
            <span />
            <span class="cut ask">{run.questions[0]?.action ?? word}</span>
            <span class="n">{left !== undefined ? store.mmss(left - store.now.value) : ""}</span>
          </>
        ) : (
          <>
            <span class="n">
              {run.done}/{run.tasks}
            </span>
            <span class="n">{run.cost ? run.cost.toFixed(2) : store.short(run.tokens)}</span>
          </>
        )}
      </button>
    </li>
  );
}

export function Runs() {
  const all = store.listed.value;
  const words = store.filter.value.toLowerCase();
  const fits = (run: Short) => !words || `${run.query} ${run.thread_id}`.toLowerCase().includes(words);
  const group = (title: string, runs: Short[], asks = false) => {
    const found = runs.filter(fits);
    if (!found.length) return null;
    return (
      <section>
        <h2 class={asks ? "park" : ""}>
          {title} <span>{found.length}</span>
        </h2>
        <ul>
          {found.map((run) => (
            <RunLine key={run.thread_id} run={run} asks={asks} />
          ))}
        </ul>
      </section>
    );
  };
  const none = all && !all.needs_you.length && !all.running.length && !all.ended.length;
  return (
    <nav class="left" aria-label="Runs">
      <div class="find">
        <label>
          <span class="vh">Search runs</span>
          <input type="search" id="search" placeholder="Search runs" value={store.filter.value} onInput={(event) => (store.filter.value = event.currentTarget.value)} />
          <kbd>/</kbd>
        </label>
        <button
          class="btn"
          onClick={() => {
            store.panel.value = "start";
            store.tab.value = "sel";
          }}
        >
          New
        </button>
      </div>
      {none && <p class="m none">No run yet. Start one with New, or with “baton run”.</p>}
      {all && group("Needs you", all.needs_you, true)}
      {all && group("Running", all.running)}
      {all && group("Ended", [...all.ended, ...store.older.value])}
      {all?.next && (
        <button class="lnk more" onClick={() => void loadMore()}>
          Earlier runs
        </button>
      )}
    </nav>
  );
}

export function Top() {
  const run = store.view.value?.run;
  const can = (verb: string) => !store.offline && (run?.hint.includes(verb) ?? false);
  const tokens = (run?.usage.input_tokens ?? 0) + (run?.usage.output_tokens ?? 0);
  const line = store.timeline.value;
  const policy = store.view.value?.policy;
  const spent = store.at.value - (line.start ?? store.at.value);
  const money = (dollars: number) => `$${dollars.toFixed(2)}`;
  const meters: Meter[] = run
    ? [
        { name: "Tokens", used: tokens, limit: policy?.token_budget ?? null, told: store.short },
        { name: "Money", used: run.usage.cost, limit: policy?.cost_budget ?? null, told: money },
        { name: "Calls", used: run.usage.calls, limit: null, told: String },
        { name: "Time", used: spent, limit: policy?.max_seconds ?? null, told: store.mmss },
      ]
    : [];
  const words = { live: "Live", gone: "Server gone, trying again", out: "Signed out: reload the page", still: store.offline ? "Exported" : "" };
  return (
    <header class="top">
      <h1 class="brand">
        <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
          <path d="M3 15 15 3" stroke="currentColor" stroke-width="3.4" stroke-linecap="round" />
        </svg>
        Baton
      </h1>
      <dl class="meters" aria-label="Used">
        {meters.map((meter) => (
          <Used key={meter.name} {...meter} />
        ))}
      </dl>
      <div class="wheel">
        <span class={`live ${store.connected.value}`} role="status">
          <i />
          <span>{words[store.connected.value]}</span>
        </span>
        {can("pause") && (
          <button class="btn" onClick={() => void act("pause", {})}>
            Pause<kbd>p</kbd>
          </button>
        )}
        {can("resume") && (
          <button class="btn" onClick={goOn}>
            Go on<kbd>p</kbd>
          </button>
        )}
        {can("takeover") && (
          <button class="btn" onClick={() => void act("takeover", {})}>
            Take over
          </button>
        )}
        {can("hand-back") && (
          <button class="btn pri" onClick={() => show("back")}>
            Hand back
          </button>
        )}
        {can("cancel") && (
          <button class="btn" onClick={() => show("cancel")}>
            Cancel
          </button>
        )}
        <button class="btn ico" aria-label="Switch between light and dark" onClick={theme}>
          <svg class="st" viewBox="0 0 12 12" aria-hidden="true">
            <circle cx="6" cy="6" r="5" fill="none" stroke="currentColor" stroke-width="1.4" />
            <path d="M6 1a5 5 0 0 1 0 10z" fill="currentColor" />
          </svg>
        </button>
      </div>
    </header>
  );
}

interface Meter {
  name: string;
  used: number;
  limit: number | null;
  told: (n: number) => string;
}

/** A counter, against its limit where the run has one. */
function Used({ name, used, limit, told }: Meter) {
  const part = limit ? used / limit : 0;
  const [level, word] = part >= 0.95 ? ["park", part >= 1 ? "used up" : "nearly used up"] : part >= 0.8 ? ["slot", "running low"] : ["", ""];
  return (
    <div class={level}>
      <dt>
        {name}
        {word && <em> {word}</em>}
      </dt>
      <dd>
        {told(used)}
        {limit !== null && <span class="lim"> of {told(limit)}</span>}
        {limit !== null && (
          <span class="bar" aria-hidden="true">
            <i style={{ width: `${Math.min(100, part * 100)}%` }} />
          </span>
        )}
      </dd>
    </div>
  );
}

export function show(panel: Panel): void {
  store.panel.value = panel;
  store.tab.value = "sel";
}

export function theme(): void {
  const root = document.documentElement;
  const now = root.dataset.theme || (matchMedia("(prefers-color-scheme:dark)").matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  store.keep("theme", root.dataset.theme);
}

export function Middle() {
  const run = store.view.value?.run;
  if (!run)
    return (
      <section class="mid" aria-label="Run">
        <div class="none">
          {store.thread.value ? (
            <p class="m">Reading the run.</p>
          ) : (
            <>
              <h2>Nothing is open</h2>
              <p class="m">Choose a run, or ask for something: Baton plans it, gives each task to an agent that fits it, and asks you where it matters. Here you see it happen.</p>
            </>
          )}
        </div>
      </section>
    );
  const [status, word] = store.past.value === null ? standing(run.status) : (["hold", "Replay"] as const);
  const done = run.tasks.filter((task) => store.stateOf(task.id, store.at.value).status === "done").length;
  const asks = run.approvals.length;
  const length = store.at.value - (store.timeline.value.start ?? store.at.value);
  const chain = store.critical.value.seconds;
  const recruits = run.tasks.filter((task) => task.recruited_by).length;
  return (
    <section class="mid" aria-label="Run">
      <div class="head">
        <details class="req">
          <summary class="cut">
            <h2 class="cut" dir="auto">
              {run.query.slice(0, 400)}
            </h2>
          </summary>
          <p dir="auto">
            <Long text={run.query} draws={(part) => part} most={20_000} />
          </p>
        </details>
        <div class="facts">
          <span class={`w ${status}`}>
            <Icon status={status} />
            {word}
          </span>
          <span>
            {done} of {run.tasks.length} done
          </span>
          {asks > 0 && (
            <button class="park w" onClick={() => show("question")}>
              <Icon status="park" />
              {asks} {asks > 1 ? "questions" : "question"}
            </button>
          )}
          {store.view.value?.policy && <span class="o2">{OVERSIGHT[store.view.value.policy.oversight] ?? ""}</span>}
          {run.model && <span class="o2">model {run.model}</span>}
          <span class="o2 mono m">{run.thread_id}</span>
        </div>
      </div>
      <div class="sec">
        <h3>Plan</h3>
        <span class="m o2">
          {store.counted(run.tasks.length, "task")}{recruits ? `, ${recruits} recruited` : ""}, critical path bold
        </span>
        <span class="m r o2">at the right: tokens, confidence</span>
      </div>
      <Graph />
      <section class="gantt" aria-label="Time">
        <div class="sec">
          <h3>Time</h3>
          <Legend />
          <span class="r m">
            {/* a chain shorter than a second says nothing */}
            makespan <b>{store.took(length)}</b> / <u>critical path</u> <b>{store.took(chain)}</b>
            {chain >= 1 && length < 100 * chain && ` = ${(length / chain).toFixed(2)}`}
          </span>
        </div>
        <Gantt />
      </section>
      <Log />
    </section>
  );
}

const OVERSIGHT: Record<string, string> = {
  auto: "oversight by trust",
  in_command: "you are in command",
  in_the_loop: "you are in the loop",
  on_the_loop: "you are on the loop",
};

function Legend() {
  const one = (kind: string, high: number, word: string) => (
    <span key={kind}>
      <svg class="b" aria-hidden="true">
        <rect class={kind} x=".5" y={5 - high / 2} width="15" height={high} />
      </svg>
      {word}
    </span>
  );
  return (
    <span class="leg">
      <em>Waits for</em>
      {one("wait", 6, "inputs")}
      {one("slot", 6, "a slot")}
      {one("park", 9, "you")}
      {one("work o", 10, "working")}
    </span>
  );
}

/** What a kind of event is called where its own name does not say it. */
const SAID: Record<string, string> = {
  phase_entered: "phase",
  task_retried: "tried again",
  task_finished: "task ended",
  plan_advised: "advice of earlier runs",
  agent_recruited: "recruit",
  agent_retired: "retired",
  agent_reported: "note of an agent",
  mail_delivered: "mail",
  delegation_started: "delegated",
  delegation_completed: "delegate done",
  approval_requested: "question asked",
  approval_answered: "answered",
  control_changed: "steered",
  signal_refused: "refused",
  budget_exceeded: "over budget",
  server_paused: "server asks to wait",
  result_doubted: "in doubt",
  run_finished: "run ended",
};

const DRIVEN: Record<string, string> = { paused: "paused", handed_over: "a human drives", running: "goes on by itself", cancelled: "is cancelled", cancelling: "is cancelled" };

const words = (name: string) => name.replaceAll("_", " ");

function told(event: Event): string {
  const data = event.data;
  if (event.kind === "mail_delivered") return `${String(data.sender)} to ${String(data.to)}`;
  const parts = event.kind === "phase_entered" ? [event.phase] : [event.agent, data.status, data.action, data.decision, DRIVEN[String(data.driving)], data.by && `by ${String(data.by)}`, data.reason, data.said];
  const found = parts.filter(Boolean);
  if (found.length === (event.agent ? 1 : 0)) found.push(...Object.entries(data).filter(([, one]) => one && typeof one !== "object").map(([name, one]) => `${words(name)} ${typeof one === "number" ? Number(one.toFixed(2)) : String(one)}`));
  return found.map((one) => String(one).slice(0, 300)).join(", ");
}

const LOGS = ["events", "approvals", "replay", "raw"] as const;

function Log() {
  const opened = store.drawer.value;
  const from = store.timeline.value.start ?? 0;
  const run = store.view.value;
  const broken = run?.audit.broken ?? "";
  const turn = (name: typeof opened) => {
    store.drawer.value = opened === name ? "" : name;
    if (store.drawer.value !== "replay") store.past.value = null;
  };
  const sought = store.sought.value.toLowerCase();
  const isSought = (event: Event) => !sought || `${SAID[event.kind] ?? words(event.kind)} ${event.kind} ${event.task_id ?? ""} ${told(event)}`.toLowerCase().includes(sought);
  const events = opened === "events" ? store.events.value.filter((event) => event.ts <= store.at.value + 0.001 && isSought(event)) : [];
  return (
    <section class={`drawer${opened ? "" : " shut"}`} aria-label="Log">
      <div class="dh">
        {([...LOGS, ...(store.passage.value ? (["source"] as const) : [])] as const).map((name) => (
          <button key={name} aria-pressed={opened === name} onClick={() => turn(name)}>
            {name.charAt(0).toUpperCase() + name.slice(1)}
          </button>
        ))}
        {opened === "events" && (
          <input type="search" aria-label="Filter events" placeholder="Filter" value={store.sought.value} onInput={(event) => (store.sought.value = event.currentTarget.value)} />
        )}
        <span class="ok">
          {broken ? (
            <span class="fail w">
              <Icon status="fail" />
              Chain broken
            </span>
          ) : (
            <span class="done w">
              <Icon status="done" />
              Chain verified
            </span>
          )}
          <span class="m">{run?.audit.entries.length === 1 ? "1 record" : `${run?.audit.entries.length ?? 0} records`}</span>
          <kbd>l</kbd>
        </span>
      </div>
      {opened && (
        <div class="dbody" tabIndex={0} role="region" aria-label={opened}>
          {opened === "events" && sought && !events.length && <p class="m">No event has “{store.sought.value}”.</p>}
          {opened === "events" &&
            events.slice(-store.mostEvents.value).reverse().map((event) => (
              <div key={event.seq} class={`ev${store.hover.value && store.hover.value === event.task_id ? " hot" : ""}`}>
                <span>{store.mmss(event.ts - from)}</span>
                <span>{event.seq}</span>
                <span class={`cut${event.kind === "approval_requested" ? " park" : ""}`}>{SAID[event.kind] ?? words(event.kind)}</span>
                <span class="cut">
                  {event.task_id} <span class="m" dir="auto">{told(event)}</span>
                </span>
              </div>
            ))}
          {events.length > store.mostEvents.value && (
            <button class="lnk" onClick={() => (store.mostEvents.value += 1000)}>
              {(events.length - store.mostEvents.value).toLocaleString("en")} earlier
            </button>
          )}
          {opened === "approvals" && (
            <>
              {broken && <p class="fail">{broken}</p>}
              {[...(run?.audit.entries ?? [])].reverse().map((entry) => (
                <div key={entry.number} class="ev">
                  <span>{store.mmss(entry.at - from)}</span>
                  <span>{entry.number}</span>
                  <span class="cut">{entry.decision || entry.kind}</span>
                  <span class="cut">
                    {entry.action} {entry.task_id} {entry.by && `by ${entry.by}`} <span class="mono m">{entry.seal.slice(0, 9)}</span>
                  </span>
                </div>
              ))}
              <p class="m">Each record holds the seal of the one before. Checked when the page read them.</p>
            </>
          )}
          {opened === "replay" && <Replay />}
          {opened === "source" && <Source />}
          {opened === "raw" && <Long text={JSON.stringify(run?.run, null, 1)} draws={(part) => <pre class="raw">{part}</pre>} />}
        </div>
      )}
    </section>
  );
}

/** What a citation says it has read, with what stands around it. */
function Source() {
  const found = store.passage.value;
  if (!found) return <p class="m">Choose a citation in a result or in the report.</p>;
  if ("missing" in found)
    return found.missing ? (
      <p class="fail" role="status">
        {found.missing}
      </p>
    ) : (
      <p class="m">Reading {found.file}.</p>
    );
  const { first = 0, last = 0 } = found;
  return (
    <div class="src">
      <p>
        <b>{found.file}</b> <span class="m">{found.unit === "table" ? "the whole table" : `${found.unit} ${first}${last > first ? ` to ${last}` : ""}`}</span>
      </p>
      {found.about && <p>{found.about}</p>}
      {found.units.map(({ n, text }) => (
        <div key={n} class={n >= first && n <= last ? "line on" : "line"} ref={n === first ? intoSight : undefined}>
          <span class="n">{n}</span>
          <span dir="auto">{text}</span>
        </div>
      ))}
    </div>
  );
}

const intoSight = (row: HTMLElement | null): void => row?.scrollIntoView({ block: "center" });

function Replay() {
  const line = store.timeline.value;
  const from = line.start ?? 0;
  const to = line.end ?? Math.max(store.tick.value, from + 1);
  return (
    <>
      <label class="scrub">
        The page as it was at <b>{store.mmss(store.at.value - from)}</b>
        <input
          type="range"
          min="0"
          max="1000"
          value={((store.at.value - from) / (to - from)) * 1000}
          onInput={(event) => {
            const where = Number(event.currentTarget.value);
            store.past.value = where >= 1000 ? null : from + ((to - from) * where) / 1000;
          }}
        />
      </label>
      <p class="m">
        The run itself goes on.{" "}
        {store.past.value !== null && (
          <button class="lnk" onClick={() => (store.past.value = null)}>
            Back to now
          </button>
        )}
      </p>
    </>
  );
}

function TaskBody() {
  const task = store.view.value?.run.tasks.find((one) => one.id === store.chosen.value);
  if (!task) return <p class="m">Choose a task in the plan.</p>;
  const line = store.timeline.value.tasks[task.id];
  const { status, worked } = store.stateOf(task.id, store.at.value);
  const from = store.timeline.value.start ?? 0;
  const waited = (line?.segments ?? []).filter((part) => part.kind !== "work").reduce((all, part) => all + (part.end ?? store.at.value) - part.start, 0);
  const mail = (store.view.value?.mail ?? []).filter((one) => one.agent === task.agent || one.sender === task.agent);
  const notes = store.events.value.filter((event) => event.kind === "agent_reported" && event.task_id === task.id && event.data.said && event.ts >= from);
  const delegated = (store.view.value?.run.delegations ?? []).filter((one) => one.task_id === task.id);
  return (
    <>
      <p class="kick m">
        <Icon status={status} />
        <span class={`w ${status}`}>{store.WORD[status]}</span>
        <span>{task.agent ?? task.role}</span>
        <span class="r mono">{task.id}</span>
      </p>
      <h2>{store.titleOf(task)}</h2>
      {task.description.toLowerCase() !== store.titleOf(task).toLowerCase() && (
        <p class="lead" dir="auto">
          <Long text={task.description} draws={(part) => part} most={2000} />
        </p>
      )}
      <dl class="kv four">
        {[
          ["Worked", store.took(worked)],
          ["Waited", store.took(waited)],
          ["Tokens", store.short(task.tokens)],
          ["Confidence", task.confidence?.toFixed(2) ?? "none given"],
        ].map(([name, value]) => (
          <div key={name}>
            <dt class="lab">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h3>Result</h3>
      {task.result !== null && task.result !== "" ? <Markdown text={store.plain(task.result)} /> : <p class={task.error ? "fail" : "m"}>{task.error ?? "Comes when the agent is done. You need not wait here."}</p>}
      {task.scores.length > 0 && (
        <>
          <h3>
            Why {task.agent}
            <span>60 % own score, 40 % keywords</span>
          </h3>
          {task.scores.map((score) => (
            <div key={score.agent} class={`sc${score.agent === task.agent ? " win" : ""}`}>
              <span class="cut">{score.agent}</span>
              <span class="tk">
                <i style={{ width: `${score.self_assessment * 60}%` }} />
                <i style={{ width: `${score.keywords * 40}%` }} />
              </span>
              <span class="n">{score.total.toFixed(2)}</span>
            </div>
          ))}
          <p class="m small">{task.route_reason}</p>
        </>
      )}
      <h3>
        Attempts<span>{line?.tries ?? 0}</span>
      </h3>
      {(line?.segments ?? []).filter((part) => part.kind === "work").map((part, i) => (
        <div key={i} class="at">
          <Icon status={part.failed ? "fail" : part.end === null ? "work" : "done"} />
          <span>{store.mmss(part.start - from)}</span>
          <span class="n">{store.took((part.end ?? store.at.value) - part.start)}</span>
          <span class="m">{part.failed ? "failed" : part.end === null ? "working" : part.round ? `round ${part.round + 1}` : "worked"}</span>
        </div>
      ))}
      {(line?.errors ?? []).filter((why) => why !== task.error).map((why, i) => (
        <p key={i} class="fail small">
          {why}
        </p>
      ))}
      {notes.length > 0 && (
        <details class="f">
          <summary>
            What the agent said on the way <span class="m">{notes.length}</span>
          </summary>
          {notes.map((note) => (
            <div key={note.seq}>
              <p class="m small">{store.mmss(note.ts - from)}</p>
              <Markdown text={store.plain(note.data.said)} />
            </div>
          ))}
        </details>
      )}
      {delegated.length > 0 && (
        <>
          <h3>
            Delegated<span>{delegated.length}</span>
          </h3>
          {delegated.map((one, i) => (
            <details key={i} class="f">
              <summary>
                {one.worker} <span class="m">{one.status}</span>
              </summary>
              <p dir="auto">{one.task}</p>
              {one.result ? <Markdown text={store.plain(one.result)} /> : null}
              {one.error && <p class="fail">{one.error}</p>}
            </details>
          ))}
        </>
      )}
      {mail.length > 0 && (
        <>
          <h3>
            Mail<span>{mail.filter((one) => !one.read).length} unread</span>
          </h3>
          {mail.map((one, i) => (
            <details key={i} class="f" open={!one.read}>
              <summary>
                {store.mmss(one.at - from)}{" "}
                <span class={one.read ? "m" : "w"}>
                  {one.sender} to {one.agent}
                  {one.read ? "" : ", unread"}
                </span>
              </summary>
              <p dir="auto">{one.text}</p>
            </details>
          ))}
        </>
      )}
    </>
  );
}

/** What the plan rests on, with a way to each of those runs. */
function Learned({ advice }: { advice: Advice }) {
  const how = advice.is_rejected ? "A human has rejected the plan of" : advice.is_applied ? "The plan was taken from" : "A plan was suggested by";
  return (
    <p class="note">
      {how} earlier runs ({advice.successes} of {advice.runs} went well, confidence {advice.confidence.toFixed(2)}):
      {advice.threads.slice(0, MOST_LINKED).map((thread) => (
        <span key={thread}>
          {" "}
          {store.offline ? (
            thread
          ) : (
            <button class="cite" onClick={() => void open(thread)}>
              {thread}
            </button>
          )}
        </span>
      ))}
      {advice.threads.length > MOST_LINKED && " …"}
    </p>
  );
}

const MOST_LINKED = 5;

/** Who holds a run that stands still, why, and what sets it going again. */
function Held() {
  const run = store.view.value?.run;
  const last = store.events.value.findLast((event) => event.kind === "control_changed");
  if (!run || store.offline || store.past.value !== null || (run.status !== "paused" && run.status !== "handed_over")) return null;
  const isPaused = run.status === "paused";
  const { by, reason } = last?.data ?? {};
  return (
    <div class="note">
      <p>
        {isPaused ? "Paused" : "Taken over"}
        {by ? ` by ${String(by)}` : ""}
        {reason ? `: ${String(reason).slice(0, 400)}` : "."}
      </p>
      <p class="m">
        {isPaused
          ? "Agents have stopped at a safe point. Go on, take over, or cancel."
          : "Nothing runs until it is handed back, with results for what you did and a plan for what is left."}
      </p>
      {!isPaused && run.hint.includes("hand-back") && (
        <p class="go">
          <button class="btn pri" onClick={() => show("back")}>
            Hand back
          </button>
        </p>
      )}
    </div>
  );
}

function ReportBody() {
  const run = store.view.value?.run;
  if (!run) return <p class="m">The report of a run stands here, and grows as its tasks are done.</p>;
  const [status, word] = standing(run.status);
  const open = run.tasks.filter((task) => store.stateOf(task.id, store.at.value).status !== "done");
  const isWhole = store.hasEnded.value && store.past.value === null;
  return (
    <>
      <p class="kick m">
        <Icon status={status} />
        <span class={`w ${status}`}>{word}</span>
        <span>{isWhole ? "" : "so far: parts appear as tasks are done"}</span>
      </p>
      <Held />
      {run.error && <p class="fail">{run.error}</p>}
      {run.advice && <Learned advice={run.advice} />}
      {run.warnings.map((warning, i) => (
        <p key={i} class="note">
          {warning}
        </p>
      ))}
      {isWhole && run.report ? (
        <Markdown text={run.report} />
      ) : (
        run.tasks.filter((task) => !open.includes(task) && task.result).map((task) => (
          <section key={task.id}>
            <h3>
              {store.titleOf(task)}
              <span>{task.agent}</span>
            </h3>
            <Markdown text={store.plain(task.result)} />
          </section>
        ))
      )}
      {!isWhole && open.length > 0 && (
        <>
          <h3>
            Still to come
            <span>
              {open.length} of {run.tasks.length}
            </span>
          </h3>
          {open.slice(0, 100).map((task) => {
            const state = store.stateOf(task.id, store.at.value).status;
            return (
              <button
                key={task.id}
                class="todo"
                onClick={() => {
                  store.chosen.value = task.id;
                  store.panel.value = "task";
                }}
              >
                <Icon status={state} />
                <span>{store.titleOf(task)}</span>
                <span class={state}>{store.WORD[state]}</span>
              </button>
            );
          })}
        </>
      )}
    </>
  );
}

export function Right() {
  const panel = store.panel.value;
  const tabs: [Panel, string][] = [];
  if (store.question.value) tabs.push(["question", "Question"]);
  if (store.chosen.value) tabs.push(["task", "Task"]);
  if (store.view.value) tabs.push(["report", "Report"]);
  if (store.view.value && !store.offline) tabs.push(["team", "Team"]);
  if (panel === "cancel") tabs.push(["cancel", "Cancel"]);
  if (panel === "back") tabs.push(["back", "Hand back"]);
  if (panel === "start") tabs.push(["start", "New run"]);
  return (
    <section class="right" aria-label="Selection">
      <div class="rt">
        {tabs.map(([name, word]) => (
          <button key={name} aria-pressed={panel === name} onClick={() => (store.panel.value = name)}>
            {name === "question" && <Icon status="park" />}
            {word}
          </button>
        ))}
      </div>
      <div class="body" tabIndex={0} role="region" aria-label="Details">
        {store.trouble.value && (
          <p class="note fail" role="alert">
            {store.trouble.value}
          </p>
        )}
        {panel === "question" ? <QuestionBody /> : panel === "task" ? <TaskBody /> : panel === "cancel" ? <Cancel /> : panel === "back" ? <HandBack /> : panel === "start" ? <Start /> : panel === "team" ? <Team /> : <ReportBody />}
      </div>
      {panel === "question" && <QuestionFoot />}
    </section>
  );
}

export function Tabs() {
  const asks = store.listed.value?.needs_you.length ?? 0;
  const all: [string, string][] = [
    ["runs", asks ? `Runs ${asks}` : "Runs"],
    ["plan", "Plan"],
    ["sel", { question: "Question", task: "Task", report: "Report", cancel: "Cancel", back: "Hand back", start: "New run", team: "Team" }[store.panel.value]],
    ["log", "Log"],
  ];
  return (
    <nav class="tabs" aria-label="Columns">
      {all.filter(([name]) => name !== "runs" || !store.offline).map(([name, word]) => (
        <button key={name} class={name === "sel" || name === "log" ? "o" : ""} aria-pressed={store.tab.value === name} onClick={() => (store.tab.value = name)}>
          {word}
        </button>
      ))}
    </nav>
  );
}
