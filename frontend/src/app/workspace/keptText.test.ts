// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { whole } from "../../model/stream/steps.ts";
import { StreamModel } from "../../model/stream/stream.ts";
import type { Entity, SessionRow } from "../../model/types.ts";
import { KeptText } from "./keptText.ts";
import { forget, read, save, store } from "./lastKnown.ts";

const SESSION = { csrf: "", expires_at: null, role: "owner" } as unknown as SessionRow;
const PLACE = { offsetMs: 0, history: "h-1" };

function holding(entities: Record<string, Entity>): StreamModel {
  const model = new StreamModel("c-1");
  model.readSnapshot({ seq: 4, entities });
  return model;
}

/** The stream as it is after a reload. */
function kept(text: KeptText, leaving = false) {
  whole(text.steps(leaving));
  whole(store([text]));
  save(SESSION, PLACE, [text]);
  const stream = read()?.streams[0];
  if (!stream) throw new Error("nothing was kept");
  return stream;
}

const attempts = (count: number, value = '"hello"') =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`attempt/t${n}/1`, { device: "d", detail: "", value } as Entity]),
  );
const tasks = (count: number, state: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`task/t${n}`, { state } as Entity]));

const told = (model: StreamModel, puts: Record<string, Entity | null>) =>
  model.readEvents([{ seq: model.seq + 1, kind: "attempt", puts } as never]);

const written = (text: KeptText) => [...text.steps()].length;

