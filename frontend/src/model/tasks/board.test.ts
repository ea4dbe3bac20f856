import { describe, expect, it } from "vitest";
import { fleetLog } from "../../../dev/fleetScenario.ts";
import { CONSTELLATION, photoBackup } from "../../../dev/scenario.ts";
import { StreamModel } from "../stream/stream.ts";
import type { StreamEvent } from "../types.ts";
import { momentWords } from "../words/clock.ts";
import { boardOf } from "./board.ts";
import { counted, counts } from "./selectors.ts";

function modelOf(log: readonly StreamEvent[] = [], stream = "s"): StreamModel {
  const model = new StreamModel(stream);
  model.readSnapshot({ entities: {}, seq: 0 });
  model.readEvents(log);
  return model;
}

/** Events that put entities, one after the other, whatever was there before. */
function put(model: StreamModel, ...puts: Record<string, unknown>[]): void {
  const events = puts.map((each, index) => ({ seq: model.seq + 1 + index, puts: each, kind: "k", stream: "s" }));
  model.readEvents(events as unknown as StreamEvent[]);
}

const spec = (id: string, more: object = {}) => ({ [`spec/${id}`]: { id, changed_in: 1, ...more } });
const task = (id: string, state: string, more: object = {}) => ({ [`task/${id}`]: { state, since_ms: 1, ...more } });
const device = (name: string, more: object = {}) => ({
  "device/d1": { id: "d1", name, link: "online", joined_ms: 1, ...more },
});

