// Owns the rule of the style sheets: a class that styles a block of its own is not at the same time a variant of
// another block. All sheets share one space of names, so the variant would silently take the block's padding and grid.
// And no class is styled that no component names.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

/** Classes that are made to be put beside others: a tone, a line of parts, a shade, one line of text. */
const UTILITIES = new Set(["row", "dim", "nowrap", "tone-amber", "tone-teal", "tone-vermilion", "tone-violet"]);
const PSEUDO = /:{1,2}[\w-]+(\([^)]*\))?|\[[^\]]*\]/g;

/** Classes of the libraries that draw graphs and charts. */
const OF_LIBRARIES = /^(react-flow|u-)/;

const texts = (of: RegExp) =>
  (readdirSync(__dirname, { recursive: true }) as string[])
    .filter((path) => of.test(path) && !path.includes(".test."))
    .map((path) => readFileSync(join(__dirname, path), "utf8"));
const sheets = texts(/\.css$/).map((text) => text.replace(/\/\*[\s\S]*?\*\//g, ""));

function selectors(text: string): string[] {
  return [...text.matchAll(/([^{}]+)\{/g)]
    .map((found) => (found[1] ?? "").trim())
    .filter((rule) => !rule.startsWith("@"))
    .flatMap((rule) => rule.split(","))
    .map((one) => one.trim().replace(PSEUDO, ""));
}

/** Return the classes that are both a block and a variant of another, as `block.variant`. */
function collisions(texts: string[]): string[] {
  const all = texts.flatMap(selectors);
  const blocks = new Set(all.filter((one) => /^\.[\w-]+$/.test(one)).map((one) => one.slice(1)));
  const found = all
    .flatMap((one) => one.split(/[\s>+~]+/))
    .flatMap((part) => {
      const classes = [...part.matchAll(/\.([\w-]+)/g)].map((match) => match[1] ?? "");
      return classes.slice(1).flatMap((variant) => (blocks.has(variant) ? [`${classes[0]}.${variant}`] : []));
    });
  return [...new Set(found)].filter((one) => !UTILITIES.has(one.split(".")[1] ?? ""));
}

/** Return the classes that stand in no text of the sources; one may be made of its beginning, as in `tone-${tone}`. */
function unnamed(styles: string[], sources: string[]): string[] {
  const quoted = sources.flatMap((text) => text.match(/"[^"\n]*"|`[^`]*`/g) ?? []);
  const words = new Set(quoted.flatMap((text) => text.split(/[^\w-]+/)));
  const begins = [...words].filter((word) => /^[a-z]+-$/.test(word));
  const classes = styles.flatMap(selectors).flatMap((one) => [...one.matchAll(/\.([a-zA-Z][\w-]*)/g)]);
  return [...new Set(classes.map((found) => found[1] ?? ""))].filter(
    (one) => !words.has(one) && !OF_LIBRARIES.test(one) && !begins.some((begin) => one.startsWith(begin)),
  );
}

describe("style sheets", () => {
  it("style no class that nothing names", () => {
    expect(unnamed(sheets, texts(/\.tsx?$/))).toEqual([]);
    expect(unnamed([".gone > b { color: red } .tone-red { color: red }"], ["`tone-`"])).toEqual(["gone"]);
  });

  it("use no class both as a block and as a variant of another block", () => {
    expect(sheets.length).toBeGreaterThan(8);
    expect(collisions(sheets)).toEqual([]);
  });

  it("are caught where they do", () => {
    expect(collisions([".grant { padding: 16px } .chip.grant:hover { height: auto }"])).toEqual(["chip.grant"]);
  });
});
