import { expect, it } from "vitest";
import { naturalOrder } from "./natural.ts";

it("orders names as a person does", () => {
  const names = ["t10", "t2", "T1", "copy.b", "copy.10", "copy.9", "v1.10.0", "v1.9.1"];
  expect(naturalOrder(names)).toEqual(["copy.9", "copy.10", "copy.b", "T1", "t2", "t10", "v1.9.1", "v1.10.0"]);
  expect(names[0]).toBe("t10");
});

it("gives each name back as it is", () => {
  expect(naturalOrder(["B\n2", "b\n10", ""])).toEqual(["", "B\n2", "b\n10"]);
});
