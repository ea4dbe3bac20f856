/** Every REST endpoint that the page uses, with its shape. The hub's OpenAPI is the authority. */
import type { Fields } from "../model/rows/document.ts";
import type {
  Attention,
  Call,
  DeviceWork,
  Head,
  Priority,
  Purpose,
  Question,
  RunReport,
  Sharing,
  StreamEvent,
  Vitals,
} from "../model/types.ts";
import type { Rest } from "./rest.ts";

export interface SessionDocument {
  csrf: string;
  principal: { id: string; name: string };
  role: string;
  /** Id of this very session among the tokens. */
  token?: string;
  /** The hub was started with `--lab`. */
  lab?: boolean;
  /** The words that run its program on its own computer. */
  program?: string;
  /** When the session ends by itself. */
  expires_at?: string;
}

export interface ConstellationRow {
  id: string;
  name: string;
  request?: string;
  state: Head["state"];
  version: number;
  created_at: string;
  ended_at?: string | null;
  recipe?: string | null;
  attention?: Head["attention"];
  /** The answer's sentence, as far as it has come. */
  sentence?: string;
}

/** A recipe that the words may mean: what was filled from them and what is missing. */
export interface Candidate {
  recipe: string;
  title: string;
  score?: number;
  params: Record<string, unknown>;
  missing: { name: string; type: string; title?: string; reason?: string }[];
}

export interface MissingGrant {
  device: string;
  grant: string;
  line: string;
  task?: string;
}

/** Devices stand here by their names. */
export interface PreviewTask {
  id: string;
  tool: string | null;
  person: string | null;
  /** What its items are, for a group. */
  each: string | null;
  device: string | null;
  devices: string[];
  why: string;
  alternatives: { device: string; fits: boolean; why: string }[];
  effects: string[];
  repeatability: string | null;
  grant: string | null;
  optional: boolean;
  missing: MissingGrant[];
  /** What it takes from which tasks. */
  takes?: { from: string; output: string }[];
}

/** One secret that a plan names; `line` sets it where it is not set. */
export interface PreviewSecret {
  name: string;
  set: boolean;
  tasks: string[];
  devices: string[];
  line: string | null;
}

/** The time that a plan should take; four of five runs end between `low_ms` and `high_ms`. */
export interface Estimate {
  expected_ms: number;
  low_ms: number;
  high_ms: number;
}

export interface Preview {
  name?: string;
  plan_hash: string | null;
  tasks: PreviewTask[];
  recipe?: string | null;
  params?: Record<string, unknown>;
  effects?: string[];
  missing_grants?: MissingGrant[];
  secrets?: PreviewSecret[];
  asks_approval?: boolean;
  warnings?: string[];
  cost?: string | null;
  estimate?: Estimate | null;
  understood?: Understood;
}

/** How words were taken. Without an exact fit: what to say, requests that would work, and whether a model plans them. */
export interface Understood {
  outcome: "exact" | "near" | "none";
  candidates: Candidate[];
  said?: string;
  examples?: string[];
  by_model?: boolean;
}

/** What a recipe says of one parameter. */
export interface ParamRow {
  type: string;
  title?: string;
  optional?: boolean;
  default?: unknown;
}

/** A piece of a recipe's sentence: plain words, a device of this fleet, a value to change, or what is missing. */
export interface SentencePart {
  kind: "words" | "device" | "value" | "missing";
  text: string;
}

export interface RecipeSentence {
  words: string;
  parts: SentencePart[];
  /** Slots that no device fits yet, and the way to add one. */
  lacks: { slot: string; reason: string; way: "phone" | "line" }[];
  /** Devices whose owners have not allowed what it needs. */
  ungranted: string[];
}

/** The tasks of a recipe's plan as a small drawing; none where it is too large for one. */
export interface RecipeShape {
  columns: number;
  rows: number;
  tasks: { column: number; row: number; tool: string; on: string | null; many: boolean }[];
  links: [number, number][];
}

