// @vitest-environment jsdom
import { expect, it, vi } from "vitest";
import { boardOf } from "../../model/tasks/board.ts";
import type { SessionRow } from "../../model/types.ts";
import { forget, type LastKnown } from "./lastKnown.ts";
import { Workspace } from "./workspace.ts";

const TASKS = 5000;

it("works out the tasks of a large snapshot in the pauses of its reading, and none when it is drawn", () => {
  const workspace = new Workspace(() => {});
  const model = workspace.acquire("c-1");
  let read = 0;
  const entities: Record<string, object> = { head: { id: "c-1", state: "active" } };
  for (let at = 0; at < TASKS; at += 1) {
    const spec = { id: `t${at}`, changed_in: 1 };
    const get = () => {
      read += 1;
    };
    entities[`spec/t${at}`] = Object.defineProperty(spec, "device", { enumerable: true, get });
    entities[`task/t${at}`] = { state: "waiting", since_ms: 1 };
  }
  const steps = model.snapshotSteps({ entities: entities as never, seq: 1 });
  let pauses = 0;
  let most = 0;
  for (let before = 0; !steps.next().done; before = read) {
    pauses += 1;
    most = Math.max(most, read - before);
  }
  expect(pauses).toBeGreaterThan(50);
  expect(most).toBeLessThan(TASKS / 10);
  read = 0;
  expect(boardOf(model, workspace.fleet).all()).toHaveLength(TASKS);
  expect(read).toBe(0);
});

it("has little left to write as a large page is left", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const workspace = new Workspace(() => {});
  workspace.live.start = () => {};
  workspace.begin({ principal: { id: "p" }, csrf: "c", expires_at: null } as unknown as SessionRow);
  try {
    const model = workspace.acquire("c-1");
    const names = Array.from({ length: TASKS }, (_, n) => `task/t${n}`);
    model.readSnapshot({ seq: 1, entities: Object.fromEntries(names.map((name) => [name, { state: "ready" }])) });
    vi.advanceTimersByTime(2_000);
    vi.useRealTimers();
    await vi.waitFor(() => expect(sessionStorage.length).toBeGreaterThan(TASKS / 100));
    await vi.waitFor(() => expect(sessionStorage.getItem("starloom.last-known/c-1/78")).toContain("t4999"));
    model.readEvents([{ seq: 2, kind: "task_done", puts: { "task/t7": { state: "done" } } } as never]);
    const put = vi.spyOn(Storage.prototype, "setItem");
    dispatchEvent(new Event("pagehide"));
    expect(put.mock.calls.map(([key]) => key)).toEqual(["starloom.last-known"]);
    expect(put.mock.calls[0]?.[1]).toContain("task/t7");
    expect(put.mock.calls[0]?.[1].length).toBeLessThan(2_000);
  } finally {
    vi.useRealTimers();
    vi.restoreAllMocks();
    workspace.end();
  }
});

/** What a tab keeps of ann, as a reload without the hub finds it. */
function ofAnn(): LastKnown {
  const entities = { "device/d-1": { id: "d-1", name: "ann-laptop" } };
  const streams = [{ stream: "fleet", seq: 3, entities: entities as never, events: [] }];
  const session = sessionOf("ann");
  return { savedMs: 1, endsMs: Date.now() + 60_000, offsetMs: 0, history: "h-1", session, streams, lists: [] };
}

const sessionOf = (id: string) => ({ principal: { id }, csrf: "", expires_at: null }) as unknown as SessionRow;
const keptText = () => JSON.stringify({ ...sessionStorage });

function putKept(): void {
  forget();
  const { streams, ...rest } = ofAnn();
  sessionStorage.setItem("starloom.last-known", JSON.stringify({ ...rest, streams }));
}

it("T194: shows nothing of who was signed in before to who is when the hub is back", async () => {
  const reload = vi.fn();
  vi.stubGlobal("location", { ...location, href: "http://127.0.0.1/", reload });
  putKept();
  const workspace = new Workspace(() => {});
  workspace.hub.session = () => Promise.resolve({ ...sessionOf("bob"), csrf: "c" });
  const ticket = vi.fn(() => new Promise<string>(() => {}));
  workspace.hub.ticket = ticket;
  try {
    workspace.beginFrom(ofAnn());
    expect(workspace.fleet.kind("device").size).toBe(1);
    await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce());
    expect(ticket).not.toHaveBeenCalled();
    dispatchEvent(new Event("pagehide"));
    expect(keptText().includes("ann")).toBe(false);
  } finally {
    workspace.end();
    vi.unstubAllGlobals();
  }
});

it("T194: lets go of what another person left in the storage of the tab", () => {
  putKept();
  const workspace = new Workspace(() => {});
  workspace.live.start = () => {};
  workspace.begin(sessionOf("bob"));
  workspace.end();
  expect(keptText().includes("ann")).toBe(false);
});

it("T194: keeps its own for a reload", () => {
  putKept();
  const workspace = new Workspace(() => {});
  workspace.live.start = () => {};
  workspace.begin(sessionOf("ann"));
  workspace.end();
  expect(keptText()).toContain("ann-laptop");
});

it("T194: keeps nothing of what comes after the end", () => {
  sessionStorage.clear();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const workspace = new Workspace(() => {});
  workspace.live.start = () => {};
  try {
    workspace.begin(sessionOf("ann"));
    workspace.end();
    forget();
    const timers = vi.getTimerCount();
    workspace.fleet.readSnapshot({ seq: 1, entities: { "device/d-1": { id: "d-1" } } as never });
    expect(vi.getTimerCount(), "it is to be written later").toBe(timers);
    dispatchEvent(new Event("pagehide"));
    expect(sessionStorage).toHaveLength(0);
  } finally {
    vi.useRealTimers();
  }
});
