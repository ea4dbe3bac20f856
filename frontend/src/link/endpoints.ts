/** Every REST endpoint that the page uses, with its shape. The hub's OpenAPI is the authority. */
import type { Head, Question, StreamEvent } from "../model/types.ts";
import type { Rest } from "./rest.ts";

export interface SessionDocument {
  csrf: string;
  principal: { id: string; name: string };
  role: string;
  /** Id of this very session among the tokens. */
  token?: string;
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
  missing: { name: string; type: string; title?: string }[];
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
}

export interface Preview {
  name?: string;
  plan_hash: string | null;
  tasks: PreviewTask[];
  recipe?: string | null;
  params?: Record<string, unknown>;
  effects?: string[];
  missing_grants?: MissingGrant[];
  asks_approval?: boolean;
  warnings?: string[];
  seconds?: number | null;
  cost?: string | null;
  understood?: { outcome: "exact" | "near" | "none"; candidates: Candidate[] };
}

/** What a recipe says of one parameter. */
export interface ParamRow {
  type: string;
  title?: string;
  optional?: boolean;
  default?: unknown;
}

export interface RecipeRow {
  name: string;
  title: string;
  phrases?: string[];
  version?: number;
  params?: Record<string, ParamRow>;
  effects?: string[];
}

export interface WhyDocument {
  sentence: string;
  word?: string;
  waits_for?: string[];
  candidates?: { device: string; name: string; fits: boolean; reason: string }[];
  actions?: string[];
}

export interface EnrollmentDocument {
  id: string;
  state: string;
  /** Shown this once. */
  code: string;
  line: string;
  agent_line?: string;
  url: string;
  expires_at: string;
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
}

interface ApprovalRow extends Omit<Question, "opened_ms" | "expires_ms"> {
  constellation: string;
  constellation_name: string;
  question: string;
  opened_at: string;
  expires_at?: string | null;
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

export class Hub {
  readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  session = () => this.rest.get<SessionDocument>("/session");
  signIn = (id: string, secret: string) => this.rest.post<SessionDocument>("/sign-in", { id, secret });
  signOut = () => this.rest.post<null>("/sign-out");
  ticket = async () => (await this.rest.post<{ ticket: string }>("/live/tickets")).ticket;

  constellations = (query: { state?: string; q?: string; cursor?: string } = {}, signal?: AbortSignal) =>
    this.rest.get<Page<ConstellationRow>>(`/constellations${q(query)}`, signal);
  preview = (body: Submission, signal?: AbortSignal) =>
    this.rest.post<Preview>("/constellations/preview", body, signal);
  submit = (body: Submission, key: string) =>
    this.rest.create<{ id: string; state: string; version: number }>("/constellations", body, key);

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

  why = (id: string, task: string, signal?: AbortSignal) =>
    this.rest.get<WhyDocument>(`/constellations/${at(id)}/why${q({ task_id: task })}`, signal);
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

  async approvals(signal?: AbortSignal): Promise<Need[]> {
    const page = await this.rest.get<Page<ApprovalRow>>("/approvals", signal);
    return page.items.map((row) => ({
      ...row,
      id: row.question,
      name: row.constellation_name,
      opened_ms: msOf(row.opened_at),
      expires_ms: msOf(row.expires_at),
    }));
  }
  answer = (constellation: string, question: string, value: string, reason = "") =>
    this.rest.post<null>(`/approvals/${at(`${constellation}:${question}`)}/answer`, { value, reason });

  enroll = (body: Record<string, unknown>) => this.rest.create<EnrollmentDocument>("/enrollments", body);
  decide = (enrollment: string, allow: boolean, reason = "") =>
    this.rest.post<null>(`/enrollments/${at(enrollment)}/${allow ? "approve" : "deny"}`, allow ? {} : { reason });
  rename = (device: string, name: string) => this.rest.patch<null>(`/devices/${at(device)}`, { name });
  deviceControl = (device: string, action: "drain" | "resume" | "revoke") =>
    this.rest.post<null>(`/devices/${at(device)}/${action}`);

  recipes = (signal?: AbortSignal) => this.rest.get<Page<RecipeRow>>("/recipes", signal);
  tokens = () => this.rest.get<Page<TokenRow>>("/tokens");
  revokeToken = (id: string) => this.rest.delete<null>(`/tokens/${at(id)}`);

  /** Where an artifact's bytes are; `name` saves them under it. */
  artifactUrl = (sha256: string, name?: string, media?: string | null) =>
    `/api/v1/artifacts/${at(sha256)}${q({ name, media: media ?? undefined })}`;
}

export const createdMs = (row: ConstellationRow): number => msOf(row.created_at);
export const endedMs = (row: ConstellationRow): number => msOf(row.ended_at);
