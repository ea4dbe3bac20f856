/** The facts of a recipe: needs in one order, and no effect that they tell already. */
import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import type { RecipeRow } from "../../model/types.ts";
import { RecipeCard, RecipeFacts } from "./RecipeCard.tsx";

const facts = (asks_for: Record<string, string[]>, effects: RecipeRow["effects"]) => {
  const recipe = { asks_for, built_in: true, clock: false, effects, trust: null, version: 1 };
  render(<RecipeFacts recipe={recipe as unknown as RecipeRow} />);
  return [...document.querySelectorAll(".chip")].map((chip) => chip.textContent);
};

it("names needs in one order whatever device asks first", () => {
  expect(facts({ source: ["files:write"], target: ["files:read"] }, ["read", "write"])).toEqual([
    "needs to read files, write files",
  ]);
  expect(screen.getByTitle("The owner of a device must have granted files:read, files:write")).toBeTruthy();
});

it("does not say that a recipe reads which needs to write", () => {
  expect(facts({ target: ["files:write"] }, ["read", "write", "notify" as never])).toEqual([
    "needs to write files",
    "notify",
  ]);
});

it("says that a recipe reads which needs nothing", () => {
  expect(facts({}, ["read"])).toEqual(["read"]);
});

const lack = (slot: string, way: string, reason = "no device here can check backups") => ({ slot, way, reason });
const card = (empty: boolean) => {
  const sentence = { words: "", parts: [], lacks: [lack("Of", "line"), lack("To", "line")], ungranted: [] };
  const recipe = { name: "backup", title: "Back up", sentence, built_in: true, trust: null };
  render(<RecipeCard recipe={recipe as unknown as RecipeRow} demos={{ all: 0, online: 0 }} empty={empty} />);
};

it("says once, in a sentence, what no device can do, with the way to add one", () => {
  card(false);
  expect(screen.getAllByText("No device here can check backups.")).toHaveLength(1);
  expect(screen.getAllByRole("link", { name: "Add a device" })).toHaveLength(1);
});

it("leaves it to the page to say that no device has joined", () => {
  card(true);
  expect(screen.queryByText(/No device/)).toBeNull();
  expect(screen.queryByRole("link", { name: "Add a device" })).toBeNull();
});
