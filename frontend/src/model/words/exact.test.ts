import { expect, it } from "vitest";
import { parseExact } from "./exact.ts";

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