export interface RecipeRow {
  name: string;
  title: string;
  phrases?: string[];
  version?: number;
  params?: Record<string, ParamRow>;
  effects?: string[];
  asks_for?: Record<string, string[]>;
  /** It came with the hub and cannot be changed or removed. */
  built_in?: boolean;
  /** It only looks, or is made to be repeated: worth a schedule. */
  clock?: boolean;
  purpose?: Purpose | null;
  sentence?: RecipeSentence;
  shape?: RecipeShape;
  /** How it is tried with the demo devices; `words` are empty while none is in reach. */
  demo?: { words: string; devices: string[]; leaves: string } | null;
}

export interface RecipeDocument extends RecipeRow {
  document: Fields;
  /** As it was written. */
  text: string;
}

export interface RecipeVersionRow {
  version: number;
  title: string;
  author: string;
  saved_at: string | null;
}

export interface WhyDocument {
  task?: string | null;
  state?: string;
  reason?: string | null;
  sentence: string;
  word?: string;
  waits_for?: string[];
  candidates?: { device: string; name: string; fits: boolean; reason: string }[];
  actions?: string[];
  /** What moving the task to another device would change. */
  warning?: string;
  /** Names of browser tabs that somebody has to open, and where. */
  asleep?: string[];
  open?: OpenAgain | null;
}

/** Why a constellation as a whole asks for a person. */
export interface AttentionWhy {
  reason: Attention;
  sentence: string;
}

/** Where a tab that is asleep is opened: on that device itself, by hand or by its camera. */
export interface OpenAgain {
  url: string;
  qr: QrShape;
}

export interface EnrollmentDocument {
  id: string;
  state: string;
  /** Shown this once. */
  code: string;
  line: string;
  windows_line: string;
  agent_line?: string;
  ssh_line: string;
  url: string;
  /** The same by the listener of the local network, where that is open. */
  lan: { url: string; line: string; windows_line: string } | null;
  /** What a phone scans; without a `url`, why there is none. */
  phone: { url: string; why: string; qr: QrShape | null; words: string; warning: string };
  expires_at: string;
}

/** A QR code as the side of its square and one path over it. */
export interface QrShape {
  size: number;
  path: string;
}

/** A device that was refused with a code, as its own screen says it. */
export interface RefusedRow {
  at: string;
  who: string;
  address: string;
  code: string;
  reason: string;
  times: number;
}

export interface LanDocument {
  open: boolean;
  url: string;
  words: string;
  warning: string;
  fault: string;
}

/** An open question as the list of approvals gives it, with its times as the stream has them. */
export interface Need extends Question {
  constellation: string;
  name: string;
}

export interface TokenRow {
  id: string;
  label?: string;
  kind?: string;
  role: string;
  scopes?: string[];
  created_at: string;
  expires_at?: string | null;
  revoked_at?: string | null;
  last_used_at?: string | null;
}

export interface Submission {
  request?: string;
  recipe?: string;
  params?: Record<string, unknown>;
  plan?: unknown;
  plan_hash?: string;
  name?: string;
  labels?: Record<string, string>;
  /** Before or after one's other constellations; without it the plan's own. */
  priority?: Priority;
}

/** A constellation that was waited for; `answer` is there once it has ended. */
export interface WaitedFor {
  id: string;
  state: string;
  answer?: {
    sentence: string;
    items: { value: unknown; artifact: string | null; from: { device_name: string | null } }[];
  };
}

interface ApprovalRow extends Omit<Question, "opened_ms" | "expires_ms" | "answered_ms" | "calls"> {
  constellation: string;
  constellation_name: string;
  question: string;
  opened_at: string;
  expires_at?: string | null;
  answered_at?: string | null;
  calls?: (Omit<Call, "args"> & { args: unknown })[];
}

/** Part of an attempt's output: the text, where it begins and how much there is. */
export interface LogPart {
  text: string;
  offset: number;
  next: number;
  end: number;
  lost: [number, number][];
}

