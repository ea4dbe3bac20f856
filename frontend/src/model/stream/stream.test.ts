import { describe, expect, it } from "vitest";
import { fleetLog } from "../../../dev/fleetScenario.ts";
import { CONSTELLATION, photoBackup } from "../../../dev/scenario.ts";
import { callsNamed, taskNamed } from "../fleet/fleet.ts";
import { feedLines } from "../run/feed.ts";
import { readFilter } from "../tasks/filter.ts";
import { allViews, counts, inTrouble, readingOrder, shortAnswer, taskView, versions } from "../tasks/selectors.ts";
import type { Device, StreamEvent } from "../types.ts";
import { bytes, clock, duration } from "../words/words.ts";
import { lastSeqOf, modelAt, overlay } from "./history.ts";
import { StreamModel } from "./stream.ts";

const event = (seq: number, puts: StreamEvent["puts"] = {}): StreamEvent => ({
  at_ms: seq,
  by: "engine",
  kind: "k",
  puts,
  seq,
  stream: "s",
});

function modelOf(log: StreamEvent[], stream = CONSTELLATION): StreamModel {
  const model = new StreamModel(stream);
  model.readSnapshot({ entities: {}, seq: 0 });
  model.readEvents(log);
  return model;
}
const fleet = modelOf(fleetLog(), "fleet");

describe("names", () => {
  const known = modelOf([event(1, { "device/d-abc": { id: "d-abc", name: "nas" } })], "fleet");

  it("calls the child of a device by the device", () => {
    expect(taskNamed(known, "info.d-abc")).toBe("info on nas");
    expect(callsNamed(known, "retry of info.d-abc, of a.b.d-zzz and of d-abc")).toBe(
      "retry of info on nas, of a.b.d-zzz and of d-abc",
    );
    expect([taskNamed(known, "info.d-zzz"), taskNamed(known, "send.3"), taskNamed(known, "table")]).toEqual([
      "info.d-zzz",
      "send.3",
      "table",
    ]);
    const model = modelOf(
      [
        event(1, {
          "spec/info.d-abc": { id: "info.d-abc", group: "info", family: "info", key: "d-abc" },
          "item/info/d-abc": { key: "d-abc", value: '{"id":"d-abc","name":"nas","os":"linux"}' },
          "spec/send.0": { id: "send.0", group: "send", family: "send", key: "0" },
          "item/send/0": { key: "0", value: '{"path":"Pictures/June"}' },
        }),
      ],
      "s",
    );
    expect(taskView(model, known, "info.d-abc")?.name).toBe("info on nas");
    expect(taskView(model, known, "send.0")?.name).toBe("send.0");
  });
});

describe("shortAnswer", () => {
  const item = { attempt: 1, bytes: 0, checked: false, show: "text", task: "t", title: "In short" };

  it("is the first short text of the answer", () => {
    const answer = {
      items: [
        { ...item, show: "value", value: "1" },
        { ...item, value: '"nas: disk full"' },
      ],
      sentence: "",
      state: "final",
    };
    expect(shortAnswer(answer as never)).toBe("nas: disk full");
    expect(shortAnswer({ ...answer, items: [{ ...item, value: `"${"x".repeat(300)}"` }] } as never)).toBe("");
    expect(shortAnswer(undefined)).toBe("");
  });

  it("is none before the end, nor a text that means nothing without the first", () => {
    const answer = { items: [{ ...item, title: "Left out", value: '"Nothing."' }], sentence: "", state: "final" };
    const plan = [
      { ...item, title: "Outcome" },
      { ...item, title: "Left out" },
    ] as never;
    expect(shortAnswer(answer as never, plan)).toBe("");
    expect(shortAnswer({ ...answer, state: "partial" } as never)).toBe("");
    expect(shortAnswer(answer as never)).toBe("Nothing.");
  });
});

