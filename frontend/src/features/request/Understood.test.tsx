/** Words without an exact match: a recipe on trial is named as the reason for which they start nothing. */
import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";
import type { RequestPreview } from "../../model/types.ts";
import { nearWords } from "./Understood.tsx";

const TITLE = "These words fit a recipe that is on trial";
const near = (trial: object | null) =>
  ({
    outcome: "near",
    title: TITLE,
    candidates: [{ recipe: "papers", title: "Papers", trial }],
  }) as unknown as NonNullable<RequestPreview["understood"]>;

it("says that a recipe is on trial, and of any other that it may be meant", () => {
  expect(nearWords(near({ clean: 1, needed: 3, last_at: null }))).toBe(`${TITLE}; nothing starts before you choose.`);
  expect(nearWords(near(null))).toBe("This may mean one of these; nothing starts before you choose.");
  expect(nearWords(undefined)).toBe("No recipe fits these words.");
  const answered = { ...near(null), outcome: "none", candidates: [], places: [{ title: "Fleet", path: "/devices" }] };
  expect(nearWords(answered)).toBe("This needs no work: the answer is below.");
});

it("says why a model that is set cannot plan the words", async () => {
  openPage(`/new?q=${encodeURIComponent("hello by a model that is not there")}`);
  const note = await screen.findByRole("region", { name: "The model" }, { timeout: 5000 });
  expect(note.textContent).toBe("A model is set, and the libraries for a model are not installed.Install them there.");
});
