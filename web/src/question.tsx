// A question to a human: what, until when, why, and what exactly would be done; and its answer.
import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { act } from "./api";
import { Icon, Markdown } from "./parts";
import * as store from "./store";
import type { Approval, Schema } from "./types";

export const mode = signal<"" | "edit" | "reject">("");
/** What was typed, by question: kept until it is sent, over reloads too. */
const drafts = signal<Record<string, Record<string, string>>>(JSON.parse(store.kept("drafts") || "{}") as Record<string, Record<string, string>>);
const reasons = signal<Record<string, string>>({});
const busy = signal(false);

function draft(asked: Approval, name: string, value: string): void {
  drafts.value = { ...drafts.value, [asked.id]: { ...drafts.value[asked.id], [name]: value } };
  store.keep("drafts", JSON.stringify(drafts.value));
}

const shown = (asked: Approval, name: string): string => drafts.value[asked.id]?.[name] ?? store.plain(asked.args[name]);

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

export async function answer(how: "approve" | "edit" | "reject"): Promise<void> {
  const asked = store.question.value;
  if (!asked || busy.value) return;
  const edited = drafts.value[asked.id] ?? {};
  const args = { ...asked.args, ...Object.fromEntries(Object.entries(edited).map(([name, text]) => [name, valueOf(asked, name, text)])) };
  const said = how === "edit" ? { type: "edit", args } : { type: how, message: how === "reject" ? (reasons.value[asked.id] ?? "") : "" };
  busy.value = true;
  const taken = await act("answer", { answers: { [asked.id]: said } });
  busy.value = false;
  if (!taken) return;
  store.said.value = `Answered: ${how}`;
  mode.value = "";
  const { [asked.id]: _, ...others } = drafts.value;
  drafts.value = others;
  store.keep("drafts", Object.keys(others).length ? JSON.stringify(others) : "");
  store.wanted.value = "";
  store.panel.value = store.question.value ? "question" : "report";
}

export const can = (how: string): boolean => store.question.value?.choices.includes(how) ?? false;

const RISKS = ["low", "medium", "high", "critical"];

function Diff({ before, after }: { before: string; after: string }) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const gone = old.filter((line) => !now.includes(line));
  const come = now.filter((line) => !old.includes(line));
  if (!gone.length && !come.length) return <p class="m">Nothing changed yet.</p>;
  return (
    <pre class="diff">
      {gone.map((line, i) => (
        <del key={`-${i}`}>- {line}</del>
      ))}
      {come.map((line, i) => (
        <ins key={`+${i}`}>+ {line}</ins>
      ))}
    </pre>
  );
}

function Field({ asked, name, schema }: { asked: Approval; name: string; schema: Schema | undefined }) {
  const text = shown(asked, name);
  const isEdited = mode.value === "edit";
  const on = (event: Event) => draft(asked, name, (event.currentTarget as HTMLInputElement).value);
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

export function QuestionBody() {
  const asked = store.question.value;
  useEffect(() => {
    mode.value = "";
  }, [asked?.id]);
  if (!asked) return <p class="m">No question is open. What is decided stands in the log under Approvals.</p>;
  const all = store.view.value?.run.approvals ?? [];
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
        May <span class="mono">{asked.action}</span> {asked.subject === "plan" ? "go ahead as planned?" : "be done?"}
      </h2>
      {left !== null && (
        <div class="count">
          <p>
            <span>
              <b>{store.mmss(left)}</b> left of {store.mmss(whole)}
            </span>
            <span class="m">then the policy decides</span>
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
        <dd>{held.length ? held.map(store.titleOf).join(", ") : "nothing else"}</dd>
      </dl>
      {asked.description && <Markdown text={asked.description} />}
      {names.length > 0 && (
        <h3>
          What would be done<span>{mode.value === "edit" ? "your changes are marked" : "nothing has been done yet"}</span>
        </h3>
      )}
      <div class="form">
        {names.map((name) => (
          <Field key={asked.id + name} asked={asked} name={name} schema={asked.args_schema?.properties?.[name]} />
        ))}
      </div>
      {mode.value === "edit" && (
        <>
          <h3>
            Changes<span>what you approve</span>
          </h3>
          {changed.length ? changed.map((name) => <Diff key={name} before={store.plain(asked.args[name])} after={shown(asked, name)} />) : <p class="m">Nothing changed yet.</p>}
        </>
      )}
    </>
  );
}

export function QuestionFoot() {
  const asked = store.question.value;
  if (!asked || store.offline) return null;
  return (
    <div class="foot">
      {mode.value === "reject" ? (
        <>
          <label class="why">
            Why not? The agent reads this.
            <textarea
              rows={2}
              ref={(box) => box?.focus()}
              value={reasons.value[asked.id] ?? ""}
              placeholder="Optional"
              onInput={(event) => (reasons.value = { ...reasons.value, [asked.id]: event.currentTarget.value })}
              onKeyDown={(event) => event.key === "Enter" && !event.shiftKey && (event.preventDefault(), void answer("reject"))}
            />
          </label>
          <div class="bs two">
            <button class="btn pri" disabled={busy.value} onClick={() => void answer("reject")}>
              Reject<kbd>↵</kbd>
            </button>
            <button class="btn" onClick={() => (mode.value = "")}>
              Back<kbd>esc</kbd>
            </button>
          </div>
        </>
      ) : (
        <div class="bs">
          <button class="btn pri" disabled={busy.value || !can(mode.value === "edit" ? "edit" : "approve")} onClick={() => void answer(mode.value === "edit" ? "edit" : "approve")}>
            {mode.value === "edit" ? "Approve changed" : "Approve"}
            <kbd>a</kbd>
          </button>
          <button class="btn" disabled={!can("edit")} aria-pressed={mode.value === "edit"} onClick={() => (mode.value = mode.value === "edit" ? "" : "edit")}>
            {mode.value === "edit" ? "Undo edit" : "Edit"}
            <kbd>e</kbd>
          </button>
          <button class="btn" disabled={!can("reject")} onClick={() => (mode.value = "reject")}>
            Reject<kbd>r</kbd>
          </button>
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