describe("StreamModel", () => {
  it("shows what was there until all of a snapshot is read, and then all of it at once", () => {
    const model = modelOf([event(1, { "task/old": { state: "ready" } })], "s");
    const entities = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`task/${at}`, { at }]));
    let told = 0;
    model.subscribe(() => {
      told += 1;
    });
    const steps = model.snapshotSteps({ entities, seq: 5 });
    let pauses = 0;
    while (!steps.next().done) {
      pauses += 1;
      expect([model.seq, model.kind("task").size, told]).toEqual([1, 1, 0]);
    }
    expect(pauses).toBeGreaterThan(2);
    expect([model.seq, model.kind("task").size, told]).toEqual([5, 2000, 1]);
    expect(new Map(model.entities())).toEqual(new Map(Object.entries(entities)));
  });

  it("forgets the parts of a snapshot that another one has taken the place of", () => {
    const model = modelOf([], "s");
    model.readSnapshot({ entities: { "task/old": {} }, seq: 3, part: 0, parts: 2 });
    model.readSnapshot({ entities: { "task/a": {} }, seq: 5, part: 0, parts: 2 });
    model.readSnapshot({ entities: { "task/b": {} }, seq: 5, part: 1, parts: 2 });
    expect([model.seq, [...model.kind("task").keys()]]).toEqual([5, ["a", "b"]]);
  });

  it("drops a doubled event and reports a gap without applying past it", () => {
    const model = modelOf([event(1, { head: { a: 1 } })], "s");
    expect(model.readEvents([event(1, { head: { a: 9 } })])).toBe(true);
    expect(model.one("head")).toEqual({ a: 1 });
    expect(model.readEvents([event(3, { head: { a: 3 } })])).toBe(false);
    expect(model.seq).toBe(1);
    expect(model.one("head")).toEqual({ a: 1 });
  });

  it("takes no event before a snapshot", () => {
    expect(new StreamModel("s").readEvents([event(1)])).toBe(false);
  });

  it("tells structure from state", () => {
    const model = modelOf([], "s");
    const before = model.structure;
    model.readEvents([event(1, { "task/a": { state: "ready" } })]);
    expect(model.structure).toBe(before);
    model.readEvents([event(2, { "spec/a": { id: "a" } })]);
    expect(model.structure).toBeGreaterThan(before);
  });

  it("forgets what null removes, in every index", () => {
    const model = modelOf([event(1, { "task/a": { state: "ready" } }), event(2, { "task/a": null })], "s");
    expect(model.one("task/a")).toBeUndefined();
    expect(model.kind("task").size).toBe(0);
  });

  it("puts the past before what it holds, once", () => {
    const model = modelOf([], "s");
    model.readSnapshot({ entities: {}, seq: 2 });
    model.readEvents([event(3)]);
    model.readPast([event(1), event(2), event(3)]);
    model.readPast([event(1), event(2), event(3)]);
    expect(model.events.map((one) => one.seq)).toEqual([1, 2, 3]);
  });
});

describe("what is read out of the sample", () => {
  const model = modelOf(photoBackup("killed"));

  it("joins the reason of a device that is away", () => {
    expect(taskView(model, fleet, "send.4")?.reason).toBe("device_away");
    expect(taskView(model, fleet, "send.3")?.shown.glyph).toBe("broken_arc");
  });

  it("says of work for a device that takes none now that it is held", () => {
    const phone = [...fleet.kind<Device>("device").values()].find((one) => one.name === "demo-phone") as Device;
    for (const change of [{ draining: true }, { quarantined: true }, { condition: { disk: "full" } }]) {
      const other = modelOf([event(1, { [`device/${phone.id}`]: { ...phone, link: "online", ...change } })], "fleet");
      expect(taskView(model, other, "send.4")?.reason).toBe("device_aside");
    }
    for (const change of [{}, { quarantined: true, probing: true }]) {
      const other = modelOf([event(1, { [`device/${phone.id}`]: { ...phone, link: "online", ...change } })], "fleet");
      expect(taskView(model, other, "send.4")?.reason).toBeUndefined();
    }
  });

  it("keeps an unchanged view, so that its card is not drawn again", () => {
    const first = taskView(model, fleet, "send.0");
    model.readEvents([]);
    expect(taskView(model, fleet, "send.0")).toBe(first);
  });

  it("counts 35 tasks, the stuck ones first in reading order", () => {
    const views = allViews(model, fleet);
    expect(counts(views).reduce((sum, one) => sum + one.count, 0)).toBe(35);
    const first = readingOrder(views)[0];
    expect(first && inTrouble(first.shown)).toBe(true);
  });

  it("filters by state, device, time and words", () => {
    const views = allViews(model, fleet);
    const ids = (text: string) => views.filter(readFilter(text, 0)).map((view) => view.id);
    expect(ids("state:out-of-reach")).toEqual(["send.3"]);
    expect(ids("device:p1 name hills")).toEqual([]);
    expect(ids("device:p1 hills")).toEqual(["send.3"]);
    expect(ids("state:done dur:>700ms")).toContain("list");
    expect(ids("state:done dur:>10s")).toEqual([]);
  });

  it("says what happened in lines, bursts joined and newest first", () => {
    const lines = feedLines(model.events, 50);
    expect(lines[0]?.names).toEqual(["send.3"]);
    expect(lines.find((line) => line.kind === "fault")?.text).toContain("announced");
    expect(lines.find((line) => line.names.includes("send.5"))?.names).toEqual(["send.4", "send.5", "send.6"]);
    expect(lines.filter((line) => line.kind === "version").map((line) => line.names[0])).toEqual(["v3", "v2", "v1"]);
  });
});

