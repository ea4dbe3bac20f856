import type { Estimate } from "../types.ts";
import { duration } from "../words/words.ts";

/** An estimate in words: `about 40 s (25 s to 60 s)`. */
export const about = ({ expected_ms, low_ms, high_ms }: Estimate): string =>
  `about ${duration(expected_ms)} (${duration(low_ms)} to ${duration(high_ms)})`;
