// Starting, cancelling and handing back a run: forms whose text outlives everything but being sent.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { act, planOf, teamOf, type Member } from "./api";
import { Icon } from "./parts";
import * as store from "./store";

const query = signal(store.kept("query"));
const sources = signal("");
const oversight = signal("");
const results = signal<Record<string, string>>({});
const steps = signal<Step[] | null>(null);
const reason = signal("");

interface Step {
  id: string;
  description: string;
  role: string;
  depends_on: string;
  rest: Record<string, unknown>;
}

export function Start() {
  const start = async () => {
    const paths = sources.value.split(/\n/).map((one) => one.trim()).filter(Boolean);
    const policy = oversight.value ? { oversight: oversight.value } : null;
    if (!(await act("start", { query: query.value, sources: paths, policy }))) return;
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
            value={query.value}
            onInput={(event) => {
              query.value = event.currentTarget.value;
              store.keep("query", query.value);
            }}
          />
        </label>
        <label class="long">
          <span>Sources: files and folders of the server, one a line</span>
          <textarea class="edit" rows={2} value={sources.value} onInput={(event) => (sources.value = event.currentTarget.value)} />
        </label>
        <label>
          <span>oversight</span>
          <select value={oversight.value} onChange={(event) => (oversight.value = event.currentTarget.value)}>
            <option value="">as the server says</option>
            <option value="in_command">in command: asks first</option>
            <option value="in_the_loop">in the loop</option>
          </select>
        </label>
      </div>
      <p class="go">
        <button class="btn pri" disabled={!query.value.trim()} onClick={() => void start()}>
          Start
        </button>
      </p>
    </>
  );
}

export function Cancel() {
  const end = async (rollback: boolean) => {
    if (await act("cancel", { reason: reason.value, rollback })) store.panel.value = "report";
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
      <p class="m">A rollback undoes what was done to the outside world, newest first, as far as the tools have an undo.</p>
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
  useEffect(() => {
    if (steps.value !== null || !run) return;
    void planOf(run.thread_id).then(
      (plan) => {
        steps.value = ((plan.tasks ?? []) as Record<string, unknown>[]).map(({ id, description, role, depends_on, ...rest }) => ({
          id: String(id),
          description: String(description),
          role: String(role ?? "generalist"),
          depends_on: ((depends_on ?? []) as string[]).join(" "),
          rest,
        }));
      },
      () => (steps.value = []),
    );
  }, [run?.thread_id]);
  if (!run) return null;
  const rows = steps.value ?? [];
  const ids = rows.map((row) => row.id);
  const wrong = rows.flatMap((row, i) => [
    ...(!row.id ? [`task ${i + 1} has no id`] : ids.indexOf(row.id) !== i ? [`${row.id} stands there twice`] : []),
    ...row.depends_on.split(/\s+/).filter((one) => one && !ids.includes(one)).map((one) => `${row.id} waits for ${one}, which is no task`),
  ]);
  const change = (i: number, fields: Partial<Step>) => (steps.value = rows.map((row, n) => (n === i ? { ...row, ...fields } : row)));
  const back = async () => {
    const given = Object.fromEntries(Object.entries(results.value).filter(([, text]) => text.trim()));
    const plan = { tasks: rows.map(({ rest, depends_on, ...row }) => ({ ...rest, ...row, depends_on: depends_on.split(/\s+/).filter(Boolean) })) };
    if (!(await act("hand-back", { results: given, plan }))) return;
    results.value = {};
    steps.value = null;
    store.panel.value = "report";
  };
  return (
    <>
      <h2>Hand the run back</h2>
      <p class="lead">Give results for tasks that you did, change what is to be done from here on.</p>
      <h3>
        Plan<span>{rows.length} tasks</span>
      </h3>
      {rows.map((row, i) => {
        const status = run.tasks.find((task) => task.id === row.id)?.status ?? "new";
        return (
          <fieldset key={i} class="step">
            <legend class="mono">
              {row.id || "new"} <span class="m">{status}</span>
            </legend>
            <input aria-label={`id of task ${i + 1}`} value={row.id} onInput={(event) => change(i, { id: event.currentTarget.value })} />
            <input aria-label={`role for task ${i + 1}`} value={row.role} onInput={(event) => change(i, { role: event.currentTarget.value })} />
            <input aria-label={`what task ${i + 1} waits for`} placeholder="waits for" value={row.depends_on} onInput={(event) => change(i, { depends_on: event.currentTarget.value })} />
            <textarea aria-label={`what task ${i + 1} is`} rows={2} value={row.description} onInput={(event) => change(i, { description: event.currentTarget.value })} />
            {status !== "done" && (
              <textarea
                aria-label={`result of ${row.id}`}
                rows={1}
                placeholder="Its result, if you did it"
                value={results.value[row.id] ?? ""}
                onInput={(event) => (results.value = { ...results.value, [row.id]: event.currentTarget.value })}
              />
            )}
            <button class="lnk" onClick={() => (steps.value = rows.filter((_, n) => n !== i))}>
              Remove {row.id}
            </button>
          </fieldset>
        );
      })}
      <p>
        <button class="btn" onClick={() => (steps.value = [...rows, { id: "", description: "", role: "generalist", depends_on: "", rest: {} }])}>
          Add a task
        </button>
      </p>
      {wrong.map((one) => (
        <p key={one} class="fail">
          {one}
        </p>
      ))}
      <p class="go">
        <button class="btn pri" disabled={wrong.length > 0} onClick={() => void back()}>
          Hand back
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
