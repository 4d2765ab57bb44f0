// A question to a human: what, until when, why, and what exactly would be done; and its answer.
import { signal } from "@preact/signals";
import { act } from "./api";
import { Icon, Markdown } from "./parts";
import { Steps, faultsIn, inWords, stepsOf, tasksOf } from "./steps";
import * as store from "./store";
import type { Approval, Schema } from "./types";

type How = "" | "edit" | "reject";
/** What somebody has begun to answer to a question. */
interface Draft {
  how: How;
  args: Record<string, string>;
  why: string;
}
/** By question: kept until it is sent, over reloads too. */
const drafts = signal<Record<string, Draft>>(JSON.parse(store.kept("answers") || "{}") as Record<string, Draft>);
const busy = signal(false);

const draftOf = (asked: Approval): Draft => drafts.value[asked.id] ?? { how: "", args: {}, why: "" };

function draft(asked: Approval, fields: Partial<Draft>): void {
  drafts.value = { ...drafts.value, [asked.id]: { ...draftOf(asked), ...fields } };
  store.keep("answers", JSON.stringify(drafts.value));
}

/** The form begun is shut; what was typed comes back with it. */
export function leave(): void {
  if (store.question.value) draft(store.question.value, { how: "" });
}

const shown = (asked: Approval, name: string): string => (draftOf(asked).how === "edit" ? draftOf(asked).args[name] : undefined) ?? store.plain(asked.args[name]);

