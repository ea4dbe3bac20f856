/** The facts of a device are told as titles and values with units. */
import { describe, expect, it } from "vitest";
import { factRows } from "./facts.ts";

const said = (facts: Record<string, string>) => factRows(facts).map(({ title, value }) => `${title}: ${value}`);

describe("factRows", () => {
  it("gives titles, units and words, in the order of the titles", () => {
    const facts = { arch: "x86_64", disk_free_bytes: "34359738368", sandbox: "L2-namespaces", reads: "/a\n/b" };
    expect(said(facts)).toEqual([
      "Free disk: 34 GB",
      "Processor: x86_64",
      "Reads in: /a, /b",
      "Sandbox: a cage: programs see their own folder (namespaces)",
    ]);
  });
  it("leaves out what stands elsewhere, and keeps what it does not know", () => {
    expect(said({ agent: "0.1.0", courtesy: "on", os: "linux", os_name: "Debian", wheel_size: "3" })).toEqual([
      "System: Debian",
      "Wheel size: 3",
    ]);
  });
});
