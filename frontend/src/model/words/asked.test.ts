import { describe, expect, it } from "vitest";
import type { ConstellationRow } from "../types.ts";
import { askedLately } from "./asked.ts";

const row = (id: string, request: string, schedule: string | null = null) =>
  ({ id, request, schedule }) as ConstellationRow;

describe("what was asked lately", () => {
  it("is each wording once, the newest first, five at most", () => {
    const rows = ["how are my machines", "How are my machines ", "b", "c", "d", "e", "f"].map((words, at) =>
      row(`c-${at}`, words),
    );
    expect(askedLately(rows).map((one) => one.id)).toEqual(["c-0", "c-2", "c-3", "c-4", "c-5"]);
  });
  it("leaves out plans without words and firings of schedules", () => {
    expect(askedLately([row("c-1", ""), row("c-2", "how are my machines", "s-1")])).toEqual([]);
  });
});
