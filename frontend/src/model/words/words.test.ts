import { expect, it } from "vitest";
import { presentation } from "./presentation.ts";
import { age, author, bothWords, countdown, doneShown, goesOn, partOf, rowShown } from "./words.ts";

it("gives work that was undone no tick in a list", () => {
  expect(rowShown({ state: "succeeded", undone_from: null }).glyph).toBe("tick");
  const undone = rowShown({ state: "succeeded", undone_from: "succeeded" });
  expect(undone).toMatchObject({ word: "Taken back, in part or whole", tone: "grey" });
  expect(rowShown({ state: "active", undone_from: "succeeded" }).glyph).toBe("turning_arc");
  expect(rowShown({ state: "active", running: 1 }).glyph).toBe("turning_arc");
  expect(rowShown({ state: "active", running: 0 })).toMatchObject({ glyph: "dotted_ring", word: "Waits" });
});

it("gives work that found trouble no tick in a list", () => {
  const alarm = rowShown({ state: "succeeded", alarm: true });
  expect(alarm).toMatchObject({ word: "Done, alarm raised", glyph: "alarm", tone: "amber" });
  expect(rowShown({ state: "succeeded", alarm: true, undone_from: "succeeded" }).tone).toBe("grey");
});

it("tells what is left of a time in words", () => {
  expect([599_000, 45_000, 7_260_000, -5].map(countdown)).toEqual(["9 min 59 s", "45 s", "2 h 1 min", "0 s"]);
});

it("says how many of a list are shown", () => {
  expect([partOf(3, 6), partOf(3, 3), partOf(3, 1)]).toEqual(["3 of 6", "3", "1"]);
});

it("says which part of done work was checked", () => {
  expect(doneShown(0, 4)).toMatchObject({ word: "Done", glyph: "tick" });
  expect(doneShown(1, 4)).toMatchObject({ word: "Done, 1 of 4 checked", glyph: "tick" });
  expect(doneShown(4, 4)).toMatchObject({ word: "Done, checked", glyph: "double_tick" });
});

it("says of a constellation that it runs and waits for a person", () => {
  const both = { state: "active", attention: ["task_unknown"], running: 2 } as const;
  expect(rowShown(both)).toMatchObject({ word: "2 running, waits for you", glyph: "hand" });
  expect(goesOn(both)).toBe(true);
  expect(goesOn({ ...both, running: 0 })).toBe(false);
  expect(rowShown({ ...both, attention: ["takes_long"] }).word).toBe("Running");
  expect(bothWords({ ...both, state: "paused" })).toBe("");
});

it("reads a row that an older hub gave or that was kept", () => {
  const older = { state: "active", attention: ["question_open"] } as const;
  expect([goesOn(older), rowShown(older).word]).toEqual([false, "Needs you"]);
});

it("needs only somebody who may end it", () => {
  const asks = { state: "active" as const, attention: ["question_open" as const] };
  const lacks = { state: "active" as const, attention: ["no_capable_device" as const], running: 2 };
  const [approver, viewer] = [
    { answers: true, acts: false },
    { answers: false, acts: false },
  ];
  expect(rowShown(asks, approver).word).toBe("Needs you");
  expect(rowShown(asks, viewer).word).toBe("Waits for others");
  expect(rowShown(lacks, approver).word).toBe("2 running, waits for others");
  expect(rowShown({ ...lacks, attention: ["question_open", "budget"] }, approver).word).toContain("waits for you");
  expect(rowShown({ state: "awaiting_approval" }, viewer).word).toBe("Waits for approval");
});

it("shows a state with a reason that says nothing of it as the state, and no reason that it does not know", () => {
  expect(presentation("succeeded", "busy", { checked: true }).word).toBe("Done, checked");
  expect(presentation("failed", "held").word).toBe("Failed");
  expect(() => presentation("failed", "newer" as "held")).toThrow("older than the hub");
});

it("dates what is long ago with its year", () => {
  const now = Date.UTC(2026, 11, 1, 12);
  const ago = (days: number) => age(now - days * 24 * 3600 * 1000, now);
  expect([ago(2), ago(367), ago(732)]).toEqual(["29 Nov", "29 Nov 2025", "29 Nov 2024"]);
});

it("calls a process of the hub by no name of its own", () => {
  expect(author("worker:vm-8701-7f6941")).toBe("Starloom");
  expect(author("model")).toBe("the hub's model");
  expect(author("person:mara#tok")).toBe("mara");
});
