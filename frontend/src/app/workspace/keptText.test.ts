import { describe, expect, it } from "vitest";
import { whole } from "../../model/stream/steps.ts";
import { StreamModel } from "../../model/stream/stream.ts";
import type { Entity } from "../../model/types.ts";
import { KeptText } from "./keptText.ts";

function holding(entities: Record<string, Entity>): StreamModel {
  const model = new StreamModel("c-1");
  model.readSnapshot({ seq: 4, entities });
  return model;
}

const kept = (text: KeptText) => JSON.parse(text.text());

const attempts = (count: number, value = '"hello"') =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`attempt/t${n}/1`, { device: "d", detail: "", value } as Entity]),
  );

describe("a stream as the text that is kept", () => {
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
    expect([seq, events.length, events[0].seq]).toEqual([304, 200, 105]);
  });

  it("holds no pairings and nothing that a device asks", () => {
    const model = holding({ "device/d": { id: "d" }, "enrollment/e": { words: "six words" }, "asks/d": { open: [] } });
    expect(kept(new KeptText(model)).entities).toEqual({ "device/d": { id: "d" } });
  });

  it("keeps the attempts of a large constellation, and says that their values come with the hub", () => {
    const of = (count: number) => kept(new KeptText(holding(attempts(count)))).entities["attempt/t7/1"];
    expect(of(500)).toEqual({ device: "d", detail: "", value: '"hello"' });
    const said = "The hub has the value.";
    expect(of(501)).toEqual({ device: "d", detail: said });
  });

  it("changes nothing that the page itself still shows", () => {
    const model = holding(attempts(501));
    new KeptText(model).text();
    expect(model.one<Entity>("attempt/t7/1")?.value).toBe('"hello"');
  });

  it("tells what has changed, come and gone since it was written", () => {
    const model = holding({ "task/one": { state: "ready" }, "task/two": { state: "ready" } });
    const text = new KeptText(model);
    whole(text.steps());
    const puts = { "task/one": { state: "done" }, "task/two": null, "task/three": { state: "ready" } };
    model.readEvents([{ seq: 5, kind: "task_done", puts } as never]);
    expect(kept(text)).toMatchObject({
      seq: 5,
      entities: { "task/one": { state: "done" }, "task/three": { state: "ready" } },
    });
    expect(Object.keys(kept(text).entities)).toHaveLength(2);
  });

  it("leaves the values out once there are too many, and has them again when there are fewer", () => {
    const model = holding(attempts(500));
    const text = new KeptText(model);
    whole(text.steps());
    const put = (seq: number, one: Entity | null) =>
      model.readEvents([{ seq, kind: "attempt", puts: { "attempt/more/1": one } } as never]);
    put(5, { device: "d", detail: "", value: "1" });
    expect(kept(text).entities["attempt/t7/1"].value).toBeUndefined();
    put(6, null);
    expect(kept(text).entities["attempt/t7/1"].value).toBe('"hello"');
  });

  it("is written in steps, each entity once", () => {
    const model = holding(attempts(400));
    const text = new KeptText(model);
    const count = () => [...text.steps()].length;
    expect(count()).toBeGreaterThan(2);
    expect(count()).toBe(0);
  });
});
