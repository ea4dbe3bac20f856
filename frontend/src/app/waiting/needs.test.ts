import { expect, it } from "vitest";
import type { Need } from "../../link/endpoints.ts";
import type { Question } from "../../model/types.ts";
import { withDangers } from "./needs.ts";

const OPEN = [{ id: "q", kind: "person", text: "Remove them?" }] as Question[];
const NEEDS = [{ ...OPEN[0], constellation: "c-1", takes_away: ["go"] }] as Need[];

it("shows a question together with the answers that take files away", () => {
  expect(withDangers("c-1", OPEN, NEEDS, false)).toMatchObject([{ id: "q", takes_away: ["go"] }]);
});

it("holds a question back until the hub has said which of its answers take files away", () => {
  expect(withDangers("c-1", OPEN, [], false)).toEqual([]);
  expect(withDangers("c-2", OPEN, NEEDS, false)).toEqual([]);
});

it("shows all questions where the hub is away, since none can be answered", () => {
  expect(withDangers("c-1", OPEN, [], true)).toMatchObject([{ id: "q", takes_away: undefined }]);
});
