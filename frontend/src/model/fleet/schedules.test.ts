import { expect, it } from "vitest";
import { StreamModel } from "../stream/stream.ts";
import type { Entity } from "../types.ts";
import { schedulesNaming, schedulesRunning } from "./schedules.ts";

const NAS = { id: "d-1", name: "nas.1" };

function fleet(entities: Record<string, object>): StreamModel {
  const model = new StreamModel("fleet");
  model.readSnapshot({ entities: entities as Record<string, Entity>, seq: 1 });
  return model;
}

it("finds a device in values, words, plans and consent, and no other", () => {
  const model = fleet({
    "schedule/a": { id: "a", name: "by value", params: '{"target":{"name":"nas.1"}}' },
    "schedule/b": { id: "b", name: "by words", request: "back up to nas.1 every night" },
    "schedule/c": { id: "c", name: "by plan" },
    "scheduled_plan/c": { plan: '{"specs":[{"device":{"id":"d-1"}}]}' },
    "schedule/d": { id: "d", name: "by consent", consent: { devices: ["d-1"] } },
    "schedule/f": { id: "f", name: "computes", consent: { devices: ["d-1"], computing: ["d-1"] } },
    "schedule/e": { id: "e", name: "other", request: "back up to nas-1 or nas.10", params: '{"word":"nas"}' },
  });
  expect(schedulesNaming(model, NAS)).toEqual(["by consent", "by plan", "by value", "by words"]);
});

it("finds the schedules that run a recipe, without those that are stopped", () => {
  const model = fleet({
    "schedule/a": { id: "a", name: "nightly", recipe: "mine", state: "active" },
    "schedule/b": { id: "b", name: "monthly", recipe: "mine", state: "paused" },
    "schedule/c": { id: "c", name: "ended", recipe: "mine", state: "stopped" },
    "schedule/d": { id: "d", name: "other", recipe: "mine-too", state: "active" },
  });
  expect(schedulesRunning(model, "mine")).toEqual(["monthly", "nightly"]);
});
