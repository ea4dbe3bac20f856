import { expect, it } from "vitest";
import { rowShown } from "./words.ts";

it("gives work that was undone no tick in a list", () => {
  expect(rowShown({ state: "succeeded", undone_from: null }).glyph).toBe("tick");
  const undone = rowShown({ state: "succeeded", undone_from: "succeeded" });
  expect(undone).toMatchObject({ word: "Taken back, in part or whole", tone: "grey" });
  expect(rowShown({ state: "active", undone_from: "succeeded" }).glyph).toBe("turning_arc");
});
