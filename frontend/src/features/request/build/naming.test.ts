import { describe, expect, it } from "vitest";
import { EMPTY, type Fields } from "../../../model/rows/document.ts";
import { named } from "./naming.ts";

const tools = new Map([
  ["fs.find", { title: "Find files" }],
  ["data.sort", { title: "Order rows" }],
]);
const plan = (...tasks: Fields[]): Fields => ({ ...EMPTY.plan, tasks });

describe("the name of a plan", () => {
  it("says what its first rows do", () => {
    const made = named(plan({ id: "a", tool: "fs.find" }, { id: "b", tool: "data.sort" }), tools);
    expect(made.name).toBe("Find files, then order rows");
  });
  it("counts what comes after them", () => {
    const ask = { id: "c", person: "Is it so?" };
    const made = named(plan({ id: "a", tool: "fs.find" }, ask, { id: "d", tool: "x.y" }), tools);
    expect(made.name).toBe("Find files, then is it so? and 1 more");
  });
  it("stays where somebody gave one, and where nothing is done yet", () => {
    const given = { ...plan({ id: "a", tool: "fs.find" }), name: "Mine" };
    expect(named(given, tools)).toBe(given);
    expect(named(EMPTY.plan, tools)).toBe(EMPTY.plan);
  });
  it("is not longer than a line", () => {
    expect(String(named(plan({ id: "a", person: "x".repeat(500) }), tools).name)).toHaveLength(80);
  });
});
