// The JSON of the server: state/run.py, state/event.py, state/approval.py, nodes/policy/timeline.py.
export type SegmentKind = "wait" | "slot" | "work" | "back" | "park" | "hold";
export type Status = SegmentKind | "done" | "fail" | "end";

export interface Segment {
  kind: SegmentKind;
  start: number;
  end: number | null;
  failed: boolean;
  round: number;
}
export interface Line {
  segments: Segment[];
  status: string;
  tries: number;
  tokens: number;
  errors: string[];
  recruited: boolean;
}
export interface Timeline {
  seq: number;
  start: number | null;
  end: number | null;
  phases: [string, number][];
  tasks: Record<string, Line>;
}
export interface Event {
  seq: number;
  kind: string;
  phase: string;
  task_id: string | null;
  agent: string | null;
  ts: number;
  path: string[];
  data: Record<string, unknown>;
}
export interface Score {
  agent: string;
  self_assessment: number;
  keywords: number;
  total: number;
}
export interface Task {
  id: string;
  description: string;
  role: string;
  kind: string;
  depends_on: string[];
  agent: string | null;
  status: string;
  result: unknown;
  confidence: number | null;
  attempts: number;
  error: string | null;
  tokens: number;
  recruited_by: string | null;
  route_reason: string;
  scores: Score[];
  marks: string[];
}
export interface Schema {
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  description?: string;
}
export interface Approval {
  id: string;
  task_id: string;
  agent: string;
  subject: string;
  action: string;
  args: Record<string, unknown>;
  args_schema: Schema | null;
  choices: string[];
  risk: "low" | "medium" | "high" | "critical";
  triggers: { trigger: string; priority: string; reason: string }[];
  reason: string;
  description: string;
  asked_at: number;
  expires_at: number | null;
}
/** What earlier runs say of how a request is to be done. */
export interface Advice {
  threads: string[];
  runs: number;
  successes: number;
  confidence: number;
  is_applied: boolean;
  is_rejected: boolean;
}
export interface Run {
  thread_id: string;
  status: string;
  waits_for: string;
  phase: string;
  query: string;
  report: string | null;
  tasks: Task[];
  approvals: Approval[];
  delegations: { task_id: string; agent: string; worker: string; task: string; status: string; result: unknown; error: string | null }[];
  usage: { input_tokens: number; output_tokens: number; calls: number; cost: number };
  model: string;
  error: string | null;
  warnings: string[];
  advice: Advice | null;
  hint: string[];
  started_at: number | null;
  finished_at: number | null;
}
export interface Entry {
  number: number;
  approval: string;
  at: number;
  kind: string;
  action: string;
  task_id: string;
  decision: string;
  by: string;
  door: string;
  seal: string;
}
export interface View {
  v: number;
  /** Pictures that the report shows, by name, as `data:` addresses. */
  pictures?: Record<string, string>;
  now: number;
  run: Run;
  events: Event[];
  timeline: Timeline | null;
  policy: { oversight: string; token_budget: number | null; cost_budget: number | null; max_seconds: number | null; max_parallel: number };
  /** What becomes of each open question at its deadline. */
  on_expiry: Record<string, string>;
  sources: string[];
  effects: Effect[];
  mail: Mail[];
  passages?: Record<string, Passage>;
  audit: { entries: Entry[]; broken: string };
}
export interface Short {
  thread_id: string;
  status: string;
  query: string;
  done: number;
  tasks: number;
  cost: number;
  tokens: number;
  questions: { id: string; action: string; expires_at: number | null }[];
}
export interface Listed {
  needs_you: Short[];
  running: Short[];
  ended: Short[];
  next: number | null;
  now: number;
}
export interface Effect {
  id: string;
  task_id: string;
  agent: string;
  tool: string;
  args: Record<string, unknown>;
  status: string;
  undo: string;
  at: number;
}
export interface Mail {
  agent: string;
  sender: string;
  text: string;
  at: number;
  read: boolean;
}
/** A place in a source with what stands around it. */
export interface Passage {
  file: string;
  place: string;
  unit: string;
  first?: number;
  last?: number;
  units: { n: number; text: string }[];
  about?: string;
}
