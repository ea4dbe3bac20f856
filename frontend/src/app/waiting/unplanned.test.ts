import { expect, it } from "vitest";
import type { ConstellationRow } from "../../model/types.ts";
import { triedWords, unplannedOf } from "./unplanned.ts";

const HOUR_MS = 3_600_000;
const AWAY = "the model qwen at 10.0.0.2: it cannot be reached";
const row = (id: string, hour: number, more: Partial<ConstellationRow> = {}): ConstellationRow =>
  ({
    id,
    request: `do ${id}`,
    state: "failed",
    attention: ["planning_failed"],
    sentence: AWAY,
    created_at: new Date(hour * HOUR_MS).toISOString(),
    ended_at: new Date(hour * HOUR_MS + 1000).toISOString(),
    ...more,
  }) as ConstellationRow;
const ids = (rows: ConstellationRow[], hour = 30) =>
  unplannedOf(rows, hour * HOUR_MS).map((one) => one.rows.map((own) => own.id));

it("is one thing for all requests of one cause, the newest first", () => {
  expect(ids([row("a", 28), row("b", 29), row("c", 27, { sentence: "the model gave no plan" })])).toEqual([
    ["b", "a"],
    ["c"],
  ]);
});

it("goes once the same words were asked again, and after a day", () => {
  expect(ids([row("a", 28), row("b", 29, { request: "do a", state: "active", attention: [] })])).toEqual([]);
  expect(ids([row("a", 28), row("b", 29, { request: "do a" })])).toEqual([["b"]]);
  expect(ids([row("a", 2)])).toEqual([]);
});

it("is no request that failed otherwise", () => {
  expect(ids([row("a", 28, { attention: [] }), row("b", 28, { state: "planning" })])).toEqual([]);
});

it("names the models that gave no reply", () => {
  const away = { model: "qwen", fault: "it cannot be reached" };
  expect(triedWords([away, away, { model: "small", fault: "" }, { model: "big", fault: "x" }])).toBe(
    "Without a reply: qwen (2 times), big (1 time).",
  );
  expect(triedWords([{ model: "qwen" }])).toBe("");
});
