/**
 * Joining a hub: show it the code and this tab's key, show the words, wait for the person who approves.
 *
 * The hub is where this page came from. Every refusal is told with its reason. Writes nothing.
 */
import { codeHash, fromBase64, shortWords, WORDS_HEADER, WORDS_ONCE } from "../protocol/proof.ts";
import type { Identity } from "./identity.ts";

const ASK_EVERY_MS = 1_500;

/** The hub refuses the tab, or cannot be reached; the text says why, `hint` what to do. */
export class JoinRefused extends Error {
  readonly hint: string;

  constructor(reason: string, hint = "") {
    super(reason);
    this.hint = hint;
  }
}

export interface Joined {
  hubKey: string;
  name: string;
}

export interface Asking {
  code: string;
  name: string;
}

interface Terms {
  /** The words to compare, once the hub has the question. */
  onWords(words: string): void;
  signal: AbortSignal;
  request?: typeof fetch;
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** @throws JoinRefused for a bad code, a denial, words that differ, or no hub. */
export async function join(asking: Asking, identity: Identity, terms: Terms): Promise<Joined> {
  const { signal, request = fetch, pause = wait } = terms;
  const body = JSON.stringify({
    code: asking.code,
    key: identity.key,
    name: asking.name,
    os: "browser",
    profile: "observe",
  });
  let answer = await askHub(request, "/agent/join", { method: "POST", body, signal });
  const hubKey = text(answer.hub_key);
  if (!hubKey) throw new JoinRefused("the hub named no key of its own", "It is older than this page: reload it.");
  const words = shortWords(fromBase64(hubKey), identity.raw, codeHash(asking.code));
  if (answer.words && answer.words !== words) {
    throw new JoinRefused(
      "the hub's words do not fit the keys that were exchanged",
      "Something stands between this phone and the hub: do not join over this network.",
    );
  }
  const enrollment = encodeURIComponent(text(answer.enrollment));
  if (answer.state === "asking") terms.onWords(words);
  while (answer.state === "asking") {
    await pause(ASK_EVERY_MS, signal);
    answer = await askHub(request, `/agent/join/${enrollment}`, { method: "GET", signal });
  }
  if (answer.state !== "approved" && answer.state !== "used") {
    const why = text(answer.reason) || text(answer.state) || "no reason";
    throw new JoinRefused(`the hub did not let this tab in: ${why}`, "Scan a fresh code from Add device.");
  }
  return { hubKey, name: text(answer.name) || asking.name };
}

/** Ask the hub that this page came from. @throws JoinRefused with its reason, or because it does not answer. */
export async function askHub(request: typeof fetch, path: string, init: RequestInit): Promise<Record<string, unknown>> {
  let answer: Response;
  try {
    answer = await request(path, {
      ...init,
      credentials: "omit",
      cache: "no-store",
      headers: { "Content-Type": "application/json", [WORDS_HEADER]: WORDS_ONCE },
    });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new JoinRefused("the hub does not answer", "Is it running, and is this phone in the same network?");
  }
  const body: unknown = await answer.json().catch(() => ({}));
  const fields = (body !== null && typeof body === "object" ? body : {}) as Record<string, unknown>;
  if (!answer.ok) {
    const why = text(fields.reason) || text(fields.title) || `status ${answer.status}`;
    throw new JoinRefused(why, text(fields.hint) || "Scan a fresh code from Add device.");
  }
  return fields;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** The code in the fragment of the page's address: `#join=CODE`. */
export function codeIn(fragment: string): string | null {
  return new URLSearchParams(fragment.replace(/^#/, "")).get("join") || null;
}

/** How this device is called unless the hub's owner says otherwise. */
export function nameOf(agent: string): string {
  const system = /iPhone/.test(agent)
    ? "iPhone"
    : /iPad/.test(agent)
      ? "iPad"
      : /Android/.test(agent)
        ? /Mobile/.test(agent)
          ? "Android phone"
          : "Android tablet"
        : /Windows/.test(agent)
          ? "Windows"
          : /Mac OS X/.test(agent)
            ? "Mac"
            : "Linux";
  const browser = /Firefox|FxiOS/.test(agent)
    ? "Firefox"
    : /Edg/.test(agent)
      ? "Edge"
      : /Chrome|CriOS/.test(agent)
        ? "Chrome"
        : /Safari/.test(agent)
          ? "Safari"
          : "browser";
  return `${system} ${browser}`;
}
