import { expect, test } from "vitest";
import { beginOf, fitted } from "./fitting.ts";
import type { Placed } from "./layout.ts";

const ROOM = { width: 800, height: 300, top: 50, bottom: 50 };

function drawn(width: number, height: number, at: [string, number, number][] = []): Placed {
  return { at: new Map(at.map(([id, x, y]) => [id, { x, y }])), routes: [], width, height };
}

test("a drawing that can be read whole stands in the middle of its room", () => {
  expect(fitted(drawn(384, 100), ROOM, { least: 0.3, wide: false }, { x: 300, y: 0 })).toEqual({
    x: 208,
    y: 100,
    zoom: 1,
  });
});

test("a drawing that is too high begins at its first task where its width fits", () => {
  const view = fitted(drawn(1000, 4000), ROOM, { least: 0.3, wide: false }, { x: 500, y: 1000 });
  expect(view.zoom).toBe(0.3);
  // The width fits, so nothing of it is cut off beside bare room.
  expect(view.x).toBe(250);
  expect(view.y).toBe(50 - 300);
});

test("a part ends where the drawing ends", () => {
  const view = fitted(drawn(4000, 4000), ROOM, { least: 0.5, wide: false }, { x: 3900, y: 3900 });
  expect(view.x + 4000 * view.zoom).toBe(ROOM.width - 16);
  expect(view.y + 4000 * view.zoom).toBe(ROOM.height - ROOM.bottom);
});

test("a part begins where the drawing begins as long as its first task is in view", () => {
  const view = fitted(drawn(4000, 700), ROOM, { least: 0.3, wide: false }, { x: 2500, y: 400 });
  expect(view.y).toBe(50);
  expect(view.x).toBe(16 - (4000 * 0.3 - 768));
});

test("a drawing from top to bottom fits its width alone", () => {
  const view = fitted(drawn(768, 5000), ROOM, { least: 0.6, wide: true }, { x: 0, y: 0 });
  expect(view).toEqual({ x: 16, y: 50, zoom: 1 });
});

test("a drawing begins at its uppermost block where it runs down, else at the leftmost", () => {
  const placed = drawn(100, 100, [
    ["family", 40, 50],
    ["left", 0, 60],
    ["above", 70, 0],
  ]);
  expect([beginOf(placed, true), beginOf(placed, false), beginOf(drawn(0, 0), true)]).toEqual(["above", "left", ""]);
});
