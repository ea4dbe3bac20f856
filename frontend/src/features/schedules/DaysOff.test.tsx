/** Days without a firing: shown between the firings, changed in words, and taken from a calendar file. */
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { problem } from "../../../dev/mockDocuments.ts";
import { openPage } from "../../../dev/openPage.tsx";

const CALENDAR = "BEGIN:VCALENDAR\nEND:VCALENDAR";

async function changing() {
  const hub = openPage("/schedules");
  const row = await screen.findByRole("article", { name: "Nightly backup" });
  await userEvent.click(within(row).getByRole("button", { name: "Change..." }));
  return { hub, days: await screen.findByRole<HTMLInputElement>("textbox", { name: "Not on these days" }) };
}

it("names what is left out in the order of the firings", async () => {
  openPage("/schedules");
  const row = await screen.findByRole("article", { name: "Nightly backup" });
  await userEvent.click(within(row).getByText("The next five"));
  const lines = within(row)
    .getAllByRole("listitem")
    .map((line) => line.textContent);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain("left out: 28 March");
});

it("sends the days as they were written", async () => {
  const { hub, days } = await changing();
  expect(days.value).toBe("28 March");
  await userEvent.clear(days);
  await userEvent.type(days, "1 May");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(hub.calls.find((call) => call.method === "PATCH")?.body).toMatchObject({ except_days: "1 May" });
});

it("adds the days of a calendar file to those that were written, and keeps no name of the file", async () => {
  const { hub, days } = await changing();
  hub.daysOff = "26 October";
  const file = screen.getByLabelText<HTMLInputElement>("Add the days of a calendar file");
  await userEvent.upload(file, new File([CALENDAR], "days.ics", { type: "text/calendar" }));
  await screen.findByDisplayValue("28 March, 26 October");
  expect(file.value).toBe("");
  const asked = hub.calls.filter(({ path }) => path === "/schedule-preview").map(({ body }) => body);
  expect(asked).toContainEqual(expect.objectContaining({ except_days: CALENDAR }));
  await userEvent.type(days, ", 1 May");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(hub.calls.find((call) => call.method === "PATCH")?.body).toMatchObject({
    except_days: "28 March, 26 October, 1 May",
  });
});

it("says why a calendar file cannot be read, and keeps the days that were written", async () => {
  const { hub, days } = await changing();
  const { answer } = hub;
  hub.answer = (method, path, body) =>
    (body as { except_days?: string } | undefined)?.except_days === "no calendar"
      ? problem(422, "bad_schedule", "“no calendar” is not a day")
      : answer.call(hub, method, path, body);
  await userEvent.upload(
    screen.getByLabelText("Add the days of a calendar file"),
    new File(["no calendar"], "days.ics", { type: "text/calendar" }),
  );
  expect(await screen.findByText(/“no calendar” is not a day/)).toBeTruthy();
  expect(days.value).toBe("28 March");
});

it("keeps the day of a month as it is typed, and saves no day that there is not", async () => {
  const { hub } = await changing();
  await userEvent.selectOptions(screen.getByRole("combobox", { name: "How often" }), "monthly");
  const day = screen.getByLabelText<HTMLInputElement>("On day");
  await userEvent.clear(day);
  expect(day.value).toBe("");
  await userEvent.type(day, "32");
  expect(day.validity.rangeOverflow).toBe(true);
  expect(day.getAttribute("aria-invalid")).toBe("true");
  expect(document.getElementById(day.getAttribute("aria-describedby") ?? "")?.textContent).toBe("It is at most 31.");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(hub.calls.some((call) => call.method === "PATCH")).toBe(false);
  await userEvent.clear(day);
  await userEvent.type(day, "31");
  expect(screen.getByText(/A month without a day 31 is left out/)).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(hub.calls.find((call) => call.method === "PATCH")?.body).toMatchObject({
    cron: expect.stringContaining(" 31 * *"),
  });
});
