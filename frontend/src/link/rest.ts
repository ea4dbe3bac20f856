/**
 * The REST client: same origin, session cookie, CSRF header, problem+json as one kind of error.
 * Knows no endpoint; those are in `endpoints`. A lost network is the same kind of error, code `hub_unreachable`.
 */

export interface FaultDocument {
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

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

export interface RestOptions {
  fetch?: Fetch;
  base?: string;
  /** Called when the hub says that nobody is signed in. */
  onSignedOut?: () => void;
}

export class Rest {
  csrf = "";
  private readonly fetch: Fetch;
  private readonly base: string;
  private readonly onSignedOut: () => void;

  constructor(options: RestOptions = {}) {
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.base = options.base ?? "/api/v1";
    this.onSignedOut = options.onSignedOut ?? (() => {});
  }

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.send<T>("GET", path, undefined, signal);
  }

  post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
    return this.send<T>("POST", path, body, signal);
  }

  /** A POST that creates: carries a fresh idempotency key, so that a repeat after a lost answer creates nothing. */
  create<T>(path: string, body: unknown, key: string = crypto.randomUUID()): Promise<T> {
    return this.send<T>("POST", path, body, undefined, { "Idempotency-Key": key });
  }

  put<T>(path: string, body: unknown): Promise<T> {
    return this.send<T>("PUT", path, body);
  }

  patch<T>(path: string, body: unknown): Promise<T> {
    return this.send<T>("PATCH", path, body);
  }

  delete<T>(path: string): Promise<T> {
    return this.send<T>("DELETE", path);
  }

  /** The bytes or text of a resource, for logs and artifacts. */
  async text(path: string, signal?: AbortSignal): Promise<string> {
    const response = await this.raw("GET", path, undefined, signal);
    return response.text();
  }

  /** The first `most` bytes of a resource as text, cut between two characters, and whether that is all of it. */
  async start(path: string, most: number, signal?: AbortSignal): Promise<{ text: string; whole: boolean }> {
    const response = await this.raw("GET", path, undefined, signal, { Range: `bytes=0-${most - 1}` });
    const raw = await response.arrayBuffer();
    const size = Number(response.headers.get("Content-Range")?.split("/")[1] ?? raw.byteLength);
    const whole = raw.byteLength >= size;
    // Streamed, a character that is cut in its middle is kept back instead of shown as a question mark.
    return { text: new TextDecoder().decode(raw, { stream: !whole }), whole };
  }

  private async send<T>(
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
    headers: Record<string, string> = {},
  ): Promise<T> {
    const response = await this.raw(method, path, body, signal, headers);
    const text = await response.text();
    return (text ? JSON.parse(text) : null) as T;
  }

  private async raw(
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const all: Record<string, string> = { Accept: "application/json", ...headers };
    if (body !== undefined) all["Content-Type"] = "application/json";
    if (method !== "GET" && this.csrf) all["X-Starloom-CSRF"] = this.csrf;
    let response: Response;
    try {
      response = await this.fetch(this.base + path, {
        method,
        headers: all,
        credentials: "same-origin",
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
      });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new Problem(503, {
        code: "hub_unreachable",
        title: "The hub does not answer",
        reason: "The hub cannot be reached.",
        hint: "Start it with `starloom up`; what is shown here stays as it was.",
      });
    }
    if (response.ok) return response;
    const problem = new Problem(response.status, await documentOf(response));
    if (response.status === 401) this.onSignedOut();
    throw problem;
  }
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
