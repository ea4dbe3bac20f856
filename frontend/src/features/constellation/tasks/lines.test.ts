import { expect, it } from "vitest";
import type { Section } from "../../../model/tasks/sections.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import { heightOf, linesIn, topOf } from "./lines.ts";

const ROW = 40;
const section = (title: string, size: number): Section => ({
  title,
  tasks: Array.from({ length: size }, (_, at) => ({ view: { id: `${title}${at}` } as TaskView })),
});
const SECTIONS = [section("Running", 3), section("Waiting", 5000), section("Done", 2)];

it("are those in view and a few beyond it, each where it stands in the whole list", () => {
  const first = linesIn(SECTIONS, ROW, { top: 0, height: 400 });
  expect(first.slice(0, 5).map(({ top, title, view, count }) => [top, view?.id ?? title, count])).toEqual([
    [0, "Running", 3],
    [32, "Running0", 1],
    [72, "Running1", 1],
    [112, "Running2", 1],
    [152, "Waiting", 5000],
  ]);
  const middle = linesIn(SECTIONS, ROW, { top: 100_000, height: 400 });
  expect(middle.length).toBeLessThan(30);
  for (const { top, view } of middle) expect(topOf(SECTIONS, ROW, view?.id ?? "")).toBe(top);
  expect(middle[0]?.top).toBeLessThanOrEqual(100_000);
  expect(middle.at(-1)?.top).toBeGreaterThanOrEqual(100_400);
});

it("end with the list", () => {
  const height = heightOf(SECTIONS, ROW);
  expect(height).toBe(3 * 32 + 5005 * ROW);
  const last = linesIn(SECTIONS, ROW, { top: height - 400, height: 400 });
  expect(last.at(-1)?.view?.id).toBe("Done1");
  expect(topOf(SECTIONS, ROW, "nothing")).toBeNull();
});
