/** Counts and sections of thousands of live tasks: what comes out is that of all tasks, what is read is what changed. */
import { describe, expect, it } from "vitest";
import type { Reason, TaskState } from "../types.ts";
import { presentation } from "../words/presentation.ts";
import { Sections } from "./sections.ts";
import { counts, inTrouble, readingOrder, type TaskView } from "./selectors.ts";
import { Tally } from "./tally.ts";

const STATES: [TaskState, Reason | undefined][] = [
  ["waiting", undefined],
  ["ready", undefined],
  ["ready", "device_away"],
  ["ready", "paused"],
  ["running", undefined],
  ["running", "absent"],
  ["succeeded", undefined],
  ["failed", undefined],
  ["skipped", undefined],
];

let read = 0;

/** A view that counts each look at how it is shown, which both need of every task that they think about. */
function view(at: number, kind: number): TaskView {
  const [state, reason] = STATES[kind % STATES.length] as (typeof STATES)[number];
  const shown = presentation(state, reason);
  const made = {
    id: `t${at}`,
    name: `t${at}`,
    spec: { id: `t${at}`, ...(at % 3 ? {} : { checks: [{}] }) },
    record: { state, reason, since_ms: 1, checked: at % 6 === 0, device: at % 4 ? `d${at % 4}` : undefined },
    attempt: at % 5 ? { leased_ms: (at * 37) % 100, started_ms: 0 } : undefined,
    device: at % 4 ? `d${at % 4}` : undefined,
    deviceName: at % 4 ? `desk ${at % 4}` : "",
  };
  const get = () => {
    read += 1;
    return shown;
  };
  return Object.defineProperty(made, "shown", { enumerable: true, get }) as unknown as TaskView;
}

const many = (size: number): TaskView[] => Array.from({ length: size }, (_, at) => view(at, at * 7));
const figures = (tally: Tally) => ({
  counts: tally.counts(),
  trouble: tally.counts(inTrouble),
  done: tally.in("succeeded"),
  works: tally.works,
  stuck: tally.stuck,
  checked: tally.checked,
  failed: tally.failed.map(({ id }) => id),
  done_on: tally.doneOnDevices.sort(),
  used: tally.used.sort(),
  on: [...tally.onDevices].sort(),
});

describe("a tally", () => {
  it("counts after any changes as it counts the tasks alone", () => {
    const tally = new Tally();
    let views = many(60);
    for (let turn = 0; turn < 200; turn += 1) {
      views = views.slice();
      for (const at of [(turn * 31) % 60, (turn * 17 + 5) % 60]) views[at] = view(at, turn + at);
      if (turn % 50 === 49) views = views.slice(0, -1);
      if (turn % 70 === 69) views.push(view(60 + turn, turn));
      expect(figures(tally.of(views))).toEqual(figures(new Tally().of(views)));
    }
    expect(tally.counts()).toEqual(counts(views));
  });

  it("looks at the tasks that changed, not at all of them", () => {
    const views = many(5000);
    const tally = new Tally().of(views);
    const next = views.slice();
    next[2500] = view(2500, 6);
    read = 0;
    tally.of(next).counts();
    expect(read).toBeLessThan(10);
    tally.of(next);
    expect(read).toBeLessThan(10);
  });
});

describe("the sections of a list", () => {
  const flat = (order: Sections, views: TaskView[]) =>
    order.of(views).map(({ title, tasks }) => [title, tasks.map((one) => one.view.id)] as const);

  it("stand after any changes as those of the tasks alone, in the order in which a person reads", () => {
    const order = new Sections();
    let views = many(60);
    for (let turn = 0; turn < 200; turn += 1) {
      views = views.slice();
      for (const at of [(turn * 31) % 60, (turn * 17 + 5) % 60]) views[at] = view(at, turn + at);
      if (turn % 50 === 49) views = views.slice(0, -1);
      const found = flat(order, views);
      expect(found).toEqual(flat(new Sections(), views));
      const place = new Map(readingOrder(views).map(({ id }, at) => [id, at]));
      for (const [, ids] of found) {
        const places = ids.map((id) => place.get(id) ?? -1);
        expect(places).toEqual([...places].sort((a, b) => a - b));
      }
    }
  });

  it("move the tasks that changed, and look at no others", () => {
    const views = many(5000);
    const order = new Sections();
    order.of(views);
    const next = views.slice();
    next[2500] = view(2500, 6);
    read = 0;
    order.of(next);
    expect(read).toBeLessThan(20);
  });
});
