import { expect, it } from "vitest";
import type { ConstellationRow } from "../../model/types.ts";
import { beyondQuestions } from "./begun.ts";

const row = (id: string, state: string, attention: string[] = []) => ({ id, state, attention }) as ConstellationRow;

it("lists no constellation whose question is shown already", () => {
  const running = [
    row("plan", "awaiting_approval"),
    row("gate", "active", ["question_open"]),
    row("lacks", "active", ["question_open", "missing_grant"]),
    row("unread", "active", ["question_open"]),
    row("works", "active"),
  ];
  const left = beyondQuestions(running, new Set(["plan", "gate", "lacks", "works"]));
  expect(left.map((one) => one.id)).toEqual(["lacks", "unread", "works"]);
});
