import { expect, it } from "vitest";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import { undoLines } from "./undoing.ts";

const done = (id: string) => ({ id, name: id, spec: {}, record: { state: "succeeded" } });
const undo = (of: string, record: object, attempt: object = {}, tool = "fs.trash") => ({
  id: `undo-${of}`,
  name: `undo-${of}`,
  deviceName: "nas",
  spec: { undoes: of, tool },
  record,
  attempt,
});
const linesOf = (...views: object[]) =>
  undoLines(views as unknown as TaskView[]).map(({ of, stays, words }) => `${of} ${words} ${stays}`);

it("names the file that stays and why before what came back", () => {
  const value = JSON.stringify({
    items: [
      { path: "c.txt", ticket: "1" },
      { path: "d.txt", ticket: "2" },
    ],
    restored: ["d.txt"],
  });
  const lines = linesOf(
    done("wa"),
    done("wb"),
    done("wc"),
    undo("wc", { state: "succeeded" }, { value }),
    undo("wb", { state: "failed" }, { detail: "b.txt was changed since it was written" }),
    undo("wa", { state: "skipped", cause: "undo-wb" }),
  );
  expect(lines).toEqual([
    "wb stays as it is on nas: b.txt was changed since it was written. true",
    "wa stays as it is: its undo did not begin, since undo-wb failed. true",
    "wc is taken back: d.txt is back on nas; c.txt went to the trash of nas. false",
  ]);
});

it("names the first files that came out of a trash, and counts the others", () => {
  const items = ["a", "b", "c", "d", "e", "f", "g"].map((path) => ({ path, moved: true }));
  const value = JSON.stringify({ count: items.length, items });
  expect(linesOf(undo("gone", { state: "succeeded" }, { value }, "fs.restore"))).toEqual([
    "gone is taken back: a, b, c, d, e and 2 more are back on nas. false",
  ]);
});

it("says of another call, and of a result that is elsewhere, that the work is taken back", () => {
  for (const attempt of [{}, { value: "[1" }, { value: '{"items":[{}]}' }])
    expect(linesOf(undo("set", { state: "succeeded" }, attempt, "http.request"))).toEqual(["set is taken back. false"]);
});

it("has no line for an undo that still runs, nor for other tasks", () => {
  expect(linesOf(done("wa"), undo("wa", { state: "running" }))).toEqual([]);
});
