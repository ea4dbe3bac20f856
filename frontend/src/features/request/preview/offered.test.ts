/** The look for the files that a form offers reads alone, by the values that stand in the form. */
import { expect, it } from "vitest";
import { foundIn, isAsked, lookFor } from "./offered.ts";

const OFFERS = { on: "source", root: "under", words: "what", pattern: "*.tar.gz" };

const tasksOf = (params: Record<string, unknown>) => (lookFor(OFFERS, params).plan as { tasks: unknown[] }).tasks;

it("asks the chosen device, in the folder and with the words of the form", () => {
  expect(tasksOf({ source: { name: "nas" }, under: "Backups", what: "Papers" })).toEqual([
    {
      id: "look",
      tool: "fs.find",
      device: { name: "nas" },
      args: { limit: 200, pattern: "*.tar.gz", root: "Backups", words: "Papers" },
    },
  ]);
  expect(tasksOf({ source: "nas", under: "", what: "" })).toMatchObject([
    { device: { name: "nas" }, args: { root: "." } },
  ]);
  expect([isAsked(OFFERS, { source: "" }), isAsked(OFFERS, { source: "nas" })]).toEqual([false, true]);
});

it("lists the newest first, and nothing of another answer", () => {
  const file = (name: string, mtime_s: number) => ({ bytes: 1, mtime_s, name });
  const answer = (value: unknown) => ({ answer: { items: [{ value }] } }) as never;
  expect(foundIn(answer({ files: [file("a", 1), file("b", 2), { name: 3 }] })).map(({ name }) => name)).toEqual([
    "b",
    "a",
  ]);
  for (const other of [null, "x", {}, { files: "x" }]) expect(foundIn(answer(other))).toEqual([]);
});
