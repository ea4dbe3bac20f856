/** A role is set in the page where the hub's own settings do not name it, beginning with what is kept. */
import { expect, it } from "vitest";
import { draftOf, rolesToSet } from "./RoleForm.tsx";

it("offers the roles that the hub's own settings do not name", () => {
  expect(rolesToSet({})).toEqual(["reviewer", "writer", "judge", "worker", "small", "fallback"]);
  expect(rolesToSet({ given_roles: ["judge", "small"] })).toEqual(["reviewer", "writer", "worker", "fallback"]);
});

it("begins with what is kept, and never with a key", () => {
  const kept = { role: "judge", model: "critic", url: "https://critics.test/v1", wire: "openai", key: true };
  expect(draftOf(kept)).toEqual({ url: "https://critics.test/v1", model: "critic", wire: "openai", key: "" });
  expect(draftOf(undefined)).toEqual({ url: "", model: "", wire: "", key: "" });
});
