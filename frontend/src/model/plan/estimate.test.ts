import { expect, test } from "vitest";
import { about } from "./estimate.ts";

test("an estimate tells the expected time and the range", () => {
  expect(about({ expected_ms: 40_400, low_ms: 25_100, high_ms: 59_900 })).toBe("about 40 s (25 s to 1 min 00 s)");
  expect(about({ expected_ms: 400, low_ms: 200, high_ms: 900 })).toBe("about 0.4 s (0.2 s to 0.9 s)");
  expect(about({ expected_ms: 90_000, low_ms: 50_000, high_ms: 200_000 })).toBe(
    "about 1 min 30 s (50 s to 3 min 20 s)",
  );
});
