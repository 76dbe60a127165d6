// The values that travel between the server and the page, as the door's protocol names them.

export type Role = "view" | "type" | "admin";
export type Kind = "agent" | "command" | "terminal";
export type Status = "starting" | "running" | "stopping" | "exited" | "failed" | "parked";
export type AgentState = "starting" | "working" | "thinking" | "blocked" | "waiting" | "idle" | "error" | "exited";

export interface Failure {
  code: string;
  message: string;
  hint?: string;
  revision?: number;
  item?: number;
}

export interface Size {
  cols: number;
  rows: number;
}

export interface Exit {
  code?: number;
  signal?: number;
  reason: string;
}

export interface Opinion {
  source: string;
  rule: string;
  state: AgentState | null;
  kind?: string;
  message?: string;
  at: number;
  counts: boolean;
}

export interface AgentView {
  manifest: string;
  state: AgentState;
  since: number;
  evidence?: Opinion;
  runner_up?: Opinion;
  background?: number;
  held?: boolean;
  quota?: { reset_at: number | null };
  session?: string;
  context?: { used: number; window: number | null };
  turn: number;
  mail: number;
  shortfalls?: string[];
}

export interface ProcessView {
  id: string;
  name: string;
  kind: Kind;
  status: Status;
  pid: number | null;
  run: number;
  state: AgentState | null;
  agent?: AgentView;
  parent: string | null;
  task: string | null;
  workspace: string;
  owner: "user" | "orchestrator";
  size: Size;
  viewers: number;
  exit?: Exit;
  failure?: string;
  unseen?: { what: "turn" | "exit" | "failure"; turn?: number; since: number };
  argv: string[];
  cwd: string;
  project?: string;
  preset?: string;
  ready?: boolean;
  title?: string;
  started_at: number;
  active_at: number;
}

export interface DialogOption {
  names: string[];
  label: string;
  keys: string[];
}

export type ItemKind = "dialog" | "permission" | "question" | "failure" | "trust" | "attention";

export interface InboxItem {
  item: number;
  id: string;
  name: string;
  kind: ItemKind;
  title: string;
  body?: string;
  options: DialogOption[];
  at: number;
  expires?: { at: number; answer: string };
}

export interface Receipt {
  mail: number;
  to: string;
  status: "queued" | "delivering" | "submitted" | "delivered" | "refused" | "unknown" | "expired";
  reason?: string;
  turn?: number;
}

export interface Turn {
  id: string;
  turn: number;
  end: "running" | "done" | "interrupted" | "failed" | "exited";
  text: string;
  from?: string;
  began_at: number;
  ended_at?: number;
}

export interface Explanation {
  id: string;
  name: string;
  agent: AgentView;
  opinions: Opinion[];
  why: string;
  version?: string;
  composer: string;
}

export interface Listening {
  ports: { port: number; address: string; pid: number; program: string }[];
  urls: string[];
}

export type CellColor = number | string;

export interface StyledRun {
  text: string;
  width?: number;
  joined?: boolean;
  fg?: CellColor;
  bg?: CellColor;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  reverse?: boolean;
  strike?: boolean;
  overline?: boolean;
  underline?: string;
  link?: string;
}

export interface StyledRow {
  line: number;
  wrapped?: boolean;
  runs: StyledRun[];
}

export interface ScreenText {
  mode: string;
  text: string;
  version: number;
  cursor: { col: number; row: number; visible: boolean };
  size: Size;
  offset: number;
  missed: number;
  truncated: boolean;
  alternate: boolean;
  title: string;
  first_line?: number;
  rows?: StyledRow[];
}

export interface SearchMatch {
  line: number;
  text: string;
}

export type TaskStatus =
  | "blocked" | "waiting" | "done" | "conflict" | "gone" | "orphan" | "working" | "idle" | "merged" | "stale";

