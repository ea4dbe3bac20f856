// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { whole } from "../../model/stream/steps.ts";
import type { SessionRow } from "../../model/types.ts";
import { forget, forgetEverywhere, knownList, noteList, read, remove, save, store, tellSignedIn } from "./lastKnown.ts";

const HOUR_MS = 3_600_000;
const SESSION: SessionRow = {
  approves: true,
  csrf: "the-secret",
  expires_at: null,
  lab: false,
  means: "",
  now: null,
  principal: { id: "p", name: "Ann", kind: "person" },
  program: "starloom",
  hub_device: null,
  person_role: "owner",
  role: "owner",
  scopes: [],
  token: "t",
};
const PLACE = { offsetMs: 0, history: "h-1" };
/** A stream of one part for each text. */
function stream(name: string, ...texts: string[]) {
  const parts = texts.map((text, n) => {
    const entity = JSON.stringify({ [`task/${n}`]: { text } });
    return { text: entity as string | null, stored: false };
  });
  return {
    stream: name,
    parts,
    size: parts.reduce((sum, part) => sum + (part.text?.length ?? 0), 0),
    head: () => JSON.stringify({ stream: name, seq: 4, events: [], parts: parts.length, entities: {} }),
    leaveOut: () => {
      for (const part of parts) part.stored = false;
    },
    takeIn: () => {},
  };
}
const stored = () => JSON.stringify({ ...sessionStorage });

function keep(texts: ReturnType<typeof stream>[], nowMs = 1000): void {
  whole(store(texts));
  save(SESSION, PLACE, texts, [], nowMs);
}
const streams = () => read(1000)?.streams.map((one) => one.stream);

beforeEach(forget);
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a closed tab that is opened again", () => {
  const closed = () => {
    keep([stream("fleet", "a")], Date.now() - 1);
    return Object.entries({ ...sessionStorage });
  };
  it.each([
    ["its person signed out", forgetEverywhere],
    ["another person signed in by a link", () => tellSignedIn("q")],
  ])("knows nothing after %s", (_, end) => {
    const had = closed();
    expect(read()?.streams).toHaveLength(1);
    end();
    for (const [key, value] of had) sessionStorage.setItem(key, value);
    expect(read()).toBeNull();
    expect(stored()).toBe("{}");
  });

  it("knows what it knew while the sign-in lasts", () => {
    tellSignedIn("p");
    keep([stream("fleet", "a")], Date.now() + 1);
    expect(read()?.streams).toHaveLength(1);
  });
});

describe("what a tab last knew", () => {
  it("comes back with its streams and lists, and without the session's secret", () => {
    noteList("home", { items: [1] });
    noteList("c-1/secret-log/1", "a line");
    const texts = [stream("fleet", "a"), stream("c-1", "b", "c")];
    whole(store(texts));
    save(SESSION, { offsetMs: 5, history: "h-1" }, texts, [], 1000);
    expect(stored()).not.toContain("the-secret");
    expect(stored()).not.toContain("a line");
    const known = read(2000);
    expect(known?.streams).toEqual([
      { stream: "fleet", seq: 4, events: [], entities: { "task/0": { text: "a" } } },
      { stream: "c-1", seq: 4, events: [], entities: { "task/0": { text: "b" }, "task/1": { text: "c" } } },
    ]);
    expect(known).toMatchObject({ savedMs: 1000, offsetMs: 5, session: { csrf: "", role: "owner" } });
    expect(knownList("home")).toEqual({ items: [1] });
    noteList("home", { items: [2] });
    expect(knownList("home"), "an answer of the hub takes its place").toBeNull();
  });

  it("leaves out a stream that is too large, and keeps those after it", () => {
    keep([stream("fleet", "a"), stream("c-huge", "x".repeat(3_000_000)), stream("c-1", "a")]);
    expect(streams()).toEqual(["fleet", "c-1"]);
  });

  it("makes room for a stream that weighs more", () => {
    const large = (name: string) => stream(name, "x".repeat(2_000_000));
    const [first, second] = [large("c-1"), large("c-2")];
    keep([first, second]);
    expect(streams()).toEqual(["c-1"]);
    keep([second, first]);
    expect(streams()).toEqual(["c-2"]);
    expect(first.parts[0]?.stored, "it is written again once there is room").toBe(false);
  });

  it("is nothing while a part is newer than the rest", () => {
    const text = stream("c-1", "a");
    keep([text]);
    text.parts.push(...stream("", "b").parts);
    whole(store([text]));
    expect(read(1000)).toBeNull();
  });

  it("loses a stream that was let go of, and no other", () => {
    const gone = stream("c-1", "a");
    keep([stream("fleet", "a"), gone]);
    remove("c-1");
    expect(streams()).toEqual(["fleet"]);
    expect(stored()).not.toContain("starloom.last-known/c-1");
  });

  it("keeps a stream of before the reload that nobody has looked at since, without its old parts", () => {
    keep([stream("c-1", "a", "b")]);
    const before = read(1000)?.streams ?? [];
    forget();
    sessionStorage.setItem("starloom.last-known/c-1/0", "of the page before");
    save(SESSION, PLACE, [], before, 1000);
    expect(read(1000)?.streams).toEqual(before);
    expect(stored()).not.toContain("of the page before");
  });

  it("is nothing, and tries no more, where the storage takes nothing", () => {
    const setItem = vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new DOMException("full", "QuotaExceededError");
    });
    keep([stream("fleet", "a", "b"), stream("c-1", "a")]);
    expect(setItem).toHaveBeenCalledTimes(1);
    expect(read(1000)).toBeNull();
  });

  it("ends with the session by the hub's clock, and with a day at the latest", () => {
    const ends = (ms: number) => ({ ...SESSION, expires_at: new Date(ms).toISOString() });
    save(ends(HOUR_MS), { offsetMs: HOUR_MS / 2, history: "h-1" }, [], [], 0);
    expect(read(HOUR_MS / 2 - 1)).not.toBeNull();
    expect(read(HOUR_MS / 2)).toBeNull();
    expect(stored()).toBe("{}");
    save(ends(90 * HOUR_MS), PLACE, [], [], 0);
    expect(read(24 * HOUR_MS - 1)).not.toBeNull();
    expect(read(24 * HOUR_MS)).toBeNull();
  });

  it("is nothing where the storage holds something else", () => {
    sessionStorage.setItem("starloom.last-known", "{");
    expect(read()).toBeNull();
    expect(stored()).toBe("{}");
  });
});
