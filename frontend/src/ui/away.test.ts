import { expect, it } from "vitest";
import { type Asks, whyNotBy } from "./away.ts";

it("offers what a role may do, and says why the rest is not possible", () => {
  const all: Asks[] = [true, "approver", "anyone"];
  const may = (role: string) => all.filter((asks) => whyNotBy(role, asks) === null);
  expect(may("owner")).toEqual(all);
  expect(may("operator")).toEqual(all);
  expect(may("approver")).toEqual(["approver", "anyone"]);
  expect(may("viewer")).toEqual(["anyone"]);
  expect(whyNotBy("viewer", true)).toBe(
    "A viewer can look, but cannot change anything. An owner can give you another role.",
  );
});

it("blocks nothing before the role is known, and nothing that asks nobody", () => {
  expect(whyNotBy("", true)).toBeNull();
  expect(whyNotBy("viewer", false)).toBeNull();
});
