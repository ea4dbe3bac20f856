/** Artifacts over a wire that is cut: what the hub has is not sent again, a wrong byte is refused. */
import { describe, expect, it } from "vitest";
import { ANSWER_PROOF, answerProof, requestProof } from "../protocol/channel.ts";
import { ToolFailed } from "../tools/interface.ts";
import { fetchArtifact, hashBlob, put, type Terms } from "./artifacts.ts";

const KEY = new Uint8Array(32).fill(7);
const BYTES = new Uint8Array(700 * 1024).map((_, index) => (index * 31) % 251);
const FILE = { name: "picture.jpg", media: "image/jpeg", blob: new Blob([BYTES]) };

/** A hub's artifact store as its routes behave; `cuts` are the requests, by number, whose answers are lost. */
class Hub {
  kept = new Uint8Array(0);
  complete = false;
  requests: string[] = [];
  cuts = new Set<number>();
  status = 0;
  /** How many bytes an answer to GET has before the wire is cut. */
  cutAfter = Number.POSITIVE_INFINITY;

  /** Whether it proves its answers, as the hub does. */
  proves = true;

  readonly request = (async (url: string, init: RequestInit) => {
    const headers = new Headers(init.headers);
    const [offset, length, span] = ["Upload-Offset", "Upload-Length", "Range"].map((name) => headers.get(name) ?? "");
    const hash = url.slice(url.lastIndexOf("/") + 1);
    const proof = requestProof(KEY, init.method ?? "", hash, { offset, length, span });
    this.requests.push(`${init.method} ${headers.get("Upload-Offset") ?? headers.get("Range") ?? ""}`.trim());
    if (headers.get("Authorization") !== `Starloom token ${proof}`) return new Response("", { status: 401 });
    const answer = this.status ? new Response("why", { status: this.status }) : await this.#answer(init, headers);
    const shown = answerProof(KEY, proof, answer.status, answer.headers.get("Upload-Offset") ?? "");
    if (this.proves) answer.headers.set(ANSWER_PROOF, shown);
    if (this.cuts.delete(this.requests.length)) throw new TypeError("network");
    return answer;
  }) as typeof fetch;

  async #answer(init: RequestInit, headers: Headers): Promise<Response> {
    const at = { "Upload-Offset": String(this.kept.length) };
    if (init.method === "HEAD") return new Response(null, { status: this.complete ? 200 : 404, headers: at });
    if (init.method === "PATCH") {
      if (Number(headers.get("Upload-Offset")) !== this.kept.length)
        return new Response("", { status: 409, headers: at });
      const chunk = new Uint8Array(await (init.body as Blob).arrayBuffer());
      this.kept = new Uint8Array([...this.kept, ...chunk]);
      this.complete = this.kept.length === Number(headers.get("Upload-Length"));
      return new Response(null, { status: 204, headers: { "Upload-Offset": String(this.kept.length) } });
    }
    const from = Number(/bytes=(\d+)-/.exec(headers.get("Range") ?? "")?.[1] ?? 0);
    const rest = this.kept.slice(from);
    const body = rest.slice(0, this.cutAfter);
    this.cutAfter = Number.POSITIVE_INFINITY;
    return new Response(body, { status: from ? 206 : 200, headers: { "Content-Length": String(rest.length) } });
  }
}

function terms(hub: Hub, more: Partial<Terms> = {}): Terms {
  let now = 0;
  return {
    http: () => ({ token: "token", key: KEY }),
    deadline: 60,
    clock: () => now,
    pause: async (s) => {
      now += s;
    },
    signal: new AbortController().signal,
    progress: () => {},
    log: () => {},
    request: hub.request,
    ...more,
  };
}

const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

async function failure(promise: Promise<unknown>): Promise<ToolFailed> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ToolFailed)) throw new Error(`no failure of a tool: ${String(error)}`);
  return error;
}

