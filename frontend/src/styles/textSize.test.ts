/** Lengths that follow the browser's text size: what grows, and what keeps its pixels. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { inEm, inRem } from "./textSize.ts";

it("grows with the root from three pixels on, and leaves lines as thin as they are", () => {
  expect(inRem("600 14px / 20px var(--ui)")).toBe("600 0.875rem / 1.25rem var(--ui)");
  expect(inRem("calc(100% - 44px)")).toBe("calc(100% - 2.75rem)");
  expect(inRem("-8px")).toBe("-0.5rem");
  expect(inRem("1px solid var(--line-2)")).toBe("1px solid var(--line-2)");
  expect(inRem("url(a12px.svg) #12px")).toBe("url(a12px.svg) #12px");
});

it("turns each bound of a media query", () => {
  expect(inEm("(max-height: 560px) and (min-width: 721px)")).toBe("(max-height: 35em) and (min-width: 45.0625em)");
  expect(inEm("print")).toBe("print");
});

it("turns every text size of the styles, so that none stays in pixels", () => {
  const folder = new URL("..", import.meta.url);
  const styles = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".css"));
  const sizes = styles.flatMap(
    (name) => readFileSync(new URL(name, folder), "utf8").match(/\bfont[^;}]*px[^;}]*/g) ?? [],
  );
  expect(sizes.length).toBeGreaterThan(30);
  expect(sizes.filter((size) => /px/.test(inRem(size)))).toEqual([]);
});