describe("a task that a person marked", () => {
  const record = { state: "succeeded", reason: "marked", since_ms: 1, marked: "null" };
  const marked = { ...event(1, { "task/copy": record }), about: "copy", by: "person:ines#t", kind: "task_marked" };

  it("is no plain done, and names the person", () => {
    expect(feedLines([marked], 5)[0]?.text).toBe("marked done by ines");
    expect(feedLines([{ ...marked, note: "I looked" }], 5)[0]?.text).toBe("marked done by ines: I looked");
  });
});

describe("versions", () => {
  const log = photoBackup("final");
  const model = modelOf(log);

  it("folds the log again to the end of a version", () => {
    const second = lastSeqOf(log, 2);
    const past = modelAt(CONSTELLATION, log, second ?? 0);
    expect(past?.kind("spec").size).toBe(11 + 32);
    expect(past?.one<{ state: string }>("head")?.state).toBe("active");
    expect(past && versions(past).map((version) => version.number)).toEqual([1, 2]);
    expect(lastSeqOf(log, 9)).toBeNull();
  });

  it("folds no log that misses events", () => {
    const holed = [...log.slice(0, 5), ...log.slice(6)];
    expect(modelAt(CONSTELLATION, holed, lastSeqOf(log, 2) ?? 0)).toBeNull();
  });

  it("marks what a version did and remembers what left", () => {
    const all = versions(model);
    expect([...overlay(all, 3, true).removed.keys()]).toEqual(["send.7", "copy.7", "check.7", "thumb.7"]);
    expect(overlay(all, 2, true).added.has("send.7")).toBe(true);
    expect(overlay(all, 4, true).changed.has("proof")).toBe(true);
    expect(overlay(all, 4, false).changed.size).toBe(0);
  });
});

describe("words", () => {
  it.each([
    [800, "0.8 s"],
    [12_000, "12 s"],
    [185_000, "3 min 05 s"],
    [7_800_000, "2 h 10 min"],
    [0, "0.0 s"],
    [0.4, "1 ms"],
    [42.3, "42 ms"],
    [3 * 86_400_000, "3 days"],
  ])("%i ms is %s", (ms, text) => expect(duration(ms)).toBe(text));
  it("shows clocks and sizes", () => {
    expect(clock(6000)).toBe("00:06");
    expect(clock(3_730_000)).toBe("1:02:10");
    expect(bytes(384_000)).toBe("384 kB");
    expect(bytes(999_999)).toBe("1.0 MB");
  });
});

describe("a burst in the feed", () => {
  it("is one line with each name once, however many there are", () => {
    const log = Array.from({ length: 1500 }, (_, index) => ({
      ...event(index + 1, { [`task/t${index % 900}`]: { state: "succeeded", since_ms: 1 } }),
      at_ms: 5,
    }));
    const lines = feedLines(log, 40);
    expect(lines.length).toBe(1);
    expect(lines[0]?.names.length).toBe(900);
    expect(feedLines(log, 40)).toEqual(lines);
  });
});
