import { describe, expect, it } from "vitest";
import { readable } from "./readable.ts";

describe("readable", () => {
  it("writes out what would turn or hide the text behind it", () => {
    expect(readable("invoice\u202egpj.exe")).toBe("invoice‹U+202E›gpj.exe");
    expect(readable("\u2066a\u2069\u009b31m\u0007")).toBe("‹U+2066›a‹U+2069›‹U+009B›31m‹U+0007›");
  });

  it("leaves every other text as it is, with its lines and its own direction", () => {
    for (const text of ["two\nlines\tand a tab\r\n", "שלום", "مرحبا\u200f", "Größe 10 €", "👩‍🚀"])
      expect(readable(text)).toBe(text);
  });
});
