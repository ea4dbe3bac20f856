import { describe, expect, it, vi } from "vitest";
import { StreamModel } from "../../model/stream/stream.ts";
import type { WhyRow } from "../../model/types.ts";
import { Changes } from "../workspace/changes.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { isStuck, readStopped, stoppedOf } from "./waiting.ts";

const ROW = { id: "c-1", name: "Nightly backup" };
const why = (more: Partial<WhyRow>): WhyRow => ({
  task: "copy",
  state: "ready",
  sentence: "It waits.",
  candidates: [],
  fix: null,
  ...more,
});

describe("what of a constellation waits for a hand elsewhere", () => {
  it("is what lacks a grant or a secret, with its line", () => {
    const found = stoppedOf(ROW, [
      why({ reason: "missing_secret", line: "starloom secret set smtp" }),
      why({ task: "scan", reason: "missing_grant", line: "starloom-agent grant read" }),
    ]);
    expect(found.map((one) => [one.task, one.line, one.name])).toEqual([
      ["copy", "starloom secret set smtp", "Nightly backup"],
      ["scan", "starloom-agent grant read", "Nightly backup"],
    ]);
  });
  it("is a phone that sleeps, with where to open it and no line", () => {
    const open = { url: "https://hub/tab", qr: { size: 1, path: "" } };
    const found = stoppedOf(ROW, [why({ asleep: ["phone"], open, line: "starloom-agent grant read" })]);
    expect(found).toMatchObject([{ asleep: ["phone"], line: "", open }]);
  });
  it("is a task that no device can do, with what to do about it", () => {
    const [found] = stoppedOf(ROW, [why({ reason: "no_capable_device", actions: ["enroll"] })]);
    expect(found).toMatchObject({ task: "copy", sentence: "It waits.", line: "" });
    expect(found?.todo).toContain("edit the plan");
    expect(
      stoppedOf(ROW, [why({ reason: "missing_grant", actions: ["adb is not installed"], line: "" })])[0]?.todo,
    ).toContain("Allow it on the device");
  });
  it("is one row for all calls of a group that may have happened", () => {
    const doubted = ["hash.3", "hash.11", "hash.14", "hash.20"];
    const found = stoppedOf(ROW, [
      why({ task: "hash", doubted, state: "unknown", sentence: "4 calls of hash may have happened." }),
      why({ task: "tell", doubted: [], state: "unknown", sentence: "tell may have happened." }),
    ]);
    expect(found.map((one) => [one.task, one.doubted])).toEqual([
      ["hash", doubted],
      ["tell", ["tell"]],
    ]);
    expect(found.map((one) => one.sentence)).toEqual(["4 calls of hash may have happened.", "tell may have happened."]);
    expect(found.map((one) => one.todo)).toEqual(["", expect.stringContaining("say whether it happened")]);
  });
  it("is work in doubt, and what is said of the whole", () => {
    const attention = [
      { reason: "task_unknown" as const, sentence: "A task may have happened." },
      { reason: "budget" as const, sentence: "Its budget is used up." },
    ];
    expect(stoppedOf(ROW, [why({ state: "unknown" })], attention)).toMatchObject([
      { task: "copy", sentence: "It waits." },
      { task: "", sentence: "Its budget is used up." },
    ]);
    expect(stoppedOf(ROW, [], [{ reason: "question_open", sentence: "A question is open." }])).toEqual([]);
  });
  it("is one row for one cause, and its line stands there once", () => {
    const line = "starloom-agent grant files:read";
    const lacks = { reason: "missing_grant" as const, line };
    const sentence = (task: string) =>
      `${task} waits for a grant: on nas, files:read is not granted; on the device: ${line}.`;
    const found = stoppedOf(ROW, [
      why({ task: "copy", ...lacks, sentence: sentence("copy") }),
      why({ task: "scan", ...lacks, sentence: sentence("scan") }),
      why({ task: "tell", ...lacks, line: "starloom-agent grant notify" }),
    ]);
    expect(found.map((one) => [one.task, one.line])).toEqual([
      ["copy", line],
      ["tell", "starloom-agent grant notify"],
    ]);
    expect(found[0]?.sentence).toBe(
      "copy waits for a grant: on nas, files:read is not granted. Type this on the device.",
    );
    expect(found[0]?.todo).toBe("One more task waits for the same.");
  });
  it("does not say again of the whole that a task waits long whose cause is told", () => {
    const attention = [{ reason: "waits_long" as const, sentence: "copy waits longer than its limit for nas." }];
    const stuck = why({ reason: "no_capable_device" });
    expect(stoppedOf(ROW, [stuck], attention)).toHaveLength(1);
    expect(stoppedOf(ROW, [stuck, why({ task: "scan", reason: "busy" })], attention)).toHaveLength(2);
    expect(stoppedOf(ROW, [], attention)).toHaveLength(1);
  });
  it("is asked for where a constellation needs more than an answer", () => {
    expect(isStuck(["question_open", "owner_asked"])).toBe(false);
    expect(isStuck(undefined)).toBe(false);
    expect(isStuck(["no_capable_device"])).toBe(true);
  });
  it("is nothing that only waits for its turn", () => {
    expect(stoppedOf(ROW, [why({ reason: "busy" }), why({ asleep: [] }), why({ reason: null })])).toEqual([]);
  });
  it("goes by its id where it has no name", () => {
    expect(stoppedOf({ id: "c-1", name: "" }, [why({ reason: "missing_grant" })])[0]?.name).toBe("c-1");
  });
});

