import { describe, expect, it } from "vitest";
import { type Theme, turned } from "./theme.ts";

const isDark = (theme: Theme, systemIsDark: boolean) => (theme === "system" ? systemIsDark : theme === "dark");

describe("the theme button", () => {
  it("changes what is seen with every press", () => {
    for (const systemIsDark of [false, true])
      for (const theme of ["system", "light", "dark"] as const) {
        const next = turned(theme, systemIsDark);
        expect(isDark(next, systemIsDark), `${theme}, system ${systemIsDark}`).toBe(!isDark(theme, systemIsDark));
      }
  });

  it("leads back to the system's look", () => {
    expect(turned("dark", false)).toBe("system");
    expect(turned("light", true)).toBe("system");
  });
});