export interface TaskView {
  name: string;
  workspace: string;
  status: TaskStatus;
  since: number;
  project: { key: string; path: string };
  directory: string;
  /** The worktree that Quarterdeck made for it. */
  worktree?: { branch: string; base: string };
  agent?: string;
  prompt?: string;
  created_at: number;
  active_at: number;
  processes: { id: string; name: string; kind: Kind; status: Status; state?: AgentState; context?: number }[];
  runs: {
    process: string; name: string; kind: Kind; run: number; session?: string;
    started_at: number; ended_at?: number; exit?: Exit; turns: number;
  }[];
  git?: {
    commit?: string; staged: number; unstaged: number; untracked: number; conflicted: number;
    ahead: number; behind: number; added: number; removed: number; merged: boolean; directory: boolean;
  };
  conflicts?: { with: string; is_base?: boolean; files: string[] }[];
  operation?: string;
  /** Why its newest landing did not succeed. */
  failure?: string;
  comments: number;
}

export interface TaskDiff {
  name: string;
  base: string;
  files: { path: string; original?: string; added?: number; removed?: number }[];
  text?: string;
  is_truncated?: boolean;
}

export type ReviewSide = "new" | "old";

export interface ReviewComment {
  number: number;
  file: string;
  side: ReviewSide;
  first: number;
  last: number;
  quoted: string[];
  text: string;
  author: string;
  status: "draft" | "sent" | "resolved";
  is_stale?: boolean;
}

export interface TaskReview {
  name: string;
  comments: ReviewComment[];
  mail?: number;
}

export interface TaskLanded {
  name: string;
  into: string;
  commit: string;
  checkout: unknown;
}

export interface PadEntry {
  name: string;
  revision: number;
  author: string;
  at: number;
  bytes: number;
}

export interface PadText {
  name: string;
  content: string;
  revision: number;
  author: string;
}

export interface AgentOffer {
  name: string;
  program: string | null;
  version: string | null;
  problems?: string[];
}

/** What a link shows: a process by its id, or a task. */
export type LinkTarget = string | { task: string; created_at: number };

export interface Me {
  id: string;
  kind: "device" | "token" | "link";
  label: string;
  role: Role;
  workspace?: string;
  target?: LinkTarget;
  /** A person at the machine has confirmed this device lately. */
  confirmed?: boolean;
  version?: string;
  /** What this server has beyond the least: `files`, `passphrase`, `push`. */
  features?: string[];
}

/** A device, a token or a link. */
export interface AccessRecord {
  id: string;
  kind: "device" | "token" | "link";
  label: string;
  role: Role;
  workspace?: string;
  target?: LinkTarget;
  created: number;
  seen?: number | null;
  expires?: number | null;
}

/** What happened, as the door's events name it: one key with its value. */
export interface DoorEvent {
  changed?: ProcessView;
  exited?: { id: string; run: number; exit: Exit; final_offset: number };
  removed?: { id: string };
  done?: { id: string };
  mail?: Receipt;
  turn_ended?: { id: string; turn: number };
  item_opened?: InboxItem;
  item_closed?: { item: number };
  pad_changed?: { project: string; name: string; revision: number; author: string };
  /** `by` is the process that asks; a person's choice has none. */
  selected?: { id: string; by?: string };
  timer?: unknown;
  resync?: unknown;
}

export type EventsMessage =
  | { type: "snapshot"; revision: number; processes: ProcessView[] }
  | { type: "event"; revision: number; what: DoorEvent };

export type ViewMessage =
  | { type: "attached"; id: string; name: string; run: number; cols: number; rows: number; types: boolean; lease?: boolean }
  | { type: "resized"; cols: number; rows: number }
  | { type: "gap"; from: number; to: number }
  | { type: "exit"; exit: Exit; offset: number }
  | { type: "end"; reason: string }
  | { type: "lease"; held: boolean }
  /** So many bytes of input are written since the view attached. */
  | { type: "typed"; bytes: number }
  | { type: "error"; error: Failure };