/** The value that a text of the form stands for. */
function valueOf(asked: Approval, name: string, text: string): unknown {
  const before = asked.args[name];
  const type = asked.args_schema?.properties?.[name]?.type;
  if (text === store.plain(before)) return before;
  if (typeof before === "string" || type === "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Whether an argument is the list of a plan's tasks, which is shown and changed as one. */
const isPlan = (asked: Approval, name: string): boolean => asked.subject === "plan" && name === "tasks" && Array.isArray(asked.args.tasks);

const stepsIn = (asked: Approval) => stepsOf(valueOf(asked, "tasks", shown(asked, "tasks")));

/** Why the changed plan cannot be approved. */
const faultsOf = (asked: Approval): string[] => (draftOf(asked).how === "edit" && isPlan(asked, "tasks") ? faultsIn(stepsIn(asked)) : []);

async function answer(asked: Approval, how: "approve" | "edit" | "reject"): Promise<void> {
  if (busy.value) return;
  const { args: edited, why } = draftOf(asked);
  const args = { ...asked.args, ...Object.fromEntries(Object.entries(edited).map(([name, text]) => [name, valueOf(asked, name, text)])) };
  const said = how === "edit" ? { type: "edit", args } : { type: how, message: how === "reject" ? why : "" };
  busy.value = true;
  const taken = await act("answer", { answers: { [asked.id]: said } });
  busy.value = false;
  if (!taken) return;
  store.said.value = `Answered: ${how}`;
  const { [asked.id]: _, ...others } = drafts.value;
  drafts.value = others;
  store.keep("answers", Object.keys(others).length ? JSON.stringify(others) : "");
  store.wanted.value = store.view.value?.run.approvals.find((one) => one.id !== asked.id)?.id ?? "";
  store.panel.value = store.wanted.value ? "question" : "report";
}

/** What can be done to the question that is shown, in the form that is shown: its buttons and its keys. */
function buttons(asked: Approval): { key: string; word: string; how: string; does: () => unknown }[] {
  const { how } = draftOf(asked);
  const yes = how === "edit" ? "edit" : "approve";
  return how === "reject"
    ? []
    : [
        { key: "a", word: how === "edit" ? "Approve changed" : "Approve", how: yes, does: () => faultsOf(asked).length || void answer(asked, yes) },
        { key: "e", word: how === "edit" ? "Undo edit" : "Edit", how: "edit", does: () => draft(asked, { how: how === "edit" ? "" : "edit" }) },
        { key: "r", word: "Reject", how: "reject", does: () => draft(asked, { how: "reject" }) },
      ];
}

export function questionKeys(): Record<string, () => unknown> {
  const asked = store.panel.value === "question" && !store.offline ? store.question.value : null;
  if (!asked) return {};
  return Object.fromEntries(buttons(asked).filter((one) => asked.choices.includes(one.how)).map((one) => [one.key, one.does]));
}

/** What happens to a question that nobody answers. */
const THEN: Record<string, string> = { approve: "then it is approved", reject: "then it is rejected", escalate: "then somebody else is asked" };
/** What is asked, where it is not about one action. */
const ABOUT: Record<string, string> = {
  plan: "May the run go ahead as planned?",
  task: "May this task begin?",
  result: "Does this result count?",
  escalation: "What becomes of this task?",
};
const RISKS = ["low", "medium", "high", "critical"];

function Diff({ before, after }: { before: string; after: string }) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const [known, kept] = [new Set(old), new Set(now)];
  const gone = old.filter((line) => !kept.has(line));
  const come = now.filter((line) => !known.has(line));
  if (!gone.length && !come.length) return <p class="m">Nothing changed yet.</p>;
  return (
    <pre class="diff">
      {gone.slice(0, 200).map((line, i) => (
        <del key={`-${i}`}>- {line}</del>
      ))}
      {come.slice(0, 200).map((line, i) => (
        <ins key={`+${i}`}>+ {line}</ins>
      ))}
      {gone.length + come.length > 400 && `… ${gone.length} lines gone, ${come.length} come`}
    </pre>
  );
}

function Field({ asked, name, schema }: { asked: Approval; name: string; schema: Schema | undefined }) {
  const text = shown(asked, name);
  const isEdited = draftOf(asked).how === "edit";
  const on = (event: Event) => draft(asked, { args: { ...draftOf(asked).args, [name]: (event.currentTarget as HTMLInputElement).value } });
  const isLong = text.includes("\n") || text.length > 60;
  return (
    <label class={isLong ? "long" : ""}>
      <span>{name}</span>
      {schema?.enum ? (
        <select disabled={!isEdited} onChange={on} value={text}>
          {schema.enum.map((one) => (
            <option key={String(one)}>{String(one)}</option>
          ))}
        </select>
      ) : isLong ? (
        <textarea readOnly={!isEdited} class={isEdited ? "edit" : ""} rows={Math.min(14, text.split("\n").length + 2)} value={text} onInput={on} />
      ) : (
        <input readOnly={!isEdited} class={isEdited ? "edit" : ""} value={text} onInput={on} />
      )}
    </label>
  );
}

/** Where a question stood that is open no more: nothing takes its place while somebody reads. */
function Settled({ left }: { left: number }) {
  const last = store.view.value?.audit.entries.findLast((entry) => entry.kind === "answered" && entry.approval === store.wanted.value);
  return (
    <>
      <h2>{store.wanted.value ? "This question is no longer open" : "No question is open"}</h2>
      <p class="lead">{last ? `${last.by} said ${last.decision} to ${last.action}.` : "What is decided stands in the log under Approvals."}</p>
      {left > 0 && (
        <p class="go">
          <button class="btn pri" onClick={() => (store.wanted.value = "")}>
            Next question
          </button>
        </p>
      )}
    </>
  );
}

const focusOnce = (box: HTMLElement | null): void => box?.focus();

export function QuestionBody() {
  const asked = store.question.value;
  const all = store.view.value?.run.approvals ?? [];
  if (!asked) return <Settled left={all.length} />;
  const left = asked.expires_at === null ? null : asked.expires_at - store.at.value;
  const whole = asked.expires_at === null ? 0 : asked.expires_at - asked.asked_at;
  const names = [...new Set([...Object.keys(asked.args), ...Object.keys(asked.args_schema?.properties ?? {})])];
  const held = (store.view.value?.run.tasks ?? []).filter((task) => task.depends_on.includes(asked.task_id));
  const level = RISKS.indexOf(asked.risk);
  const changed = names.filter((name) => shown(asked, name) !== store.plain(asked.args[name]));
  return (
    <>
      <p class="kick m">
        <Icon status="park" />
        <span>
          <span class="park w">{asked.agent} asks</span>
          {asked.task_id && ` for ${asked.task_id}`}
        </span>
        {all.length > 1 && (
          <span class="r">
            {all.findIndex((one) => one.id === asked.id) + 1} of {all.length}{" "}
            <button class="lnk" onClick={() => (store.wanted.value = all[(all.findIndex((one) => one.id === asked.id) + 1) % all.length]?.id ?? "")}>
              next
            </button>
          </span>
        )}
      </p>
      <h2>
        {asked.subject !== "action" ? (
          ABOUT[asked.subject]
        ) : (
          <>
            May <span class="mono">{asked.action}</span> be done?
          </>
        )}
      </h2>
      {left !== null && (
        <div class="count">
          <p>
            <span>
              <b>{store.mmss(left)}</b> left of {store.mmss(whole)}
            </span>
            <span class="m">{THEN[store.view.value?.on_expiry[asked.id] ?? ""] ?? "then the policy decides"}</span>
          </p>
          <div class="tr">
            <i style={{ width: `${Math.max(0, Math.min(100, (left / whole) * 100))}%` }} />
          </div>
        </div>
      )}
      <dl class="kv">
        <dt>Why you</dt>
        <dd>{asked.reason}</dd>
        <dt>Risk</dt>
        <dd>
          <span class="risk" aria-hidden="true">
            {RISKS.map((risk, i) => (
              <i key={risk} class={i <= level ? "on" : ""} />
            ))}
          </span>
          {asked.risk}
        </dd>
        <dt>Holds up</dt>
        <dd>{asked.subject === "plan" ? "everything" : held.length ? held.slice(0, 12).map(store.titleOf).join(", ") + (held.length > 12 ? ` and ${held.length - 12} more` : "") : "nothing else"}</dd>
      </dl>
      {asked.description && !isPlan(asked, "tasks") && <Markdown text={asked.description} />}
      {names.length > 0 && (
        <h3>
          What would be done<span>{draftOf(asked).how === "edit" ? "your changes are marked" : "nothing has been done yet"}</span>
        </h3>
      )}
      {isPlan(asked, "tasks") && (
        <Steps
          key={asked.id + draftOf(asked).how}
          steps={stepsIn(asked)}
          changes={draftOf(asked).how === "edit" ? (steps) => draft(asked, { args: { ...draftOf(asked).args, tasks: store.plain(tasksOf(steps)) } }) : null}
        />
      )}
      <div class="form">
        {names.filter((name) => !isPlan(asked, name) && (asked.subject !== "plan" || draftOf(asked).how === "edit")).map((name) => (
          <Field key={asked.id + name} asked={asked} name={name} schema={asked.args_schema?.properties?.[name]} />
        ))}
      </div>
      {draftOf(asked).how === "edit" && (
        <>
          <h3>
            Changes<span>what you approve</span>
          </h3>
          {changed.length ? changed.map((name) =>
                isPlan(asked, name) ? (
                  <Diff key={name} before={inWords(stepsOf(asked.args[name]))} after={inWords(stepsIn(asked))} />
                ) : (
                  <Diff key={name} before={store.plain(asked.args[name])} after={shown(asked, name)} />
                ),
              ) : <p class="m">Nothing changed yet.</p>}
        </>
      )}
    </>
  );
}

export function QuestionFoot() {
  const asked = store.question.value;
  if (!asked || store.offline) return null;
  const { how, why } = draftOf(asked);
  return (
    <div class="foot">
      {how === "reject" ? (
        <>
          <label class="why">
            Why not? The agent reads this.
            <textarea
              rows={2}
              ref={focusOnce}
              value={why}
              placeholder="Optional"
              onInput={(event) => draft(asked, { why: event.currentTarget.value })}
              onKeyDown={(event) => event.key === "Enter" && !event.shiftKey && (event.preventDefault(), void answer(asked, "reject"))}
            />
          </label>
          <div class="bs two">
            <button class="btn pri" disabled={busy.value} onClick={() => void answer(asked, "reject")}>
              Reject<kbd>↵</kbd>
            </button>
            <button class="btn" onClick={leave}>
              Back<kbd>esc</kbd>
            </button>
          </div>
        </>
      ) : (
        <div class="bs">
          {buttons(asked).map((one) => (
            <button
              key={one.key}
              class={one.key === "a" ? "btn pri" : "btn"}
              disabled={!asked.choices.includes(one.how) || (one.key === "a" && (busy.value || faultsOf(asked).length > 0))}
              aria-pressed={one.key === "e" ? how === "edit" : undefined}
              onClick={one.does}
            >
              {one.word}
              <kbd>{one.key}</kbd>
            </button>
          ))}
        </div>
      )}
      <p class="as">
        <label>
          Answering as{" "}
          <input
            class="who"
            value={store.who.value}
            placeholder="human"
            onInput={(event) => {
              store.who.value = event.currentTarget.value;
              store.keep("who", event.currentTarget.value);
            }}
          />
        </label>
        <span>kept in the audit chain</span>
      </p>
    </div>
  );
}
