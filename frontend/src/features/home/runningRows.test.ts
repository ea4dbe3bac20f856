import { expect, it } from "vitest";
import type { ConstellationRow } from "../../model/types.ts";
import { withoutRepeatedQuestions } from "./runningRows.ts";

const row = (id: string, state: string, attention: string[] = [], running = 0) =>
  ({ id, state, attention, running }) as ConstellationRow;
const WAIT = [
  row("plan", "awaiting_approval"),
  row("gate", "active", ["question_open"]),
  row("lacks", "active", ["question_open", "missing_grant"]),
  row("unread", "active", ["question_open"]),
];
const ASKED = new Set(["plan", "gate", "lacks", "works"]);
const listed = (rows: ConstellationRow[]) => withoutRepeatedQuestions(rows, ASKED).map((one) => one.id);

it("lists nothing that only repeats a question, where all wait", () => {
  expect(listed(WAIT)).toEqual(["lacks", "unread"]);
});

it("lists what has begun with how far it is, where something runs", () => {
  expect(listed([...WAIT, row("works", "active")])).toEqual(["gate", "lacks", "unread", "works"]);
});

it("lists the one that runs beside its question", () => {
  expect(listed([row("gate", "active", ["question_open"], 2)])).toEqual(["gate"]);
  expect(listed([row("gate", "active", ["question_open"])])).toEqual([]);
});
