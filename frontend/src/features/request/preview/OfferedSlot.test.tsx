/** A field that offers the files of a device: looked for once the device is chosen, and chosen from a list. */
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it } from "vitest";
import { RECIPES } from "../../../../dev/mockDocuments.ts";
import { openPage } from "../../../../dev/openPage.tsx";

const PARAMS = (RECIPES[0] as unknown as { params: Record<string, unknown> }).params;
const OFFERS = { on: "source", pattern: "*.tar.gz", root: "folder", words: null };

beforeEach(() => {
  PARAMS.at = { default: "", offers: OFFERS, optional: true, title: "Which one", type: "text" };
});
afterEach(() => {
  delete PARAMS.at;
});

it("lists the files of the chosen device, the newest first", async () => {
  const values = encodeURIComponent(JSON.stringify({ source: { name: "pop-os-laptop" } }));
  const hub = openPage(`/recipes/photo-backup?values=${values}`);
  const file = (name: string, mtime_s: number) => ({ bytes: 2000, mtime_s, name });
  const value = { files: [file("old.tar.gz", 1_700_000_000), file("new.tar.gz", 1_790_000_000)] };
  hub.waitedFor = { answer: { items: [{ value }], sentence: "Found.", state: "final" } };
  await userEvent.type(await screen.findByRole("textbox", { name: "Which one" }), "x");
  await userEvent.click(screen.getByRole("button", { name: "Show them" }));
  const list = await screen.findByRole<HTMLSelectElement>("combobox", { name: "Which one" });
  expect([...list.options].map((one) => one.value)).toEqual(["", "x", "new.tar.gz", "old.tar.gz"]);
  expect(list.value).toBe("x");
  await userEvent.selectOptions(list, "old.tar.gz");
  expect(list.value).toBe("old.tar.gz");
});

it("waits for the device", async () => {
  openPage("/recipes/photo-backup");
  const look = await screen.findByRole("button", { name: "Show them" });
  expect(look.getAttribute("aria-disabled")).toBe("true");
  expect(look.title).toBe("Choose the device first.");
});