interface Page<T> {
  items: T[];
  next?: string | null;
}

const q = (values: Record<string, string | number | undefined>): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== "") search.set(name, String(value));
  const text = search.toString();
  return text ? `?${text}` : "";
};
const at = encodeURIComponent;

/** Milliseconds of an RFC 3339 time; 0 for none. */
export const msOf = (time: string | null | undefined): number => (time ? Date.parse(time) || 0 : 0);

/** The owner's model as Settings shows it: never its key. */
/** What the owner sets; without `key` the one that is kept for just this address stays. */
export interface WantedModel {
  url: string;
  model: string;
  wire: "" | "openai" | "anthropic";
  key?: string;
  dollars_per_day: number | null;
  tokens_per_day: number | null;
  share: Sharing;
}

export interface ModelDocument {
  /** The hub's own settings name it: shown here, changed there. */
  given: boolean;
  url?: string | null;
  set: boolean;
  fault?: { reason: string; hint: string };
  host?: string;
  model?: string;
  /** Models of a reviewer, a writer or a fallback of their own; the hub's settings name them. */
  others?: { role: string; model: string; host: string }[];
  wire?: string;
  key?: boolean;
  share?: Sharing;
  budget?: { dollars_per_day: number | null; tokens_per_day: number };
  spent_today: { calls: number; tokens: number; dollars: number };
  parts: { title: string; text: string }[];
}

export class Hub {
  readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  session = () => this.rest.get<SessionDocument>("/session");
  signIn = (id: string, secret: string) => this.rest.post<SessionDocument>("/sign-in", { id, secret });
  signOut = () => this.rest.post<null>("/sign-out");
  ticket = async () => (await this.rest.post<{ ticket: string }>("/live/tickets")).ticket;

  constellations = (
    query: { state?: string; q?: string; device?: string; cursor?: string } = {},
    signal?: AbortSignal,
  ) => this.rest.get<Page<ConstellationRow>>(`/constellations${q(query)}`, signal);
  preview = (body: Submission, signal?: AbortSignal) =>
    this.rest.post<Preview>("/constellations/preview", body, signal);
  submit = (body: Submission, key: string) =>
    this.rest.create<{ id: string; state: string; version: number }>("/constellations", body, key);

  /** Submits and waits for the answer, at most `waitS`. */
  submitAndWait = (body: Submission, waitS: number) =>
    this.rest.create<WaitedFor>(`/constellations${q({ wait_s: waitS })}`, body);

  /** The log from after `after`, page by page, until the hub has no more. */
  async events(id: string, after: number, signal?: AbortSignal): Promise<StreamEvent[]> {
    const all: StreamEvent[] = [];
    let last = after;
    for (;;) {
      const page = await this.rest.get<{ items?: StreamEvent[]; events?: StreamEvent[] }>(
        `/constellations/${at(id)}/events${q({ after: last })}`,
        signal,
      );
      const events = page.items ?? page.events ?? [];
      const end = events[events.length - 1];
      if (!end) return all;
      all.push(...events);
      last = end.seq;
    }
  }