beforeEach(forget);
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a stream as the texts that are kept", () => {
  it("is all of it, under its keys", () => {
    const entities = { head: { text: 'a "b"' }, "task/first": { state: "ready" }, "task/a/b": { state: "done" } };
    const model = holding(entities);
    expect(kept(new KeptText(model))).toEqual({ stream: "c-1", seq: 4, entities, events: [] });
  });

  it("has the last events", () => {
    const model = holding({});
    const event = (seq: number) => ({ seq, kind: "task_ready", puts: {} }) as never;
    model.readEvents(Array.from({ length: 300 }, (_, n) => event(n + 5)));
    const { seq, events } = kept(new KeptText(model));
    expect([seq, events.length, events[0]?.seq]).toEqual([304, 200, 105]);
  });

  it("holds no pairings and nothing that a device asks, whenever they came", () => {
    const model = holding({ "device/d": { id: "d" }, "enrollment/e": { words: "six words" }, "asks/d": { open: [] } });
    const text = new KeptText(model);
    expect(kept(text).entities).toEqual({ "device/d": { id: "d" } });
    told(model, { "enrollment/f": { words: "more words" } });
    expect(text.head()).not.toContain("more words");
    expect(kept(text).entities).toEqual({ "device/d": { id: "d" } });
  });

  it("keeps the attempts of a large constellation, and says that their values come with the hub", () => {
    const of = (count: number) => kept(new KeptText(holding(attempts(count)))).entities["attempt/t7/1"];
    expect(of(500)).toEqual({ device: "d", detail: "", value: '"hello"' });
    const said = "The hub has the value.";
    expect(of(501)).toEqual({ device: "d", detail: said });
  });

  it("changes nothing that the page itself still shows", () => {
    const model = holding(attempts(501));
    kept(new KeptText(model));
    expect(model.one<Entity>("attempt/t7/1")?.value).toBe('"hello"');
  });

  it("tells what has changed, come and gone since it was written", () => {
    const model = holding({ "task/one": { state: "ready" }, "task/two": { state: "ready" } });
    const text = new KeptText(model);
    kept(text);
    told(model, { "task/one": { state: "done" }, "task/two": null, "task/three": { state: "ready" } });
    expect(written(text), "so few stay in the head").toBe(0);
    expect(kept(text)).toMatchObject({ seq: 5 });
    expect(kept(text).entities).toEqual({ "task/one": { state: "done" }, "task/three": { state: "ready" } });
  });

  it("writes the parts again that many changes are in, and what is gone is gone from them", () => {
    const model = holding(tasks(1_000, "ready"));
    const text = new KeptText(model);
    expect(kept(text).entities).toEqual(tasks(1_000, "ready"));
    expect(text.parts.length).toBeGreaterThan(10);
    told(model, { ...tasks(200, "done"), "task/t5": null, "task/new": { state: "ready" } });
    const again = written(text);
    expect(again).toBeGreaterThan(2);
    expect(again, "only those").toBeLessThan(text.parts.length / 2);
    expect(JSON.parse(text.head()).entities).toEqual({});
    const { "task/t5": _, ...all } = { ...tasks(1_000, "ready"), ...tasks(200, "done") };
    expect(kept(text).entities).toEqual({ ...all, "task/new": { state: "ready" } });
  });

  it("leaves the stored parts as they are when the page is left, however much has changed", () => {
    const model = holding(tasks(1_000, "ready"));
    const text = new KeptText(model);
    kept(text);
    told(model, { ...tasks(400, "done"), "task/t5": null, "task/new": { state: "ready" } });
    const round = text.steps();
    round.next();
    told(model, { "task/t3": { state: "failed" } });
    const put = vi.spyOn(Storage.prototype, "setItem");
    const { "task/t5": _, ...all } = { ...tasks(1_000, "ready"), ...tasks(400, "done") };
    const expected = { ...all, "task/t3": { state: "failed" }, "task/new": { state: "ready" } };
    expect(kept(text, true).entities).toEqual(expected);
    expect(put.mock.calls.length, "what the round has written, and the head").toBeLessThanOrEqual(2);
    whole(round);
    expect(kept(text).entities).toEqual(expected);
  });

  it("is another after another snapshot, also where that has fewer parts", () => {
    const model = holding(tasks(500, "ready"));
    const text = new KeptText(model);
    kept(text);
    const before = sessionStorage.length;
    model.readSnapshot({ seq: 9, entities: tasks(70, "done") });
    expect(kept(text).entities).toEqual(tasks(70, "done"));
    expect(sessionStorage.length).toBeLessThan(before);
  });

  it("loses no change that comes between two of its steps", () => {
    const model = holding(tasks(400, "ready"));
    const text = new KeptText(model);
    let n = 0;
    for (const _ of text.steps()) {
      told(model, {
        [`task/t${n}`]: { state: "done" },
        [`task/t${399 - n}`]: null,
        [`task/new${n}`]: { state: "ready" },
      });
      n += 1;
    }
    const expected = Object.fromEntries(model.entities());
    expect(kept(text).entities).toEqual(expected);
  });

  it("goes on where it was left off", () => {
    const model = holding(tasks(400, "ready"));
    const text = new KeptText(model);
    text.steps().next();
    const second = text.steps();
    second.next();
    second.next();
    expect(kept(text).entities).toEqual(tasks(400, "ready"));
  });

  it("leaves the values out once there are too many, and has them again when there are fewer", () => {
    const model = holding(attempts(500));
    const text = new KeptText(model);
    kept(text);
    told(model, { "attempt/more/1": { device: "d", detail: "", value: "1" } });
    expect(kept(text).entities["attempt/t7/1"]?.value).toBeUndefined();
    told(model, { "attempt/more/1": null });
    expect(kept(text).entities["attempt/t7/1"]?.value).toBe('"hello"');
  });

  it("is not written again and again while the storage has no room for it", () => {
    const model = holding(tasks(1_000, "ready"));
    const text = new KeptText(model);
    const weightier = new KeptText(holding({ head: { text: "x".repeat(2_990_000) } }));
    kept(text);
    const keepBeside = (more: KeptText[]) => {
      for (const each of [...more, text]) whole(each.steps());
      whole(store([...more, text]));
    };
    keepBeside([weightier]);
    told(model, tasks(300, "done"));
    expect(written(text)).toBe(0);
    keepBeside([]);
    expect(kept(text).entities, "there is room again").toEqual({ ...tasks(1_000, "ready"), ...tasks(300, "done") });
  });

  it("is written in steps, each part once", () => {
    const text = new KeptText(holding(attempts(400)));
    expect(written(text)).toBeGreaterThan(2);
    expect(written(text)).toBe(0);
  });
});
