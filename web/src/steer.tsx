// Starting, cancelling and handing back a run: forms whose text outlives everything but being sent.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { act, offersOf, planOf, sendFile, teamOf, type Member, type Offers } from "./api";
import { Icon } from "./parts";
import { Steps, faultsIn, stepsOf, tasksOf, type Step } from "./steps";
import * as store from "./store";

const query = signal(store.kept("query"));
const sources = signal(store.kept("sources"));
const oversight = signal("");
const tokens = signal("");
const reason = signal("");
const offers = signal<Offers | null>(null);
const chosenTeam = signal("");
const chosenModel = signal("");
const isQueued = signal(false);
const priority = signal("0");
/** Names of files that are on their way to the server, and whether some are held over the form. */
const sending = signal<string[]>([]);
const isOver = signal(false);

function setSources(text: string): void {
  sources.value = text;
  store.keep("sources", text);
}

async function take(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    sending.value = [...sending.value, file.name];
    const path = await sendFile(file);
    sending.value = sending.value.filter((one) => one !== file.name);
    if (!path) return;
    setSources([...sources.value.split("\n").filter(Boolean), path].join("\n"));
  }
}

/** What is changed in the plan, and the results given, by thread: kept until it is handed back, over reloads too. */
interface Back {
  steps: Step[];
  results: Record<string, string>;
}
const backs = signal<Record<string, Back>>(JSON.parse(store.kept("backs") || "{}") as Record<string, Back>);

function keepBack(thread: string, fields: Partial<Back> | null): void {
  const { [thread]: before = { steps: [], results: {} }, ...others } = backs.value;
  backs.value = fields ? { ...others, [thread]: { ...before, ...fields } } : others;
  store.keep("backs", Object.keys(backs.value).length ? JSON.stringify(backs.value) : "");
}

