/** How long the calls of each tool take on a device, from the paces that the hub has learned. Pure. */
import { PACE_CALLS_LEAST, PACE_OCTAVE } from "../../generated/protocol.ts";
import type { StreamModel } from "../stream/stream.ts";
import type { Pace } from "../types.ts";

interface PaceLine {
  tool: string;
  /** The middle of its calls: half of them are faster. */
  usualMs: number;
  /** Two of three calls end between these. */
  lowMs: number;
  highMs: number;
  count: number;
  failures: number;
}

/** The tools of a device whose pace is known, the slowest first; inputs of several sizes are taken together. */
export function pacesOf(fleet: StreamModel, device: string): PaceLine[] {
  const sums = new Map<string, { count: number; logs: number; squares: number; failures: number }>();
  for (const pace of fleet.kind<Pace>("pace").values()) {
    // The empty tool is the transfer of files.
    if (pace.device !== device || !pace.tool) continue;
    const held = sums.get(pace.tool) ?? { count: 0, logs: 0, squares: 0, failures: 0 };
    held.count += pace.count ?? 0;
    held.logs += pace.logs ?? 0;
    held.squares += pace.squares ?? 0;
    held.failures += pace.failures ?? 0;
    sums.set(pace.tool, held);
  }
  const lines = [...sums].flatMap(([tool, { count, logs, squares, failures }]): PaceLine[] => {
    if (count < PACE_CALLS_LEAST) return [];
    const mean = logs / count;
    const deviation = Math.sqrt(Math.max(0, squares / count - mean ** 2));
    const ms = (log: number) => 2 ** (log / PACE_OCTAVE);
    return [{ tool, usualMs: ms(mean), lowMs: ms(mean - deviation), highMs: ms(mean + deviation), count, failures }];
  });
  return lines.sort((a, b) => b.usualMs - a.usualMs || a.tool.localeCompare(b.tool));
}
