import { describe, expect, it } from "vitest";
import { fold } from "../../../dev/apply.ts";
import { photoBackup } from "../../../dev/scenario.ts";
import type { Dependency, Entity, TaskSpec } from "../types.ts";
import { type Drawing, drawing, FOLDED_PITCH } from "./blocks.ts";
import { layout, layoutDown, type Placed, pathOf } from "./layout.ts";
import { tilesOf } from "./tiles.ts";

function parts(entities: Map<string, Entity>) {
  const specs = new Map<string, TaskSpec>();
  const dependencies: Dependency[] = [];
  for (const [key, entity] of entities) {
    if (key.startsWith("spec/")) specs.set(key.slice(5), entity as unknown as TaskSpec);
    if (key.startsWith("dep/")) dependencies.push(entity as unknown as Dependency);
  }
  return { dependencies, specs };
}

const sample = parts(fold(new Map(), photoBackup("killed")));

function plain(edges: [string, string][], names?: string[]): Drawing {
  const ids = names ?? [...new Set(edges.flat())];
  const specs = new Map(ids.map((id) => [id, { changed_in: 1, id } as TaskSpec]));
  const gates = edges.map(([source, target]) => ({ changed_in: 1, gate: "success", source, target }) as Dependency);
  return drawing(specs, gates);
}

function overlaps(made: Drawing, { at }: Placed = layout(made)): string[] {
  const boxes = made.blocks.map((block) => ({ ...block, ...(at.get(block.id) ?? { x: 0, y: 0 }) }));
  const found: string[] = [];
  boxes.forEach((a, index) => {
    for (const b of boxes.slice(index + 1)) {
      if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)
        found.push(`${a.id} ${b.id}`);
    }
  });
  return found;
}

describe("drawing", () => {
  it("makes a family a matrix with its members in the order of their work", () => {
    // As a snapshot brings them: by name, and dependencies that can be read once only.
    const byName = new Map([...sample.specs].sort(([a], [b]) => (a < b ? -1 : 1)));
    const made = drawing(byName, sample.dependencies.values(), new Map([["send.7", 3]]));
    const family = made.blocks.find((block) => block.family)?.family;
    expect(family?.members.map((member) => member.id)).toEqual(["send", "copy", "check", "thumb"]);
    expect(family?.keys).toEqual(["0", "1", "2", "3", "4", "5", "6"]);
    expect([...(family?.dropped ?? [])]).toEqual([["7", 3]]);
    expect(made.place.get("check.3")).toBe("family:send");
  });

  it("makes a straight run one card, a shortcut beside it or not", () => {
    const made = drawing(sample.specs, sample.dependencies);
    expect(made.blocks.filter((block) => block.kind === "chain").map((block) => block.tasks)).toEqual([
      ["space", "ask-room"],
      ["sheet", "proof", "tell"],
    ]);
    expect(made.blocks).toHaveLength(5);
  });

  it("does not join where work branches or meets", () => {
    const made = plain([
      ["a", "b"],
      ["a", "c"],
      ["b", "d"],
      ["c", "d"],
    ]);
    expect(made.blocks.every((block) => block.kind === "single")).toBe(true);
  });

  it("splits a very long run and keeps every task in its place", () => {
    const edges = Array.from({ length: 199 }, (_, index): [string, string] => [`t${index}`, `t${index + 1}`]);
    const made = plain(edges);
    expect(made.blocks.flatMap((block) => block.tasks)).toHaveLength(200);
    expect(Math.max(...made.blocks.map((block) => block.tasks.length))).toBe(12);
    expect(new Set(made.place.values()).size).toBe(made.blocks.length);
  });
});