export function Start() {
  const budget = tokens.value.trim();
  const wrong =
    budget && !/^[1-9]\d{0,11}$/.test(budget)
      ? `${budget} is no number of tokens; give a whole number from 1`
      : isQueued.value && !/^-?\d{1,3}$/.test(priority.value.trim())
        ? `${priority.value} is no priority; give a whole number from -999 to 999`
        : "";
  useEffect(() => void offersOf().then((told) => (offers.value = told), () => undefined), []);
  const given = offers.value;
  const start = async () => {
    const paths = sources.value.split(/\n/).map((one) => one.trim()).filter(Boolean);
    const policy = { ...(oversight.value && { oversight: oversight.value }), ...(budget && { token_budget: Number(budget) }) };
    const queued = isQueued.value ? { queue: true, priority: Number(priority.value) } : {};
    const body = { query: query.value, sources: paths, policy: Object.keys(policy).length ? policy : null, team: chosenTeam.value, model: chosenModel.value, ...queued };
    if (!(await act("start", body))) return;
    query.value = "";
    store.keep("query", "");
  };
  return (
    <>
      <h2>Start a run</h2>
      <div class="form">
        <label class="long">
          <span>What is to be done</span>
          <textarea
            class="edit"
            rows={6}
            dir="auto"
            value={query.value}
            onInput={(event) => {
              query.value = event.currentTarget.value;
              store.keep("query", query.value);
            }}
          />
        </label>
        <label class="long">
          <span>Sources: files and folders of the server, one a line</span>
          <textarea
            class="edit"
            rows={2}
            value={sources.value}
            onInput={(event) => setSources(event.currentTarget.value)}
          />
        </label>
        {given !== null && given.file_bytes > 0 && (
          <label
            class={`drop${isOver.value ? " over" : ""}`}
            onDragOver={(event) => {
              event.preventDefault();
              isOver.value = true;
            }}
            onDragLeave={() => (isOver.value = false)}
            onDrop={(event) => {
              event.preventDefault();
              isOver.value = false;
              void take([...(event.dataTransfer?.files ?? [])]);
            }}
          >
            <input
              type="file"
              multiple
              class="vh"
              onChange={(event) => {
                const { files } = event.currentTarget;
                void take([...(files ?? [])]).then(() => undefined);
                event.currentTarget.value = "";
              }}
            />
            <span aria-live="polite">{sending.value.length ? `Sending ${sending.value.join(", ")}` : "Drop files here, or choose some: they become sources"}</span>
          </label>
        )}
        {given !== null && given.teams.length > 1 && (
          <label>
            <span>Team</span>
            <select class="edit" value={chosenTeam.value} onChange={(event) => (chosenTeam.value = event.currentTarget.value)}>
              {given.teams.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.name || "the server’s own"}: {one.agents.slice(0, 8).join(", ")}
                  {one.agents.length > 8 ? " and more" : ""}
                </option>
              ))}
            </select>
          </label>
        )}
        {given !== null && given.models.length > 0 && (
          <label>
            <span>Model</span>
            <select class="edit" value={chosenModel.value} onChange={(event) => (chosenModel.value = event.currentTarget.value)}>
              {["", ...given.models].map((one) => (
                <option key={one} value={one}>
                  {one || "as the server says"}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          <span>Oversight</span>
          <select class="edit" value={oversight.value} onChange={(event) => (oversight.value = event.currentTarget.value)}>
            <option value="">as the server says</option>
            <option value="in_command">in command: asks before everything</option>
            <option value="in_the_loop">in the loop: asks where it matters</option>
            <option value="on_the_loop">on the loop: tells, and goes on</option>
          </select>
        </label>
        <label>
          <span>Tokens</span>
          <input class="edit" inputMode="numeric" placeholder="no limit" value={tokens.value} onInput={(event) => (tokens.value = event.currentTarget.value)} />
        </label>
      </div>
      {given?.queue && (
        <div class="form">
          <label>
            <span>Queue</span>
            <span class="tick">
              <input type="checkbox" checked={isQueued.value} onChange={(event) => (isQueued.value = event.currentTarget.checked)} />
              for the next worker that is free
            </span>
          </label>
          {isQueued.value && (
            <label>
              <span>Priority</span>
              <input class="edit" inputMode="numeric" value={priority.value} onInput={(event) => (priority.value = event.currentTarget.value)} />
            </label>
          )}
        </div>
      )}
      <p class="m small">Where the server is stricter, the server’s rule holds.</p>
      {wrong && <p class="fail">{wrong}</p>}
      <p class="go">
        <button class="btn pri" disabled={!query.value.trim() || wrong !== "" || sending.value.length > 0} onClick={() => void start()}>
          Start
        </button>
      </p>
    </>
  );
}

/** What a rollback would take back, newest first. */
function Effects() {
  const effects = store.view.value?.effects ?? [];
  const from = store.timeline.value.start ?? 0;
  if (!effects.length) return <p class="m">Nothing has been done to the outside world yet: a rollback would have nothing to undo.</p>;
  const left = effects.filter((one) => !one.undo).length;
  return (
    <>
      <h3>
        Done outside, newest first
        <span>
          {left ? `${effects.length - left} of ${effects.length} can be undone` : "all can be undone"}
        </span>
      </h3>
      <ol class="effects">
        {effects.map((one) => (
          <li key={one.id}>
            <span class="n m">{store.mmss(one.at - from)}</span>
            <span>
              <b class="mono">{one.tool}</b> <span class="m">by {one.agent}{one.status === "intended" ? ", may not have happened" : ""}</span>
              <br />
              <span class="m mono" dir="auto">
                {Object.entries(one.args).map(([name, value]) => `${name}: ${store.plain(value).slice(0, 60)}`).join(", ")}
              </span>
              <br />
              {one.undo ? (
                <>
                  undone by <span class="mono">{one.undo}</span>
                </>
              ) : (
                <span class="fail">has no undo: stays, for you to settle</span>
              )}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

export function Cancel() {
  const end = async (rollback: boolean) => {
    if (await act("cancel", { reason: reason.value, rollback })) store.close("cancel");
  };
  return (
    <>
      <h2>Cancel this run?</h2>
      <p class="lead">Agents stop where they are. What is finished stays readable; open questions are withdrawn.</p>
      <div class="form">
        <label>
          <span>reason</span>
          <input class="edit" value={reason.value} onInput={(event) => (reason.value = event.currentTarget.value)} />
        </label>
      </div>
      <Effects />
      <p class="go">
        <button class="btn" onClick={() => (store.panel.value = "report")}>
          Keep running<kbd>esc</kbd>
        </button>
        <button class="btn fail" onClick={() => void end(false)}>
          Cancel run
        </button>
        <button class="btn fail" onClick={() => void end(true)}>
          Cancel and roll back
        </button>
      </p>
    </>
  );
}

export function HandBack() {
  const run = store.view.value?.run;
  const thread = run?.thread_id ?? "";
  const begun = backs.value[thread];
  useEffect(() => {
    if (!thread || backs.value[thread]) return;
    void planOf(thread).then(
      (plan) => keepBack(thread, { steps: stepsOf(plan.tasks) }),
      (error: unknown) => (store.trouble.value = (error as Error).message),
    );
  }, [thread, begun === undefined]);
  if (!run || !begun) return <p class="m">Reading the plan.</p>;
  const { steps, results } = begun;
  const wrong = faultsIn(steps);
  const back = async () => {
    const ids = steps.map((step) => step.id);
    const given = Object.fromEntries(Object.entries(results).filter(([id, text]) => text.trim() && ids.includes(id)));
    if (!(await act("hand-back", { results: given, plan: { tasks: tasksOf(steps) } }))) return;
    keepBack(thread, null);
    store.close("back");
  };
  return (
    <>
      <h2>Hand the run back</h2>
      <p class="lead">Give results for tasks that you did, change what is to be done from here on.</p>
      <h3>
        Plan<span>{store.counted(steps.length, "task")}</span>
      </h3>
      <Steps
        steps={steps}
        changes={(changed) => keepBack(thread, { steps: changed })}
        stands={(id) => run.tasks.find((task) => task.id === id)?.status ?? "new"}
        results={results}
        gives={(id, result) => keepBack(thread, { results: { ...results, [id]: result } })}
      />
      <p class="go">
        <button class="btn pri" disabled={wrong.length > 0} onClick={() => void back()}>
          Hand back
        </button>
        <button class="btn" onClick={() => keepBack(thread, null)}>
          Begin anew
        </button>
      </p>
    </>
  );
}

const team = signal<Member[]>([]);
const to = signal("all");
const letter = signal("");
const role = signal("");
const job = signal("");

export function Team() {
  const thread = store.thread.value;
  const done = store.events.value.length;
  useEffect(() => {
    if (!store.offline && thread) void teamOf(thread).then((told) => (team.value = told.team), () => undefined);
  }, [thread, done]);
  const canSteer = store.view.value?.run.hint.includes("cancel") ?? false;
  return (
    <>
      <h2>Team</h2>
      <div class="wide">
        <table class="tb">
          <thead>
            <tr>
              <th scope="col">Agent</th>
              <th scope="col">Now</th>
              <th scope="col">Trusted</th>
              <th scope="col">Unread</th>
              {canSteer && (
                <th scope="col">
                  <span class="vh">Retire</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {team.value.map((member) => (
              <tr key={member.agent}>
                <td>
                  {member.recruited ? "+ " : ""}
                  {member.agent}
                </td>
                <td>
                  {member.status} {member.tasks.join(", ")}
                </td>
                <td>{member.trust ? `${member.trust.level}, ${member.trust.tasks_completed} of ${member.trust.tasks_completed + member.trust.tasks_failed}` : ""}</td>
                <td>{member.unread || ""}</td>
                {canSteer && (
                  <td>
                    {member.status !== "retired" && (
                      <button class="lnk" onClick={() => void act("retire", { agent: member.agent })}>
                        Retire<span class="vh"> {member.agent}</span>
                      </button>
                    )}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {canSteer && (
        <>
          <h3>Write to somebody</h3>
          <div class="form">
            <label>
              <span>to</span>
              <select value={to.value} onChange={(event) => (to.value = event.currentTarget.value)}>
                {["all", ...team.value.map((member) => member.agent)].map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            <label>
              <span>text</span>
              <textarea class="edit" rows={2} value={letter.value} onInput={(event) => (letter.value = event.currentTarget.value)} />
            </label>
          </div>
          <p class="go">
            <button class="btn" disabled={!letter.value.trim()} onClick={() => void act("mail", { to: to.value, text: letter.value }).then((sent) => sent && (letter.value = ""))}>
              Send
            </button>
          </p>
          <h3>Recruit</h3>
          <div class="form">
            <label>
              <span>role</span>
              <input class="edit" value={role.value} onInput={(event) => (role.value = event.currentTarget.value)} />
            </label>
            <label>
              <span>task</span>
              <textarea class="edit" rows={2} value={job.value} onInput={(event) => (job.value = event.currentTarget.value)} />
            </label>
          </div>
          <p class="go">
            <button class="btn" disabled={!role.value.trim() || !job.value.trim()} onClick={() => void act("recruit", { role: role.value, task: job.value }).then((sent) => sent && (job.value = ""))}>
              <Icon status="work" /> Recruit
            </button>
          </p>
        </>
      )}
    </>
  );
}
