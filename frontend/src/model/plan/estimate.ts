import type { Estimate } from "../types.ts";
import { duration } from "../words/words.ts";

/** An estimate in words: `about 40 s (25-70)`. */
export function about({ expected_ms, low_ms, high_ms }: Estimate): string {
  if (high_ms >= 60_000) return `about ${duration(expected_ms)} (${duration(low_ms)} to ${duration(high_ms)})`;
  return `about ${seconds(expected_ms)} s (${seconds(low_ms)}-${seconds(high_ms)})`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(ms >= 1000 ? 0 : 1);
}