it("asks why a constellation stands still only once it has changed itself", async () => {
  const whyAll = vi.fn(async (id: string) => ({ items: [why({ task: id, reason: "missing_grant" })], attention: [] }));
  const rows = ["c-1", "c-2"].map((id) => ({ id, name: id, state: "active", attention: ["missing_grant"] }));
  const hub = { constellations: async () => ({ items: rows, next: null }), whyAll };
  const changes = new Changes();
  const workspace = { hub, fleet: new StreamModel("fleet"), changes, now: () => 0 } as unknown as Workspace;
  const changed = (value: string) => changes.take([{ about: "tasks", kind: "changed", stream: "fleet", value }]);
  await readStopped(workspace);
  changed("c-3");
  await readStopped(workspace);
  expect(whyAll.mock.calls.map(([id]) => id)).toEqual(["c-1", "c-2"]);
  changed("c-2");
  await readStopped(workspace);
  expect(whyAll.mock.calls.map(([id]) => id)).toEqual(["c-1", "c-2", "c-2"]);
});

it("looks at work that stands still however many constellations came since", async () => {
  const row = (id: string, state: string, attention: string[] = []) => ({ id, name: id, state, attention });
  const newest = Array.from({ length: 50 }, (_, at) => row(`done-${at}`, "succeeded"));
  const old = Array.from({ length: 12 }, (_, at) => row(`old-${at}`, "active", ["missing_grant"]));
  const constellations = vi.fn(async ({ state, cursor }: { state?: string[]; cursor?: string }) => {
    if (!state) return { items: newest, next: "older" };
    if (!state.includes("active")) return { items: [], next: null };
    return cursor ? { items: old.slice(6), next: null } : { items: old.slice(0, 6), next: "more" };
  });
  const whyAll = vi.fn(async (id: string) => ({ items: [why({ task: id, reason: "missing_grant" })], attention: [] }));
  const workspace = { hub: { constellations, whyAll }, fleet: new StreamModel("fleet"), changes: new Changes() };
  await readStopped({ ...workspace, now: () => 0 } as unknown as Workspace);
  expect(whyAll.mock.calls.map(([id]) => id)).toEqual(old.map(({ id }) => id));
  expect(constellations).toHaveBeenCalledTimes(3);
});
