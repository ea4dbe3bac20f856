/** Sentences of the answer follow the rows that they name. */
import { expect, it } from "vitest";
import type { Fields } from "./document.ts";
import { removed, renamed, withItem } from "./edit.ts";

const plan: Fields = {
  starloom: 1,
  tasks: [
    { id: "list", tool: "fs.find" },
    { id: "copy", tool: "fs.write" },
  ],
  sentence: [
    {
      text: "{n} files.",
      values: { n: { from: "list", output: "/count" } },
      when: { from: "copy", output: "/n", op: "gt" },
    },
    { text: "{n} found.", values: { n: { from: "list", output: "/count" } } },
    { text: "Nothing to do." },
  ],
};

it("a row that is removed takes its sentences with it", () => {
  expect(removed(plan, "copy").sentence).toEqual((plan.sentence as Fields[]).slice(1));
  expect(removed(plan, "list").sentence).toEqual([{ text: "Nothing to do." }]);
  expect("sentence" in removed({ ...plan, sentence: [(plan.sentence as Fields[])[1] as Fields] }, "list")).toBe(false);
});

it("a row that is renamed keeps its sentences", () => {
  const [first] = renamed(plan, "list", "look").sentence as Fields[];
  expect(first?.values).toEqual({ n: { from: "look", output: "/count" } });
});

it("a part of each item of a list makes a row run for each of them", () => {
  const task: Fields = { id: "move", tool: "fs.move", inputs: { path: { from: "list", output: "/files" } } };
  expect(withItem(task, "path", { from: "list", list: "/files", inner: "/path" })).toEqual({
    id: "move",
    tool: "fs.move",
    args: { path: { each: "/path" } },
    for_each: { from: "list", output: "/files" },
  });
});
