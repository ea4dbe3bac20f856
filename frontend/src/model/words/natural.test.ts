import { expect, it } from "vitest";
import { byNature } from "./natural.ts";

it("orders names as a person does", () => {
  const names = ["t10", "t2", "T1", "copy.b", "copy.10", "copy.9", "v1.10.0", "v1.9.1"];
  expect([...names].sort(byNature)).toEqual(["copy.9", "copy.10", "copy.b", "T1", "t2", "t10", "v1.9.1", "v1.10.0"]);
  expect(byNature("a", "a")).toBe(0);
});