describe("putting", () => {
  it("believes no answer that does not prove to be the hub's", async () => {
    const hub = new Hub();
    hub.proves = false;
    hub.complete = true;
    const failed = await failure(put(FILE, terms(hub)));
    expect(failed.code).toBe("network");
    expect(failed.message).toContain("does not prove to be the hub's");
  });

  it("sends chunks, goes on at the hub's offset after a cut, and sends nothing twice", async () => {
    const hub = new Hub();
    hub.cuts.add(3);
    const ref = await put(FILE, terms(hub));
    expect(same(hub.kept, BYTES)).toBe(true);
    expect(ref).toEqual({
      artifact: await hashBlob(FILE.blob),
      bytes: BYTES.length,
      name: FILE.name,
      media: FILE.media,
    });
    const chunk = 256 * 1024;
    expect(hub.requests).toEqual(["HEAD", "PATCH 0", `PATCH ${chunk}`, "HEAD", `PATCH ${2 * chunk}`]);
    await put(FILE, terms(hub));
    expect(hub.requests.slice(5)).toEqual(["HEAD"]);
  });

  it("tells the share of all files that is sent", async () => {
    const hub = new Hub();
    const told: (number | undefined)[] = [];
    const progress: Terms["progress"] = ({ fraction }) => told.push(fraction);
    const size = BYTES.length;
    await put(FILE, terms(hub, { progress }), { before: size, total: 4 * size });
    await put(FILE, terms(hub, { progress }), { before: 2 * size, total: 4 * size });
    expect(told[0]).toBe(0.25);
    expect(told.at(-2)).toBe(0.5);
    expect(told.at(-1)).toBe(0.75);
    expect(told.slice(0, -1).every((fraction) => (fraction ?? 0) >= 0.25 && (fraction ?? 1) <= 0.5)).toBe(true);
  });

  it("says which of several files it sends", async () => {
    const notes = new Set<string | undefined>();
    const progress: Terms["progress"] = ({ note }) => notes.add(note);
    await put(FILE, terms(new Hub(), { progress }), { before: 0, total: BYTES.length, place: "107 of 300" });
    await put(FILE, terms(new Hub(), { progress }));
    expect([...notes]).toEqual([`107 of 300, ${FILE.name}`, FILE.name]);
  });

  it("sends an empty file too", async () => {
    const hub = new Hub();
    await put({ ...FILE, blob: new Blob([]) }, terms(hub));
    expect(hub.complete).toBe(true);
  });

  it("waits for the next connection, until its deadline", async () => {
    const hub = new Hub();
    const failed = await failure(put(FILE, terms(hub, { http: () => null })));
    expect(failed.code).toBe("network");
    expect(failed.detail).toContain("the tab is not connected");
  });

  it.each([
    [413, "output_too_big"],
    [422, "artifact_corrupt"],
    [507, "no_space"],
  ] as const)("gives up at once on %i", async (status, code) => {
    const hub = new Hub();
    hub.status = status;
    expect((await failure(put(FILE, terms(hub)))).code).toBe(code);
    expect(hub.requests).toHaveLength(1);
  });
});

describe("fetching", () => {
  const full = () => Object.assign(new Hub(), { kept: BYTES, complete: true });

  it("goes on at the byte where it was cut", async () => {
    const hub = full();
    hub.cutAfter = 1_000;
    const blob = await fetchArtifact(await hashBlob(FILE.blob), terms(hub));
    expect(same(new Uint8Array(await blob.arrayBuffer()), BYTES)).toBe(true);
    expect(hub.requests).toEqual(["GET", "GET bytes=1000-"]);
  });

  it("refuses bytes that have another hash", async () => {
    const hub = full();
    hub.kept = BYTES.map((byte, index) => (index === 5 ? byte ^ 1 : byte));
    expect((await failure(fetchArtifact(await hashBlob(FILE.blob), terms(hub)))).code).toBe("artifact_corrupt");
  });

  it("says that the hub does not have it", async () => {
    const hub = new Hub();
    hub.status = 404;
    expect((await failure(fetchArtifact("0".repeat(64), terms(hub)))).code).toBe("file_not_found");
  });
});
