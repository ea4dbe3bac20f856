import { describe, expect, it } from "vitest";
import type { Dependency, TaskSpec } from "../types.ts";
import { drawing } from "./blocks.ts";
import { boxOf, farEnd, hitAt } from "./hits.ts";
import { layout } from "./layout.ts";

function pair() {
  const ids = ["one", "two", "three"];
  const specs = new Map(ids.map((id) => [id, { changed_in: 1, id } as TaskSpec]));
  const gates = ["one", "two"].map(
    (source) => ({ changed_in: 1, gate: "success", source, target: "three" }) as Dependency,
  );
  const made = drawing(specs, gates);
  return { made, placed: layout(made) };
}

describe("hits", () => {
  it("finds the task of a card, the link between cards, and nothing on bare ground", () => {
    const { made, placed } = pair();
    const at = placed.at.get("three") ?? { x: 0, y: 0 };
    expect(hitAt(made, placed, { x: at.x + 5, y: at.y + 5 }, 4)).toEqual({ kind: "task", id: "three" });
    const way = placed.routes[0]?.[0] ?? { x: 0, y: 0 };
    expect(hitAt(made, placed, { x: way.x + 6, y: way.y + 2 }, 4)).toEqual({ kind: "link", from: "one", to: "three" });
    expect(hitAt(made, placed, { x: -50, y: -50 }, 4)).toBeNull();
  });

  it("follows a link to its end, and back from there", () => {
    const { made } = pair();
    const link = { from: "one", to: "three" };
    expect(farEnd(made, link, null)).toBe("three");
    expect(farEnd(made, link, "one")).toBe("three");
    expect(farEnd(made, link, "three")).toBe("one");
  });

  it("knows where each task is drawn, and nothing of one that is not", () => {
    const { made, placed } = pair();
    const at = placed.at.get("three");
    expect(boxOf(made, placed, "three")).toMatchObject({ x: at?.x, y: at?.y });
    expect(boxOf(made, placed, "four")).toBeNull();
  });
});
