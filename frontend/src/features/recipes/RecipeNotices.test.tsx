/** The notice of a recipe that went back: it is shown until this person has read it, whoever else has. */
import { act, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 0));
});
afterEach(() => vi.unstubAllGlobals());

it("stays where another person has read it, and goes where this one has", async () => {
  const hub = openPage("/inbox");
  const version = { name: "weigh", number: 3, title: "Weigh", text: "", author: "engine", at_ms: 1, back_from: 2 };
  const noted = (seen: string[]) =>
    hub.publish("fleet", "recipe_seen", {
      "recipe/weigh/3": { ...version, because: "version 2 failed" },
      "recipe_runs/weigh": { name: "weigh", told: 3, seen },
    });
  await screen.findByRole("heading", { name: "Inbox" });
  act(() => noted(["person:somebody-else"]));
  expect(await screen.findByText(/It went back a version: version 2 failed/)).toBeTruthy();
  act(() => noted(["person:somebody-else", "person:mara"]));
  await waitFor(() => expect(screen.queryByText(/It went back a version/)).toBeNull());
});
