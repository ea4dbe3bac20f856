import { expect, test } from "vitest";
import { clockOf, cronOf, firingTime, momentWords, ownTimes, readerTime } from "./clock.ts";

test.each([
  "15 * * * *",
  "0 2 * * *",
  "30 8 * * 1-5",
  "5 9 * * 0",
  "0 0 1 * *",
  "*/7 3 * * *",
  "0 2 31 * *",
  "0 2 L * *",
  "0 2 32 * *",
  "@daily",
])("%s is read and written back", (cron) => {
  expect(cronOf(clockOf(cron))).toBe(cron);
});

test("a rhythm is found where there is one", () => {
  expect(clockOf("30 8 * * 1-5")).toMatchObject({ rhythm: "weekdays", time: "08:30" });
  expect(clockOf("5 9 * * 0")).toMatchObject({ rhythm: "weekly", weekday: 0 });
  expect(clockOf("0 2 31 * *")).toMatchObject({ rhythm: "monthly", day: 31 });
  expect(clockOf("0 2 L * *")).toMatchObject({ rhythm: "last_day", time: "02:00" });
  expect(clockOf("0 2 32 * *").rhythm).toBe("cron");
  expect(cronOf(clockOf(null))).toBe("0 8 * * *");
});

test("a time is shown in its own zone, with its offset, over a change of the clock", () => {
  expect(firingTime("2026-03-28T02:30:00+01:00")).toEqual({ text: "Sat 28 Mar 02:30", offset: "UTC+1" });
  expect(firingTime("2026-03-29T03:00:00+02:00")).toEqual({ text: "Sun 29 Mar 03:00", offset: "UTC+2" });
  expect(firingTime("2026-03-29T03:00:00+05:30").offset).toBe("UTC+05:30");
  expect(firingTime("2026-11-01T01:30:00-04:00").offset).toBe("UTC-4");
  expect(firingTime("2026-11-01T01:30:00+00:00").offset).toBe("UTC+0");
});

test("a firing is shown by the clock of the reader, with its own zone where that differs", () => {
  const at = "2026-03-28T02:30:00+01:00";
  expect(readerTime(at, "Europe/Vienna", "UTC")).toEqual({ text: "Sat 28 Mar 01:30", there: "02:30 Europe/Vienna" });
  expect(readerTime(at, "Europe/Vienna", "Europe/Berlin")).toEqual({ text: "Sat 28 Mar 02:30", there: "" });
  expect(readerTime(at, "Europe/Vienna", "America/New_York")).toEqual({
    text: "Fri 27 Mar 21:30",
    there: "Sat 28 Mar 02:30 Europe/Vienna",
  });
  expect(readerTime("2026-03-28T00:15:00Z", "UTC", "UTC").text).toBe("Sat 28 Mar 00:15");
});

test("a moment is shown by the clock of the reader, with its day where that is not today", () => {
  const at = Date.parse("2026-11-29T13:16:00Z");
  expect(momentWords(at, at - 3600_000, "Europe/Berlin")).toBe("14:16");
  expect(momentWords(at, at - 24 * 3600_000, "Europe/Berlin")).toBe("Sun 29 Nov 14:16");
  const other = Date.parse("2026-01-02T03:04:05Z");
  const sentence = "night waits until 2026-01-02 03:04:05 UTC, not 2026-01-02.";
  expect(ownTimes(sentence)).toBe(`night waits until ${momentWords(other)}, not 2026-01-02.`);
});
