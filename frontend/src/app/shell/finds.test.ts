import { expect, it } from "vitest";
import type { ConstellationRow } from "../../model/types.ts";
import { foundRow, hasWords } from "./finds.ts";

it("tells namesakes apart by state and time, and says where the words stand", () => {
  const row = {
    id: "c-1",
    name: "Folder backup",
    request: "back up Papiere of fjord-4 to kammer",
    state: "failed",
    attention: [],
    created_at: "2026-11-03T02:00:00Z",
  } as unknown as ConstellationRow;
  const mine = { answers: true, acts: true };
  expect(foundRow(row, "backup", mine).note).toMatch(/^Failed, Tue 3 Nov \d\d:\d\d$/);
  expect(foundRow(row, "backup", mine).why).toBeUndefined();
  expect(foundRow(row, "papiere", mine).why).toBe(row.request);
});

it("finds an entry by the name of its button, with as many dots as are typed", () => {
  const entry = { id: "repeat", group: "Do", label: "Repeat", run: () => undefined };
  for (const typed of ["repeat", "Repeat.", "Repeat..", "repeat...", "repeat\u2026"])
    expect(hasWords(entry, typed), typed).toBe(true);
  expect(hasWords(entry, "repeats")).toBe(false);
  expect(hasWords({ ...entry, label: "garten.kamera.1" }, "garten.kamera"), "dots inside of a name count").toBe(true);
  expect(hasWords({ ...entry, label: "gartenkamera" }, "garten.kamera")).toBe(false);
});
