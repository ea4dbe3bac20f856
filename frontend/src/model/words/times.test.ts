import { expect, it } from "vitest";
import type { ConstellationRow } from "../types.ts";
import { tookWords, workedMs } from "./times.ts";

const row = (more: Partial<ConstellationRow>): ConstellationRow =>
  ({ created_at: "2026-11-25T10:00:00Z", ended_at: "2026-11-25T10:03:20Z", waited_ms: 0, ...more }) as ConstellationRow;

it("tells the time of the work apart from the time a person took", () => {
  const asked = row({ waited_ms: 180_000 });
  expect([workedMs(asked), tookWords(asked)]).toEqual([20_000, "3 min 20 s in all, of it 3 min 00 s waiting for you"]);
  expect([workedMs(row({})), tookWords(row({}))]).toEqual([200_000, "3 min 20 s in all"]);
  expect(tookWords(row({ ended_at: null }))).toBe("");
});