  /** One device as the hub tells it; `open` where a browser tab that is asleep is to be opened, `older_than` the hub's version. */
  device = (id: string, signal?: AbortSignal) =>
    this.rest.get<{ older_than: string; open: OpenAgain | null }>(`/devices/${at(id)}`, signal);
  /** The lines of these devices over the last hour, as the hub that answers has heard them. */
  vitals = (devices: readonly string[], signal?: AbortSignal) =>
    this.rest.get<Vitals>(`/vitals?${devices.map((id) => `device=${at(id)}`).join("&")}`, signal);
  /** What was asked for since a moment and had work on these devices. */
  deviceWork = (devices: readonly string[], sinceMs: number, signal?: AbortSignal) =>
    this.rest.get<Page<DeviceWork>>(
      `/device-work?since_ms=${sinceMs}&${devices.map((id) => `device=${at(id)}`).join("&")}`,
      signal,
    );
  why = (id: string, task: string, signal?: AbortSignal) =>
    this.rest.get<WhyDocument>(`/constellations/${at(id)}/why${q({ task_id: task })}`, signal);
  whyAll = (id: string, signal?: AbortSignal) =>
    this.rest.get<{ items: WhyDocument[]; attention?: AttentionWhy[] }>(`/constellations/${at(id)}/why`, signal);
  /** What the time of a run was spent on; with `spans` also the phases of every task. */
  report = (id: string, spans: boolean, signal?: AbortSignal) =>
    this.rest.get<RunReport>(`/constellations/${at(id)}/report${spans ? "?spans=true" : ""}`, signal);
  log = (id: string, task: string, attempt: number, signal?: AbortSignal) =>
    this.rest.get<LogPart>(
      `/constellations/${at(id)}/tasks/${at(task)}/attempts/${attempt}/log${q({ tail: 65536 })}`,
      signal,
    );

  control = (id: string, action: string, body: Record<string, unknown> = {}) =>
    this.rest.post<{ seq?: number }>(`/constellations/${at(id)}/${action}`, body);
  taskControl = (id: string, task: string, action: string, body: Record<string, unknown> = {}) =>
    this.rest.post<{ seq?: number }>(`/constellations/${at(id)}/tasks/${at(task)}/${action}`, body);
  edit = (id: string, baseVersion: number, operations: unknown[], reason: string) =>
    this.rest.post<{ version: number }>(`/constellations/${at(id)}/edits`, {
      base_version: baseVersion,
      operations,
      reason,
    });

  async approvals(state: "open" | "answered" = "open", signal?: AbortSignal): Promise<Need[]> {
    const query = state === "open" ? "" : `?state=${state}`;
    const page = await this.rest.get<Page<ApprovalRow>>(`/approvals${query}`, signal);
    return page.items.map((row) => ({
      ...row,
      id: row.question,
      name: row.constellation_name,
      opened_ms: msOf(row.opened_at),
      expires_ms: msOf(row.expires_at),
      answered_ms: msOf(row.answered_at),
      calls: row.calls?.map((call) => ({ ...call, args: JSON.stringify(call.args) })),
    }));
  }
  /** Answers a question: what asks whether it may is allowed or denied, any other by one of its choices. */
  answer(constellation: string, question: Pick<Question, "id" | "kind">, value: string, reason = "") {
    const path = `/approvals/${at(`${constellation}:${question.id}`)}`;
    if (question.kind !== "person" && question.kind !== "planner") {
      if (value === "deny") return this.rest.post<null>(`${path}/deny`, { reason });
      if (value === "allow" || value === "always")
        return this.rest.post<null>(`${path}/approve`, { always: value === "always", reason });
    }
    return this.rest.post<null>(`${path}/answer`, { value, reason });
  }
  /** Answers a device's question to its owner; `action` is the asking that was shown. */
  answerAsk = (device: string, ask: string, action: string, allow: boolean, reason = "") =>
    this.rest.post<null>(`/asks/${at(`${device}:${ask}`)}/${allow ? "approve" : "deny"}`, { action, reason });
  /** For `ttl` seconds nobody else edits these tasks. */
  holdDraft = (id: string, tasks: string[], ttl: number) =>
    this.rest.put<null>(`/constellations/${at(id)}/draft`, { tasks, ttl_s: ttl });
  closeDraft = (id: string) => this.rest.delete<null>(`/constellations/${at(id)}/draft`);
  /** Tries a model before it is set. */
  tryModel = (wanted: WantedModel) =>
    this.rest.post<{ reply: string; seconds: number; tokens: number }>("/model/test", wanted);
  setModel = (wanted: WantedModel) => this.rest.put<ModelDocument>("/model", wanted);
  forgetModel = () => this.rest.delete<ModelDocument>("/model");
  revokeStanding = (id: string) => this.rest.delete<null>(`/standing-approvals/${at(id)}`);

