// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from "vitest";
import type { SessionRow } from "../../model/types.ts";
import { forget, knownList, noteList, read, save } from "./lastKnown.ts";

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
  person_role: "owner",
  role: "owner",
  scopes: [],
  token: "t",
};
const stream = (name: string, text = "") =>
  JSON.stringify({ stream: name, seq: 4, entities: { head: { text } }, events: [] });
const stored = () => JSON.stringify({ ...sessionStorage });

beforeEach(forget);

describe("what a tab last knew", () => {
  it("comes back with its streams and lists, and without the session's secret", () => {
    noteList("home", { items: [1] });
    noteList("c-1/secret-log/1", "a line");
    save(SESSION, { offsetMs: 5, history: "h-1" }, [stream("fleet"), stream("c-1")], 1000);
    expect(stored()).not.toContain("the-secret");
    expect(stored()).not.toContain("a line");
    const known = read(2000);
    expect(known?.streams.map((one) => one.stream)).toEqual(["fleet", "c-1"]);
    expect(known).toMatchObject({ savedMs: 1000, offsetMs: 5, session: { csrf: "", role: "owner" } });
    expect(knownList("home")).toEqual({ items: [1] });
    noteList("home", { items: [2] });
    expect(knownList("home"), "an answer of the hub takes its place").toBeNull();
  });

  it("leaves out a stream that is too large, and keeps those after it", () => {
    save(
      SESSION,
      { offsetMs: 0, history: "h-1" },
      [stream("fleet"), stream("c-huge", "x".repeat(3_000_000)), stream("c-1")],
      1000,
    );
    expect(read(1000)?.streams.map((one) => one.stream)).toEqual(["fleet", "c-1"]);
  });

  it("ends with the session by the hub's clock, and with a day at the latest", () => {
    const ends = (ms: number) => ({ ...SESSION, expires_at: new Date(ms).toISOString() });
    save(ends(HOUR_MS), { offsetMs: HOUR_MS / 2, history: "h-1" }, [], 0);
    expect(read(HOUR_MS / 2 - 1)).not.toBeNull();
    expect(read(HOUR_MS / 2)).toBeNull();
    expect(stored()).toBe("{}");
    save(ends(90 * HOUR_MS), { offsetMs: 0, history: "h-1" }, [], 0);
    expect(read(24 * HOUR_MS - 1)).not.toBeNull();
    expect(read(24 * HOUR_MS)).toBeNull();
  });

  it("is nothing where the storage holds something else", () => {
    sessionStorage.setItem("starloom.last-known", "{");
    expect(read()).toBeNull();
    expect(stored()).toBe("{}");
  });
});
