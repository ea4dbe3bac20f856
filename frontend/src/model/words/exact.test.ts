import { expect, it } from "vitest";
import { numberIn, parseExact, parseKept } from "./exact.ts";

it("keeps the digits of numbers that a browser cannot hold", () => {
  const long = `1${"0".repeat(400)}`;
  expect(parseExact(`{"a": 123456789012345678901, "b": [${long}, -9007199254740993], "c": 1.5e400}`)).toEqual({
    a: "123456789012345678901",
    b: [long, "-9007199254740993"],
    c: "1.5e400",
  });
});

it("leaves other numbers and all texts as they are", () => {
  const text = '{"n": 9007199254740991, "x": 0.1234567890123456789, "s": "say \\"12345678901234567890\\", 1e999"}';
  expect(parseExact(text)).toEqual(JSON.parse(text));
});

it("refuses what is no JSON", () => {
  expect(() => parseExact("12345678901234567890 and more")).toThrow(SyntaxError);
});

it("refuses what nests deeper than the page can show", () => {
  const nested = (depth: number) => `${'{"[":['.repeat(depth / 2)}"\\"[["${"]}".repeat(depth / 2)}`;
  expect(parseExact(nested(128))).toEqual(JSON.parse(nested(128)));
  for (const depth of [130, 200_000]) expect(() => parseExact(nested(depth))).toThrow(RangeError);
});

it("refuses a number that would be sent on with other digits, and says which", () => {
  for (const digits of ["12345678901234567890", "-9007199254740993", "1e400"])
    expect(() => parseKept(`{"text": "12345678901234567890", "n": [${digits}]}`)).toThrow(`the number ${digits}.`);
  const kept = '{"n": [9007199254740991, 100000000000000000000, 0.1, 1e20], "text": "12345678901234567890"}';
  expect(parseKept(kept)).toEqual(JSON.parse(kept));
  expect(() => parseKept("12345678901234567890 and more")).toThrow(SyntaxError);
});

it("reads a number as it is typed, and guesses nothing", () => {
  for (const [text, value] of [
    ["", null],
    [" 0.50 ", 0.5],
    ["1.", 1],
    [".5", 0.5],
    ["-3", -3],
    ["+007", 7],
    ["1e3", 1000],
  ] as const)
    expect(numberIn(text)).toEqual({ value, fault: null });
  for (const text of ["0,50", "100,000", "$5", "50k", "1 000", "0x10", "Infinity", "-", "1_000", "1.2.3"])
    expect(numberIn(text), text).toMatchObject({ value: null, fault: expect.stringContaining("needs a number") });
  expect(numberIn("12345678901234567890").fault).toContain("more digits");
  expect(numberIn("0.5", { whole: true }).fault).toBe("needs a whole number");
  expect(numberIn("-1", { least: 0 }).fault).toBe("is at least 0");
  expect(numberIn("29", { most: 28 }).fault).toBe("is at most 28");
});
