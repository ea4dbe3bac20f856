/**
 * The REST client: same origin, session cookie, CSRF header, problem+json as one kind of error.
 * Paths, parameters, bodies and answers are those of the generated contract; it lists no call, `endpoints` does. A lost network is the same kind of error, code `hub_unreachable`.
 */
import type { ApiPaths } from "../model/types.ts";

interface FaultDocument {
  code: string;
  reason: string;
  place?: string;
  /** The place in words. */
  where?: string;
  hint?: string;
}

/** A refusal in the hub's own words. `more` holds further members, such as `candidates`. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly reason: string;
  readonly hint: string;
  readonly requestId: string;
  readonly faults: FaultDocument[];
  readonly more: Record<string, unknown>;

  constructor(status: number, document: Record<string, unknown>) {
    const reason = String(document.reason ?? document.title ?? `the hub answered ${status}`);
    super(reason);
    this.name = "Problem";
    this.status = status;
    this.code = String(document.code ?? "internal");
    this.title = String(document.title ?? "");
    this.reason = reason;
    this.hint = String(document.hint ?? "");
    this.requestId = String(document.request_id ?? "");
    this.faults = Array.isArray(document.errors) ? (document.errors as FaultDocument[]) : [];
    this.more = document;
  }
}

/** As long as the hub keeps the answers of keys. A request that is asked for later is meant as another one. */
const REPEAT_MS = 600_000;

type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

export const BASE = "/api/v1";
type Verb = "get" | "post" | "put" | "patch" | "delete";
/** Paths of the API that answer to a verb, as the contract writes them: `/devices/{device}`. */
type PathOf<V extends Verb> = {
  [K in keyof ApiPaths]: ApiPaths[K] extends Record<V, { responses: object }>
    ? K extends `${typeof BASE}${infer P}`
      ? P
      : never
    : never;
}[keyof ApiPaths];
type Operation<V extends Verb, P extends string> = P extends PathOf<V> ? ApiPaths[`${typeof BASE}${P}`][V] : never;
type InPath<O> = O extends { parameters: { path: infer X } } ? { path: X } : { path?: never };
type InQuery<O> = O extends { parameters: { query: infer X } }
  ? { query: X }
  : O extends { parameters: { query?: infer X } }
    ? { query?: X }
    : { query?: never };
type InBody<O> = O extends { requestBody: { content: { "application/json": infer X } } }
  ? { body: X }
  : O extends { requestBody?: infer R }
    ? NonNullable<R> extends { content: { "application/json": infer X } }
      ? { body?: X }
      : { body?: never }
    : { body?: never };
/** Parameters and body of a call. A query value that is undefined, null or empty is left out. */
export type Given<V extends Verb, P extends string> = InPath<Operation<V, P>> &
  InQuery<Operation<V, P>> &
  InBody<Operation<V, P>> & { signal?: AbortSignal };
type Arguments<V extends Verb, P extends string> =
  Record<never, never> extends Given<V, P> ? [given?: Given<V, P>] : [given: Given<V, P>];
type Good<R> = R extends { 200: infer A } | { 201: infer A } | { 202: infer A } ? A : never;
/** The answer of a call; null for one without content. */
type AnswerOf<V extends Verb, P extends string> =
  Operation<V, P> extends { responses: infer R }
    ? Good<R> extends { content: { "application/json": infer A } }
      ? A
      : null
    : never;
/** The body that a call takes. */
export type BodyOf<V extends Verb, P extends string> = NonNullable<InBody<Operation<V, P>>["body"]>;

interface AnyGiven {
  path?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
  signal?: AbortSignal;
}

interface RestOptions {
  fetch?: Fetch;
  base?: string;
  /**
   * Called when the hub says that nobody is signed in; `ended` where it knows that somebody ended the session. Else the
   * session only did not come with the request, as when the browser lost its cookies.
   */
  onSignedOut?: (ended: boolean) => void;
  /** Called when a request did not reach the hub. */
  onUnreachable?: () => void;
}

export class Rest {
  csrf = "";
  private readonly fetch: Fetch;
  private readonly base: string;
  private readonly onSignedOut: (ended: boolean) => void;
  private readonly onUnreachable: () => void;
  /** The keys of creating requests whose answer is open or was lost. */
  private readonly unanswered = new Map<string, { key: string; atMs: number }>();

  constructor(options: RestOptions = {}) {
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.base = options.base ?? BASE;
    this.onSignedOut = options.onSignedOut ?? (() => {});
    this.onUnreachable = options.onUnreachable ?? (() => {});
  }

  get<P extends PathOf<"get">>(path: P, ...given: Arguments<"get", P>) {
    return this.send<AnswerOf<"get", P>>("GET", path, given[0]);
  }

  post<P extends PathOf<"post">>(path: P, ...given: Arguments<"post", P>) {
    return this.send<AnswerOf<"post", P>>("POST", path, { body: {}, ...given[0] });
  }

