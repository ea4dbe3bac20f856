import { expect, it } from "vitest";
import { olderRights } from "./olderRights.ts";

it("says how the rights of a newer role come", () => {
  expect(olderRights({ role: "viewer", person_role: "approver" })).toBe(
    "You are an approver now, and this sign-in is from before. You may answer once you sign in again: ask for a new invitation.",
  );
  expect(olderRights({ role: "approver", person_role: "owner" })).toContain("You are an owner now");
});

it("says nothing where the sign-in has the role, or less was given since", () => {
  expect(olderRights({ role: "viewer", person_role: "viewer" })).toBe("");
  expect(olderRights({ role: "owner", person_role: "viewer" })).toBe("");
  expect(olderRights(null)).toBe("");
});
