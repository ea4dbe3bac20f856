import { describe, expect, it } from "vitest";
import { PACE_OCTAVE } from "../../generated/protocol.ts";
import { StreamModel } from "../stream/stream.ts";
import type { StreamEvent } from "../types.ts";
import { pacesOf } from "./paces.ts";

const OCTAVE = PACE_OCTAVE;

function fleet(paces: object[]): StreamModel {
  const model = new StreamModel("fleet");
  model.readSnapshot({ entities: {}, seq: 0 });
  const puts = Object.fromEntries(paces.map((pace, at) => [`pace/${at}`, { last_ms: 1, ...pace }]));
  model.readEvents([{ seq: 1, puts, kind: "pace_learned", stream: "fleet" }] as unknown as StreamEvent[]);
  return model;
}

describe("the paces of a device", () => {
  it("are the middle of a tool's calls with its spread, the slowest first", () => {
    // Two calls of 256 ms, two of 1,024 ms: the middle is 512 ms, one doubling around it.
    const logs = [8, 8, 10, 10].map((power) => power * OCTAVE);
    const sum = (values: number[]) => values.reduce((all, one) => all + one, 0);
    const slow = { count: 4, logs: sum(logs), squares: sum(logs.map((log) => log ** 2)) };
    const found = pacesOf(
      fleet([
        { device: "d1", tool: "fs.find", count: 3, logs: 3 * 5 * OCTAVE, squares: 3 * (5 * OCTAVE) ** 2 },
        { device: "d1", tool: "python.run", failures: 1, ...slow },
      ]),
      "d1",
    );
    expect(found).toEqual([
      { tool: "python.run", usualMs: 512, lowMs: 256, highMs: 1024, count: 4, failures: 1 },
      { tool: "fs.find", usualMs: 32, lowMs: 32, highMs: 32, count: 3, failures: 0 },
    ]);
  });
  it("leave out other devices, transfers, and what would be a guess", () => {
    const known = { count: 9, logs: 9 * OCTAVE, squares: 9 * OCTAVE ** 2 };
    const model = fleet([
      { device: "d2", tool: "fs.find", ...known },
      { device: "d1", tool: "", ...known },
      { device: "d1", tool: "notify", count: 2, logs: 2 * OCTAVE },
    ]);
    expect(pacesOf(model, "d1")).toEqual([]);
  });
});
