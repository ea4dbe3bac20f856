import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { ValueView } from "./ValueView.tsx";

const shown = (value: unknown, exact = false) =>
  renderToStaticMarkup(<ValueView text={JSON.stringify(value)} exact={exact} />);

const LISTING = {
  count: 2,
  entries: [
    { bytes: 33, kind: "file", mtime_s: 1795629076, name: "bread.txt" },
    { bytes: 720_683, kind: "file", mtime_s: 1795629113, name: "cat.png" },
  ],
};

describe("ValueView", () => {
  it("shows the text of a file that nests without end", () => {
    for (const text of ["[".repeat(100_000) + "]".repeat(100_000), '{"a":'.repeat(50_000)])
      expect(renderToStaticMarkup(<ValueView text={text} table />)).toContain(
        text.slice(0, 9).replaceAll('"', "&quot;"),
      );
  });

  it("shows a list of records in a value as a table with sizes and times", () => {
    const text = shown(LISTING);
    expect(text).toContain("<table>");
    expect(text).toContain("721 kB");
    expect(text).toContain("2026");
    expect(text).not.toContain("{");
    expect(text).not.toContain(">1795629076<");
  });

  it("puts the head of a column of numbers above them, at the right", () => {
    const text = shown(LISTING);
    expect(text).toMatch(/<th scope="col" class="num"><span>size/);
    expect(text).toMatch(/<th scope="col"><span>kind/);
  });

  it("shows the sample's proof as fields", () => {
    const text = shown({ again: [], bytes: 2_872_453, files: 21, took_s: 0.25 });
    expect(text).not.toContain("<pre");
    expect(text).toContain("2.9 MB");
    expect(text).toContain("0.25 s");
    expect(text).toContain("none");
  });

  it("names each table of a value by its field, so that no two are one landmark", () => {
    const text = shown({ added: [{ path: "a" }], files: [{ name: "a" }] });
    expect(text.match(/aria-label="Table \w+"/g)).toEqual(['aria-label="Table added"', 'aria-label="Table files"']);
  });

  it("draws so many fields of a value, and says how many more there are", () => {
    const text = shown(Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`f${at}`, at])));
    expect(text.match(/<dt/g)).toHaveLength(200);
    expect(text).toContain("and 8800 more");
  });

  it("shows rows of which there are none as nothing, not as fields", () => {
    expect(shown({ count: 0, rows: [] })).toBe('<p class="dim">Nothing.</p>');
    expect(shown({ note: "unreadable", rows: [] })).toContain("unreadable");
  });

  it("writes out what would turn the text behind it, wherever it stands", () => {
    const turned = "a\u202eb";
    for (const value of [turned, [turned], { name: turned, [turned]: 1 }, { a: { b: { c: { d: turned } } } }, LISTING])
      expect(shown(value)).not.toContain("\u202e");
    expect(shown([{ name: turned, [turned]: 1 }])).not.toContain("\u202e");
    expect(shown({ name: turned }, true)).toContain("a‹U+202E›b");
  });

  it("shows fields of any name", () => {
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"])
      for (const value of [`{"${name}":{"x":1},"a":1}`, `[{"${name}":{"x":1},"a":2}]`, `{"${name}":"b"}`])
        expect(renderToStaticMarkup(<ValueView text={value} table />)).toContain(name.replaceAll("_", " "));
  });

  it("shows what is nested too deep as JSON", () => {
    expect(shown({ a: { b: { c: { d: 1 } } } })).toContain("<pre");
  });

  it("keeps arguments to the character", () => {
    expect(shown({ bytes: 2_872_453 }, true)).toContain("2872453");
    expect(shown({ paths: ["a", 2.0] }, true)).toContain("[&quot;a&quot;,2]");
    expect(shown({ files: [{ path: "a" }] }, true)).toContain("<pre");
  });
});