describe("layout", () => {
  it("puts no block over another", () => {
    expect(overlaps(drawing(sample.specs, sample.dependencies))).toEqual([]);
    const edges: [string, string][] = [];
    for (let layer = 0; layer < 5; layer += 1) {
      for (let from = 0; from < 6; from += 1)
        for (const to of [from, (from * 3 + 1) % 6]) edges.push([`${layer}-${from}`, `${layer + 1}-${to}`]);
    }
    expect(overlaps(plain(edges))).toEqual([]);
  });

  it("goes left to right along every link", () => {
    const made = drawing(sample.specs, sample.dependencies);
    const { at, routes } = layout(made);
    made.links.forEach((link, index) => {
      expect(at.get(link.from)?.x ?? 0).toBeLessThan(at.get(link.to)?.x ?? 0);
      expect(routes[index]?.length).toBeGreaterThan(1);
    });
  });

  it("is the same for the same drawing", () => {
    const made = drawing(sample.specs, sample.dependencies);
    expect(layout(made)).toEqual(layout(made));
  });

  it("moves no block to another column when one is added at the end", () => {
    const edges: [string, string][] = [
      ["a", "b"],
      ["a", "c"],
      ["b", "d"],
      ["c", "d"],
    ];
    const before = layout(plain(edges));
    const after = layout(plain([...edges, ["c", "e"]]));
    for (const [id, point] of before.at) expect(after.at.get(id)?.x).toBe(point.x);
  });

  it("lays out a chain of 10,000 without recursion", () => {
    const edges = Array.from({ length: 9999 }, (_, index): [string, string] => [`t${index}`, `t${index + 1}`]);
    expect(layout(plain(edges)).width).toBeGreaterThan(0);
  });

  it("draws rounded corners", () => {
    expect(
      pathOf([
        { x: 0, y: 0 },
        { x: 20, y: 0 },
        { x: 20, y: 30 },
      ]),
    ).toBe("M0 0L15 0Q20 0 20 5L20 30");
  });
});

describe("tiles", () => {
  it("give every task of a long family one place inside its block", () => {
    const specs = new Map<string, TaskSpec>([
      ["g", { changed_in: 1, for_each: { output: "/x", source: "l" }, id: "g" } as TaskSpec],
    ]);
    for (let key = 0; key < 1000; key += 1) {
      specs.set(`g.${key}`, { changed_in: 2, family: "g", group: "g", id: `g.${key}`, key: String(key) } as TaskSpec);
    }
    const made = drawing(specs, []);
    const block = made.blocks[0];
    if (!block) throw new Error("no block was made");
    const tiles = tilesOf(block);
    expect(new Set(tiles.map((tile) => `${tile.x} ${tile.y}`)).size).toBe(1000);
    for (const tile of tiles) {
      expect(tile.x + tile.width).toBeLessThanOrEqual(block.width);
      expect(tile.y + tile.height).toBeLessThanOrEqual(block.height);
    }
  });
});

describe("downwards, for a narrow screen", () => {
  const PHONE_WIDTH = 390;
  const made = drawing(sample.specs, sample.dependencies, new Map([["send.7", 3]]), false, true);
  const placed = layoutDown(made);

  it("folds a family into its members and fits the sample into a phone", () => {
    const family = made.blocks.find((block) => block.family);
    expect(family?.folded).toBe(true);
    expect(family?.height).toBeLessThan(5 * FOLDED_PITCH);
    expect(placed.width).toBeLessThanOrEqual(PHONE_WIDTH);
    expect(overlaps(made, placed)).toEqual([]);
  });

  it("lets every link run down, from the foot of one card to the head of the next", () => {
    made.links.forEach((link, index) => {
      const points = placed.routes[index] ?? [];
      const [from, to] = [made.blocks.find((one) => one.id === link.from), placed.at.get(link.to)];
      expect(points[0]?.y).toBe((placed.at.get(link.from)?.y ?? 0) + (from?.height ?? 0));
      expect(points[points.length - 1]?.y).toBe(to?.y);
    });
  });

  it("keeps the tiles of a folded family inside it", () => {
    for (const block of made.blocks) {
      for (const tile of tilesOf(block)) {
        expect(tile.x + tile.width).toBeLessThanOrEqual(block.width);
        expect(tile.y + tile.height).toBeLessThanOrEqual(block.height);
      }
    }
  });
});
