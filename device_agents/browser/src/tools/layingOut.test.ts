import { describe, expect, it } from "vitest";
import { namesOf } from "./layingOut.ts";

const RESERVED = new Set(["program.py"]);
const file = (name: string, more: { device?: string; below?: string; path?: string } = {}) => ({
  artifact: "a".repeat(64),
  below: "",
  device: "",
  path: "",
  name,
  ...more,
});

describe("files of equal names", () => {
  it("are named by origin, and others keep their names", () => {
    const given = [file("a.csv", { device: "one" }), file("a.csv", { device: "two" }), file("b.csv")];
    expect(namesOf(given, RESERVED)).toEqual(["one - a.csv", "two - a.csv", "b.csv"]);
  });

  it("of one device get their folders", () => {
    const given = [
      file("a.csv", { device: "one", below: "x/a.csv" }),
      file("A.csv", { device: "one", path: "y/A.csv" }),
    ];
    expect(namesOf(given, RESERVED)).toEqual(["one - x - a.csv", "one - y - A.csv"]);
  });

  it.each(["Cafe\u0301.txt", "CAF\u00c9.TXT"])("in two forms are named by origin: %s", (other) => {
    const given = [file("Caf\u00e9.txt", { device: "laptop" }), file(other, { device: "mac" })];
    expect(namesOf(given, RESERVED)).toEqual(["laptop - Caf\u00e9.txt", `mac - ${other}`]);
  });

  it("are refused with their names where nothing tells them apart", () => {
    expect(() => namesOf([file("a.csv"), file("a.csv")], RESERVED)).toThrow(/a\.csv/);
    expect(() => namesOf([file("program.py")], RESERVED)).toThrow(/program\.py/);
    expect(() => namesOf([file("Program.PY")], RESERVED)).toThrow(/Program\.PY/);
  });
});
