/** A schedule that asks before each move to the trash says so, and goes without only where somebody takes the tick away. */
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { SCHEDULES } from "../../../dev/mockDocuments.ts";
import { openPage } from "../../../dev/openPage.tsx";

const paused = { at: "2026-11-30T07:00:00.000Z", by: "person:ann#k", reason: "holiday" };

/** The schedule of the mock, with further fields; the mock itself stays as it is for other tests. */
const schedule = (more: object) => SCHEDULES.map((one) => ({ ...one, ...more }));

it("says who paused one", async () => {
  openPage("/schedules", { schedules: schedule({ paused }) });
  const row = await screen.findByRole("article", { name: "Nightly backup" });
  expect(row.textContent).toMatch(/Paused by ann, .*\d\d:\d\d: holiday/);
});

it("names who made one that is not the reader's, and the device that is told", async () => {
  openPage("/schedules", { schedules: schedule({ author: "program:op#k", notify_device: "iPhone of Ida" }) });
  const row = await screen.findByRole("article", { name: "Nightly backup" });
  expect(row.textContent).toContain("of program op");
  expect(row.textContent).toContain("also tells on iPhone of Ida");
});

it("names no maker of one's own, and no device for what tells nothing", async () => {
  openPage("/schedules", { schedules: schedule({ notify: "never", notify_device: "iPhone of Ida" }) });
  const row = await screen.findByRole("article", { name: "Nightly backup" });
  expect(row.textContent).not.toContain("of mara");
  expect(row.textContent).not.toContain("also tells");
});

it("shows the choice for found files alone, and sends it as it was made", async () => {
  const hub = openPage("/schedules", { schedules: schedule({ unseen_trash: false }) });
  const row = await screen.findByRole("article", { name: "Nightly backup" });
  expect(row.textContent).not.toContain("Paused by");
  within(row).getByText("asks each time before files go into the trash");
  await userEvent.click(within(row).getByRole("button", { name: "Change..." }));
  const choice = await screen.findByRole("checkbox", { name: /Show the files each time/ });
  expect((choice as HTMLInputElement).checked).toBe(true);
  await userEvent.click(choice);
  expect(screen.getByText(/They go without a question/)).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  const sent = hub.calls.find((call) => call.method === "PATCH");
  expect(sent?.body).toMatchObject({ lists: false });
});
