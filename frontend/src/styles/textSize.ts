/**
 * The text size of the browser: every length is written for a root of 16 px and grows with the root, in the styles
 * (`scripts/rooted.ts`) as in the script. Drawings keep their pixels, as they have a zoom of their own.
 */
const WRITTEN_FOR_PX = 16;
/** A line or an outline stays as thin as it is. */
const LINE_PX = 2;

const growing = (text: string, unit: "rem" | "em", least: number): string =>
  text.replace(/(?<![\w.#-])(-?[\d.]+)px\b/g, (written, px) =>
    Math.abs(Number(px)) <= least ? written : `${Number(px) / WRITTEN_FOR_PX}${unit}`,
  );

/** The value of a style with its lengths in parts of the root's text size. */
export const inRem = (value: string): string => growing(value, "rem", LINE_PX);

/** A media query in parts of the browser's text size: large text has the layout of a smaller window. */
export const inEm = (query: string): string => growing(query, "em", 0);

export const rem = (px: number): string => inRem(`${px}px`);

/** The attributes of a drawing of so many pixels, whose content keeps its own numbers. */
export const drawingSize = (width: number, height: number) => ({
  viewBox: `0 0 ${width} ${height}`,
  style: { width: rem(width), height: rem(height) },
});

/** A length of the script, as long as the styles make it now. */
export function grown(px: number): number {
  return (
    (px * (Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || WRITTEN_FOR_PX)) / WRITTEN_FOR_PX
  );
}