  enroll = (body: Record<string, unknown>) => this.rest.create<EnrollmentDocument>("/enrollments", body);
  decide = (enrollment: string, allow: boolean, reason = "") =>
    this.rest.post<null>(`/enrollments/${at(enrollment)}/${allow ? "approve" : "deny"}`, allow ? {} : { reason });
  enrollment = (id: string, signal?: AbortSignal) =>
    this.rest.get<{ state: string; refused: RefusedRow[] }>(`/enrollments/${at(id)}`, signal);
  lan = (signal?: AbortSignal) => this.rest.get<LanDocument>("/lan", signal);
  openLan = () => this.rest.post<LanDocument>("/lan/open");
  closeLan = () => this.rest.post<LanDocument>("/lan/close");
  rename = (device: string, name: string) => this.rest.patch<null>(`/devices/${at(device)}`, { name });
  /** `deadlineS` belongs to a drain: when what may be repeated is moved away; 0 is at once, absent never. */
  deviceControl = (device: string, action: "drain" | "resume" | "revoke" | "seen", deadlineS?: number) =>
    this.rest.post<null>(`/devices/${at(device)}/${action}`, deadlineS === undefined ? {} : { deadline_s: deadlineS });
  stopAll = (reason = "") => this.rest.post<{ constellations: string[] }>("/stop-all", reason ? { reason } : {});

  recipes = (signal?: AbortSignal) => this.rest.get<Page<RecipeRow>>("/recipes", signal);
  recipe = (name: string, signal?: AbortSignal, version?: number) =>
    this.rest.get<RecipeDocument>(`/recipes/${at(name)}${q({ version })}`, signal);
  recipeVersions = (name: string, signal?: AbortSignal) =>
    this.rest.get<Page<RecipeVersionRow>>(`/recipes/${at(name)}/versions`, signal);
  /** Says every fault of a recipe, and what it would be; keeps and runs nothing. */
  checkRecipe = (recipe: unknown, signal?: AbortSignal) =>
    this.rest.post<RecipeRow>("/recipes/check", { recipe }, signal);
  /** Keeps a recipe (a document or its text); over one of that name only as the version after `baseVersion`. */
  saveRecipe = (recipe: unknown, baseVersion?: number) =>
    this.rest.create<RecipeRow>("/recipes", { recipe, base_version: baseVersion });
  removeRecipe = (name: string) => this.rest.delete<null>(`/recipes/${at(name)}`);
  model = (signal?: AbortSignal) => this.rest.get<ModelDocument>("/model", signal);
  /** Calls the owner's model once; says nothing about the fleet. */
  testModel = () => this.rest.post<{ reply: string; seconds: number; tokens: number }>("/model/test", {});
  tokens = () => this.rest.get<Page<TokenRow>>("/tokens");
  revokeToken = (id: string) => this.rest.delete<null>(`/tokens/${at(id)}`);

  /** The text of an artifact. */
  artifactText = (sha256: string, signal?: AbortSignal) => this.rest.text(`/artifacts/${at(sha256)}`, signal);
  /** The first bytes of an artifact as text, and whether that is all of it. */
  artifactStart = (sha256: string, most: number, signal?: AbortSignal) =>
    this.rest.start(`/artifacts/${at(sha256)}`, most, signal);
  /** Where an artifact's bytes are; `name` saves them under it, `show` lets the page show them. */
  artifactUrl = (sha256: string, name?: string, media?: string | null, show?: boolean) =>
    `/api/v1/artifacts/${at(sha256)}${q({ name, media: media ?? undefined, show: show ? "1" : undefined })}`;
}

export const createdMs = (row: ConstellationRow): number => msOf(row.created_at);
export const endedMs = (row: ConstellationRow): number => msOf(row.ended_at);
