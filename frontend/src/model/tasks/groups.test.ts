import { expect, it } from "vitest";
import { StreamModel } from "../stream/stream.ts";
import type { StreamEvent } from "../types.ts";
import { farOf, groupsOf, groupTally } from "./groups.ts";

function modelOf(): StreamModel {
  const model = new StreamModel("s");
  model.readSnapshot({ entities: {}, seq: 0 });
  return model;
}

function put(model: StreamModel, puts: Record<string, unknown>): void {
  model.readEvents([{ seq: model.seq + 1, puts, kind: "k", stream: "s" }] as unknown as StreamEvent[]);
}

let read = 0;

/** A child of a group; each look at its group is counted. */
function child(id: string, group: string, state: string): Record<string, unknown> {
  const spec = { id, changed_in: 1 };
  const get = () => {
    read += 1;
    return group;
  };
  Object.defineProperty(spec, "group", { enumerable: true, get });
  return { [`spec/${id}`]: spec, [`task/${id}`]: { state, since_ms: 1 } };
}

const told = (model: StreamModel, fleet: StreamModel, group: string) =>
  groupTally(model, fleet, group)
    .counts()
    .map(({ shown, count }) => `${count} ${shown.word}`);

it("counts nothing as to go that has ended another way", () => {
  const model = modelOf();
  put(model, { ...child("a", "g", "succeeded"), ...child("b", "g", "waiting"), ...child("c", "g", "cancelled") });
  const rest = () => {
    const tally = groupTally(model, model, "g");
    return farOf(tally);
  };
  expect(rest()).toBe("1 to go");
  put(model, { "task/b": { state: "cancelled", since_ms: 2 } });
  expect(rest()).toBe("2 cancelled");
  put(model, { "task/b": { state: "succeeded", since_ms: 3 }, "task/c": { state: "succeeded", since_ms: 3 } });
  expect(rest()).toBe("all done");
});

it("counts of a group of 5,000 the one child that an event touched", () => {
  const [model, fleet] = [modelOf(), modelOf()];
  put(model, { "spec/each": { id: "each", for_each: {}, changed_in: 1 } });
  for (let at = 0; at < 5_000; at += 1) put(model, child(`each.${at}`, "each", "waiting"));
  expect(told(model, fleet, "each")).toEqual(["5000 Waiting"]);
  read = 0;
  put(model, { "task/each.7": { state: "running", since_ms: 2 } });
  expect(told(model, fleet, "each")).toEqual(["1 Running", "4999 Waiting"]);
  expect(read).toBeLessThan(20);
});

it("follows children that come, go and change their group", () => {
  const [model, fleet] = [modelOf(), modelOf()];
  put(model, { ...child("a.1", "a", "succeeded"), ...child("a.2", "a", "failed"), ...child("b.1", "b", "running") });
  expect(told(model, fleet, "a")).toEqual(["1 Done", "1 Failed"]);
  put(model, { "spec/a.2": null, ...child("a.3", "a", "waiting") });
  expect(told(model, fleet, "a")).toEqual(["1 Done", "1 Waiting"]);
  put(model, child("a.3", "b", "waiting"));
  expect(told(model, fleet, "a")).toEqual(["1 Done"]);
  expect(told(model, fleet, "b")).toEqual(["1 Running", "1 Waiting"]);
});

it("begins again with a snapshot", () => {
  const [model, fleet] = [modelOf(), modelOf()];
  put(model, { ...child("a.1", "a", "running"), ...child("a.2", "a", "running") });
  expect(told(model, fleet, "a")).toEqual(["2 Running"]);
  model.readSnapshot({ entities: child("a.1", "a", "succeeded") as never, seq: 9 });
  expect(told(model, fleet, "a")).toEqual(["1 Done"]);
});

it("says of a group that has ended how, and of none of its children that it is to go", () => {
  const [model, fleet] = [modelOf(), modelOf()];
  const far = () => farOf(groupTally(model, fleet, "copy"));
  put(model, { ...child("copy.1", "copy", "succeeded"), ...child("copy.2", "copy", "waiting") });
  expect(far()).toBe("1 to go");
  put(model, { "task/copy.2": { state: "succeeded", since_ms: 2 } });
  expect(far()).toBe("all done");
  for (const id of ["copy.1", "copy.2"])
    put(model, {
      [`spec/undo-${id}`]: { id: `undo-${id}`, changed_in: 2, undoes: id },
      [`task/undo-${id}`]: { state: "succeeded", since_ms: 3 },
    });
  expect(far()).toBe("2 taken back");
  put(model, { ...child("copy.3", "copy", "skipped") });
  expect(far()).toBe("1 skipped, 2 taken back");
});

it("has counted a snapshot when its reading ends, with pauses", () => {
  const model = new StreamModel("s");
  groupsOf(model, model);
  const entities = Object.assign({}, ...Array.from({ length: 600 }, (_, n) => child(`c${n}`, "g", "succeeded")));
  const steps = model.snapshotSteps({ entities, seq: 0 });
  let before = 0;
  let pauses = 0;
  while (!steps.next().done) {
    pauses += 1;
    before = read;
  }
  const after = read;
  expect(told(model, model, "g")).toEqual(["600 Done"]);
  expect(read, "nothing was left to count").toBe(after);
  expect(after).toBeGreaterThan(before);
  expect(pauses).toBeGreaterThan(2);
});