describe("a board", () => {
  it("makes the views of the events that touched them, and keeps all others", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    put(model, { ...spec("a"), ...spec("b"), ...task("a", "waiting"), ...task("b", "waiting") });
    const board = boardOf(model, fleet);
    const [before, b] = [board.all(), board.view("b")];
    expect(board.all()).toBe(before);
    put(model, task("a", "succeeded"));
    expect(board.view("a")?.shown.word).toBe("Done");
    expect(board.view("b")).toBe(b);
    expect(board.all()).not.toBe(before);
    const after = board.all();
    put(model, { answer: { sentence: "x" } });
    expect(board.all()).toBe(after);
  });

  it("looks at no task when the fleet says something that no task depends on", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    let read = 0;
    const watched = (id: string) => {
      const held = { id, changed_in: 1 };
      const get = () => {
        read += 1;
      };
      Object.defineProperty(held, "device", { enumerable: true, get });
      return { [`spec/${id}`]: held, ...task(id, "running", { device: "d1" }) };
    };
    put(fleet, device("desk"));
    put(model, ...Array.from({ length: 200 }, (_, index) => watched(`t${index}`)));
    const board = boardOf(model, fleet);
    const before = board.all();
    read = 0;
    put(fleet, { "pace/system.info/d1/0": { mean_ms: 4 } });
    expect(board.all()).toBe(before);
    expect(read).toBe(0);
    put(fleet, device("desk of ines"));
    expect(board.all()).not.toBe(before);
    expect(read).toBeGreaterThan(0);
  });

  it("keeps its list but for the tasks that an event touched", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    put(model, ...["a", "b", "c"].map((id) => ({ ...spec(id), ...task(id, "waiting") })));
    const board = boardOf(model, fleet);
    const before = board.all();
    put(model, task("b", "running"));
    expect(board.all().map((view) => before.includes(view))).toEqual([true, false, true]);
    put(model, { "spec/a": null });
    expect(board.all().map(({ id }) => id)).toEqual(["b", "c"]);
    put(model, { ...spec("d"), ...task("d", "waiting") });
    put(model, task("c", "succeeded"));
    expect(board.all().map(({ id, shown }) => `${id} ${shown.word}`)).toEqual(["b Running", "c Done", "d Waiting"]);
  });

  it("shows done work as taken back while its undo is the newer of both, and counts it once", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    put(model, { ...spec("copy"), ...task("copy", "succeeded", { since_ms: 5 }) });
    const board = boardOf(model, fleet);
    const words = () => board.all().map((view) => view.shown.word);
    const tally = () => counts(counted(model, fleet, board.all())).map((one) => [one.shown.word, one.count]);
    expect(words()).toEqual(["Done"]);
    put(model, { ...spec("undo-copy", { undoes: "copy" }), ...task("undo-copy", "running", { since_ms: 6 }) });
    expect(words()).toEqual(["Done", "Running"]);
    put(model, task("undo-copy", "succeeded", { since_ms: 7 }));
    expect(board.view("copy")?.shown).toMatchObject({ word: "Taken back", tone: "grey" });
    expect(tally()).toEqual([["Taken back", 1]]);
    put(model, task("copy", "succeeded", { since_ms: 9 }));
    expect(words()).toEqual(["Done", "Done"]);
  });

  it("says when a task begins that waits for its time", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    const at = Date.parse("2026-01-02T03:04:05Z");
    put(model, { ...spec("night"), ...task("night", "ready", { reason: "moment", not_before_ms: at }) });
    expect(boardOf(model, fleet).view("night")?.shown.word).toBe(`Waiting, begins at ${momentWords(at)}`);
  });

  it("shows why a ready task is held as the hub says it, until it moves or the hub says other", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    put(fleet, device("attic"));
    put(model, {
      ...{ head: { id: "s", state: "active", attention: ["missing_grant"] } },
      ...{ ...spec("run", { tool: "shell.run", device: { name: "attic" } }), ...task("run", "ready") },
      ...{ ...spec("find", { tool: "fs.find", device: { name: "attic" } }), ...task("find", "ready") },
    });
    const board = boardOf(model, fleet);
    const words = () => board.all().map((view) => view.shown.word);
    let heard = 0;
    board.subscribe(() => {
      heard += 1;
    });
    expect(words()).toEqual(["Ready", "Ready"]);
    board.join(new Map([["run", "missing_grant"]]));
    expect(words()).toEqual(["Held, a grant is missing", "Ready"]);
    expect(heard).toBe(1);
    board.join(new Map([["run", "missing_grant"]]));
    expect(heard).toBe(1);
    put(model, task("run", "running"));
    expect(words()[0]).toBe("Running");
    put(model, task("run", "ready"));
    board.join(new Map([["run", "missing_secret"]]));
    expect(words()[0]).toBe("Held, a secret is not set");
    board.join(new Map());
    expect(words()).toEqual(["Ready", "Ready"]);
  });

  it("is the same after every event of a log as one that is made of the log at once", () => {
    const log = photoBackup("failed");
    const fleet = modelOf(fleetLog(), "fleet");
    const model = modelOf([], CONSTELLATION);
    const board = boardOf(model, fleet);
    for (const event of log) {
      model.readEvents([event]);
      board.all();
    }
    const whole = boardOf(modelOf(log, CONSTELLATION), fleet);
    expect(board.all().length).toBeGreaterThan(10);
    expect(board.all()).toEqual(whole.all());
    expect(board.failed()).toEqual(whole.failed());
  });

  it("works out a snapshot with pauses, in which a reader gets all of it", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    const board = boardOf(model, fleet);
    const ids = Array.from({ length: 1000 }, (_, at) => `t${at}`);
    const entities = Object.assign({}, ...ids.map((id) => ({ ...spec(id), ...task(id, "waiting") })));
    const steps = model.snapshotSteps({ entities, seq: 5 });
    while (model.seq !== 5) steps.next();
    expect(steps.next().done).toBe(false);
    const seen = board.all();
    expect(seen.map((view) => view.id)).toEqual(ids);
    while (!steps.next().done);
    expect(board.all()).toBe(seen);
    expect(board.failed()).toEqual([]);
  });

  it("forgets what left the plan and all of it with a new snapshot", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    put(model, { ...spec("a"), ...spec("b") });
    const board = boardOf(model, fleet);
    expect(board.all().map((view) => view.id)).toEqual(["a", "b"]);
    put(model, { "spec/a": null });
    expect(board.all().map((view) => view.id)).toEqual(["b"]);
    model.readSnapshot({ entities: { ...spec("c") }, seq: 40 });
    expect(board.all().map((view) => view.id)).toEqual(["c"]);
  });

  it("follows the device of a task: its name, its absence, and its coming", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    put(model, { ...spec("a", { device: { name: "nas" } }), ...task("a", "ready") });
    const board = boardOf(model, fleet);
    expect(board.view("a")).toMatchObject({ device: undefined, reason: undefined, deviceName: "nas" });
    put(fleet, device("nas", { link: "offline" }));
    expect(board.view("a")).toMatchObject({ device: "d1", reason: "device_away" });
    put(fleet, device("nas"));
    expect(board.view("a")?.reason).toBeUndefined();
    const held = board.view("a");
    put(fleet, device("nas", { condition: { load: 3 } }));
    expect(board.view("a"), "what a device says of its load changes no task").toBe(held);
    put(model, task("a", "running", { device: "d1" }));
    put(fleet, device("cellar"));
    expect(board.view("a")?.deviceName).toBe("cellar");
  });

  it("gives what is ready another reason when the constellation is paused", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    put(model, { ...spec("a"), ...spec("b"), ...task("a", "ready"), ...task("b", "running") });
    const board = boardOf(model, fleet);
    const b = board.view("b");
    put(model, { head: { state: "paused" } });
    expect(board.view("a")?.reason).toBe("paused");
    expect(board.view("b")).toBe(b);
  });

  it("says of work that it is asleep where its device is, and that it is out of reach where that is lost", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    const device = { id: "d1", joined_ms: 1, link: "offline", name: "phone" };
    put(model, { ...spec("a"), "task/a": { state: "running", reason: "absent", device: "d1", attempt: 1 } });
    put(fleet, { "device/d1": { ...device, os: "linux" } });
    const board = boardOf(model, fleet);
    expect(board.view("a")?.shown.word).toBe("Out of reach");
    put(fleet, { "device/d1": { ...device, os: "browser" } });
    expect(board.view("a")?.shown).toMatchObject({ word: "Asleep", stuck: true });
  });

  it("names a child by its item, also when that comes later, and numbers its group", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    put(model, { ...spec("each", { for_each: {} }), ...spec("each.0", { group: "each", family: "each", key: "0" }) });
    const board = boardOf(model, fleet);
    expect(board.all().map((view) => view.id)).toEqual(["each.0"]);
    const [before, alone] = [board.groupRevision("each"), board.groupRevision("other")];
    put(model, { "item/each/0": { key: "0", value: '{"path":"a/June"}' } });
    expect(board.view("each.0")?.label).toBe("June");
    expect(board.groupRevision("each")).toBeGreaterThan(before);
    expect(board.groupRevision("other")).toBe(alone);
  });

  it("calls its listeners for changes of tasks only, even when another has read before them", () => {
    const [model, fleet] = [modelOf(), modelOf()];
    put(model, { ...spec("a"), ...task("a", "waiting") });
    const board = boardOf(model, fleet);
    let calls = 0;
    model.subscribe(() => board.all());
    const stop = board.subscribe(() => {
      calls += 1;
    });
    put(model, { answer: { sentence: "x" } });
    expect(calls).toBe(0);
    put(model, task("a", "running"));
    expect(calls).toBe(1);
    stop();
    put(model, task("a", "succeeded"));
    expect(calls).toBe(1);
  });
});
