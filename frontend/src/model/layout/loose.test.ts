import { describe, expect, it } from "vitest";
import type { Dependency, TaskSpec } from "../types.ts";
import { type Drawing, drawing } from "./blocks.ts";
import { layout, layoutDown, type Placed } from "./layout.ts";

/** A run of tasks, a fork where it is wanted, and tasks that nothing is joined to. */
function mixed(run: number, loose: number, fork = 0): Drawing {
  const names = [
    ...Array.from({ length: run }, (_, at) => `c${at}`),
    ...Array.from({ length: fork }, (_, at) => `f${at}`),
    ...Array.from({ length: loose }, (_, at) => `l${at}`),
  ];
  const links = [
    ...Array.from({ length: Math.max(0, run - 1) }, (_, at) => [`c${at}`, `c${at + 1}`]),
    ...Array.from({ length: fork }, (_, at) => ["c0", `f${at}`]),
  ];
  return drawing(
    new Map(names.map((id) => [id, { changed_in: 1, id } as TaskSpec])),
    links.map(([source, target]) => ({ gate: "success", source, target }) as Dependency),
  );
}

/** The largest bare height between two cards of one column. */
function gap(made: Drawing, { at }: Placed): number {
  const columns = new Map<number, { y: number; end: number }[]>();
  for (const { id, height } of made.blocks) {
    const { x, y } = at.get(id) ?? { x: 0, y: 0 };
    columns.set(x, [...(columns.get(x) ?? []), { y, end: y + height }]);
  }
  const gaps = [...columns.values()].flatMap((cards) => {
    cards.sort((a, b) => a.y - b.y);
    return cards.slice(1).map((card, index) => card.y - (cards[index]?.end ?? 0));
  });
  return Math.max(0, ...gaps);
}

describe("loose cards", () => {
  it("stand in columns beside a run, without a gap and in the order of the plan", () => {
    const made = mixed(6, 9);
    const placed = layout(made);
    expect(placed.width).toBeGreaterThan(placed.height);
    expect(gap(made, placed)).toBe(20);
    const heights = Array.from({ length: 9 }, (_, at) => placed.at.get(`l${at}`)?.y ?? -1);
    expect(heights).toEqual([...heights].sort((a, b) => a - b));
  });

  it("stand below what is joined, and as wide", () => {
    const made = mixed(3, 5, 2);
    const placed = layout(made);
    const low = Math.max(...["c0", "c1", "f0", "f1"].map((id) => placed.at.get(id)?.y ?? 0));
    for (let at = 0; at < 5; at += 1) expect(placed.at.get(`l${at}`)?.y).toBeGreaterThan(low);
    expect(new Set(Array.from({ length: 5 }, (_, at) => placed.at.get(`l${at}`)?.x)).size).toBeGreaterThan(1);
  });

  it("are at most two beside each other on a phone", () => {
    const placed = layoutDown(mixed(6, 9));
    expect(new Set([...placed.at.values()].map(({ x }) => x)).size).toBe(2);
    expect(placed.height).toBeGreaterThan(placed.width);
  });

  it("do not move when one more joins their end", () => {
    const [before, after] = [layout(mixed(0, 9)), layout(mixed(0, 10))];
    for (const [id, place] of before.at) expect(after.at.get(id)).toEqual(place);
  });

  it("of a thousand are no column of a thousand", () => {
    const { width, height } = layout(mixed(0, 1000));
    expect(width / height).toBeGreaterThan(1);
    expect(width / height).toBeLessThan(2);
  });
});

describe("parts that no link joins", () => {
  /** Forks side by side, one of them wide: `0a` to `0b0`, `0b1`, ... */
  const forks = (...sizes: number[]): Drawing => {
    const links = sizes.flatMap((size, at) => Array.from({ length: size }, (_, to) => [`${at}a`, `${at}b${to}`]));
    const names = [...new Set(links.flat())];
    return drawing(
      new Map(names.map((id) => [id, { changed_in: 1, id } as TaskSpec])),
      links.map(([source, target]) => ({ gate: "success", source, target }) as Dependency),
    );
  };
  const box = (placed: Placed, made: Drawing, part: string) => {
    const blocks = made.blocks.filter(({ id }) => id.startsWith(part));
    const places = blocks.map((block) => ({ ...block, ...(placed.at.get(block.id) ?? { x: 0, y: 0 }) }));
    return {
      left: Math.min(...places.map(({ x }) => x)),
      right: Math.max(...places.map(({ x, width }) => x + width)),
      top: Math.min(...places.map(({ y }) => y)),
      foot: Math.max(...places.map(({ y, height }) => y + height)),
    };
  };

  it("stand beside each other, near a screen's shape, and over no other", () => {
    const made = forks(4, 4, 4, 4, 4, 4);
    const placed = layout(made);
    expect(placed.width / placed.height).toBeGreaterThan(0.8);
    expect(placed.width / placed.height).toBeLessThan(3);
    const boxes = [0, 1, 2, 3, 4, 5].map((part) => box(placed, made, String(part)));
    for (const [at, a] of boxes.entries())
      for (const b of boxes.slice(at + 1))
        expect(a.right <= b.left || b.right <= a.left || a.foot <= b.top || b.foot <= a.top).toBe(true);
    made.links.forEach(({ from, to }, index) => {
      const [first, last] = [placed.routes[index]?.[0], placed.routes[index]?.at(-1)];
      const own = box(placed, made, from.charAt(0));
      expect(to.charAt(0)).toBe(from.charAt(0));
      for (const point of [first, last]) {
        expect(point?.x).toBeGreaterThanOrEqual(own.left);
        expect(point?.x).toBeLessThanOrEqual(own.right);
        expect(point?.y).toBeGreaterThanOrEqual(own.top);
        expect(point?.y).toBeLessThanOrEqual(own.foot);
      }
    });
  });

  it("stand below each other on a phone, no wider than the widest", () => {
    const made = forks(2, 2, 2);
    const placed = layoutDown(made);
    expect(placed.width).toBeLessThanOrEqual(358);
    expect(box(placed, made, "1").top - box(placed, made, "0").foot).toBe(40);
  });
});
