import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";

it.each([
  [[], [], "Nothing runs."],
  [["c-1"], [], "1 constellation is cancelled. No device had work."],
  [["c-1", "c-2"], [], "2 constellations are cancelled. No device had work."],
  [["c-1", "c-2"], [{ name: "nas" }], "Stopping 2 constellations."],
])("says what a stop of %j with work on %j came to", async (constellations, devices, words) => {
  const hub = openPage("/devices?stop=1");
  const { answer } = hub;
  hub.answer = (method, path, body) =>
    path.endsWith("/stop-all")
      ? { body: { constellations, devices }, status: 202 }
      : answer.call(hub, method, path, body);
  const asking = await screen.findByRole("dialog", { name: "Stop everything" });
  await userEvent.click(within(asking).getByRole("button", { name: "Stop everything" }));
  expect(await screen.findByText(words)).toBeTruthy();
});

it("says before the press how many constellations end, and which", async () => {
  const hub = openPage("/devices");
  const { answer } = hub;
  const rows = Array.from({ length: 7 }, (_, at) => ({ id: `c-${at}`, name: `work ${at}`, created_at: null }));
  hub.answer = (method, path, body) => {
    if (!path.includes("/constellations?state=")) return answer.call(hub, method, path, body);
    return { body: { items: path.includes("state=active") ? rows : [], next: null }, status: 200 };
  };
  await userEvent.click(await screen.findByRole("button", { name: "Stop everything" }));
  const asking = await screen.findByRole("dialog", { name: "Stop everything" });
  const told = "7 constellations: work 0, work 1, work 2, work 3, work 4, and 2 more.";
  expect(await within(asking).findByText(told)).toBeTruthy();
});