  /**
   * A POST that creates. While its answer is open or was lost, the same request has the same idempotency key, from
   * wherever on the page it is made, so that a repeat creates nothing and gets the answer of the first. An answer, also
   * a refusal, ends that: the same request is then another one.
   */
  async create<P extends PathOf<"post">>(path: P, given: Given<"post", P>): Promise<AnswerOf<"post", P>> {
    const whole: AnyGiven = { body: {}, ...given };
    const asked = `${addressOf(path, whole)} ${JSON.stringify(whole.body)}`;
    const open = this.unanswered.get(asked);
    const held = open && Date.now() - open.atMs < REPEAT_MS ? open : { key: crypto.randomUUID(), atMs: Date.now() };
    this.unanswered.set(asked, held);
    try {
      const made = await this.send<AnswerOf<"post", P>>("POST", path, whole, { "Idempotency-Key": held.key });
      this.unanswered.delete(asked);
      return made;
    } catch (error) {
      if (error instanceof Problem && error.status < 500) this.unanswered.delete(asked);
      throw error;
    }
  }

  put<P extends PathOf<"put">>(path: P, ...given: Arguments<"put", P>) {
    return this.send<AnswerOf<"put", P>>("PUT", path, given[0]);
  }

  patch<P extends PathOf<"patch">>(path: P, ...given: Arguments<"patch", P>) {
    return this.send<AnswerOf<"patch", P>>("PATCH", path, given[0]);
  }

  delete<P extends PathOf<"delete">>(path: P, ...given: Arguments<"delete", P>) {
    return this.send<AnswerOf<"delete", P>>("DELETE", path, given[0]);
  }

  /** The bytes or text of a resource, for logs and artifacts. */
  async text<P extends PathOf<"get">>(path: P, ...given: Arguments<"get", P>): Promise<string> {
    const response = await this.raw("GET", path, given[0]);
    return this.heard(response.text());
  }

  /** The first `most` bytes of a resource as text, cut between two characters, and whether that is all of it. */
  async start<P extends PathOf<"get">>(path: P, most: number, ...given: Arguments<"get", P>) {
    const response = await this.raw("GET", path, given[0], { Range: `bytes=0-${most - 1}` });
    const raw = await this.heard(response.arrayBuffer());
    const size = Number(response.headers.get("Content-Range")?.split("/")[1] ?? raw.byteLength);
    const whole = raw.byteLength >= size;
    // Streamed, a character that is cut in its middle is kept back instead of shown as a question mark.
    return { text: new TextDecoder().decode(raw, { stream: !whole }), whole };
  }

  private async send<T>(
    method: string,
    path: string,
    given: AnyGiven = {},
    headers: Record<string, string> = {},
  ): Promise<T> {
    const response = await this.raw(method, path, given, headers);
    const text = await this.heard(response.text());
    return (text ? JSON.parse(text) : null) as T;
  }

  private async raw(
    method: string,
    path: string,
    given: AnyGiven = {},
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const { body, signal } = given;
    const all: Record<string, string> = { Accept: "application/json", ...headers };
    if (body !== undefined) all["Content-Type"] = "application/json";
    if (method !== "GET" && this.csrf) all["X-Starloom-CSRF"] = this.csrf;
    const asked = this.fetch(this.base + addressOf(path, given), {
      method,
      headers: all,
      credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    const response = await this.heard(asked);
    if (response.ok) return response;
    const problem = new Problem(response.status, await this.heard(documentOf(response)));
    if (response.status === 401) this.onSignedOut(problem.more.session === "ended");
    throw problem;
  }

  /** What the hub says; a line that is cut before or within it is a `Problem` like any other. */
  private async heard<T>(saying: Promise<T>): Promise<T> {
    try {
      return await saying;
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      this.onUnreachable();
      const here = navigator.onLine === false;
      throw new Problem(503, {
        code: "hub_unreachable",
        title: "The hub does not answer",
        reason: here ? "This device has no network." : "The hub cannot be reached.",
        hint: `${here ? "Turn it on" : "Start it with `starloom up`"}; what is shown here stays as it was.`,
      });
    }
  }
}

/** A path of the contract with its parameters filled in and its query behind it. */
export function addressOf(path: string, given: AnyGiven): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(given.path?.[name])));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given.query ?? {}))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null && one !== "") query.append(name, String(one));
  const text = query.toString();
  return text ? `${filled}?${text}` : filled;
}

async function documentOf(response: Response): Promise<Record<string, unknown>> {
  const text = await response.text();
  try {
    const document: unknown = JSON.parse(text);
    if (document !== null && typeof document === "object") return document as Record<string, unknown>;
  } catch {
    // Not the hub's own error, for example a proxy's page: its status says the most.
  }
  return { reason: `The answer was ${response.status} and not the hub's: ${text.slice(0, 120)}` };
}
